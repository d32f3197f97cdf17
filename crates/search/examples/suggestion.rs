//! One suggestion at 200 trials of 40 knobs, for timing and for counting instructions.
//!
//! `suggestion setup` does all but the suggestion; the difference to `suggestion` is one suggestion.

use tunesmith_search::{Optimizer, Outcome, Param, Settings, Space, Values};

fn truth(values: &Values) -> f64 {
    let of = |i: usize| values.get(&format!("knob{i:02}")).and_then(|v| v.as_f64()).unwrap_or(0.0);
    100.0 + (0..8).map(|i| of(i).ln() * (1.0 + i as f64)).sum::<f64>() - (of(9) - 500.0).abs() / 50.0
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let setup = std::env::args().nth(1).is_some_and(|a| a == "setup");
    let params = (0..40).map(|i| Param::int(format!("knob{i:02}"), 1, 1000, 10).log()).collect();
    let space = Space::new(params, vec![])?;
    let mut optimizer = Optimizer::new(space.clone(), Settings::default());
    let mut state = 88_172_645_463_325_252u64;
    for _ in 0..200 {
        let mut values = space.default_values();
        for value in values.values_mut() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *value = (1 + (state % 1000) as i64).into();
        }
        optimizer.observe(&values, Outcome::value(truth(&values)), None)?;
    }
    optimizer.observe(&space.default_values(), Outcome::value(truth(&space.default_values())), None)?;
    if !setup {
        let start = std::time::Instant::now();
        let suggestion = optimizer.ask();
        println!("trial {} in {:.3} s", suggestion.id, start.elapsed().as_secs_f64());
    }
    Ok(())
}
