//! When a terminal's transactions are due.

use crate::random::Random;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How transactions arrive.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Closed loop: each terminal begins the next transaction when the last one has ended.
    #[default]
    Closed,
    /// Open loop with equal distances; transactions per second over all terminals.
    Constant(f64),
    /// Open loop with exponential distances; mean transactions per second over all terminals.
    Poisson(f64),
}

impl Arrivals {
    /// Whether transactions have due times.
    pub fn is_open(self) -> bool {
        self != Self::Closed
    }

    /// Mean distance between two transactions of one terminal.
    pub fn period(self, terminals: usize) -> Option<Duration> {
        match self {
            Self::Closed => None,
            Self::Constant(rate) | Self::Poisson(rate) => {
                Some(Duration::from_secs_f64(terminals as f64 / rate))
            }
        }
    }
}

/// One terminal's absolute schedule: due times never depend on how long transactions take, so a stall of the
/// server delays them all and shows in the latency from the intended time.
pub struct Schedule {
    next: Instant,
    period: Duration,
    poisson: Option<Random>,
}

impl Schedule {
    /// The schedule of terminal `index` of `terminals`, or `None` for the closed loop.
    pub fn new(
        arrivals: Arrivals,
        index: usize,
        terminals: usize,
        start: Instant,
        mut random: Random,
    ) -> Option<Self> {
        let period = arrivals.period(terminals)?;
        Some(match arrivals {
            Arrivals::Poisson(_) => {
                let first = period.mul_f64(random.exponential(1.0));
                Self { next: start + first, period, poisson: Some(random) }
            }
            // Terminals take turns, so that arrivals over all of them have equal distances too.
            _ => {
                Self { next: start + period.mul_f64(index as f64 / terminals as f64), period, poisson: None }
            }
        })
    }

    /// The next due time.
    pub fn due(&self) -> Instant {
        self.next
    }

    /// Goes on to the one after.
    pub fn advance(&mut self) {
        self.next += match &mut self.poisson {
            Some(random) => self.period.mul_f64(random.exponential(1.0)),
            None => self.period,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_arrivals_of_all_terminals_interleave() {
        let start = Instant::now();
        let mut due: Vec<Duration> = (0..4)
            .flat_map(|i| {
                let mut s =
                    Schedule::new(Arrivals::Constant(40.0), i, 4, start, Random::stream(1, 0)).unwrap();
                (0..3).map(move |_| {
                    let due = s.due() - start;
                    s.advance();
                    due
                })
            })
            .collect();
        due.sort_unstable();
        assert!(due.iter().enumerate().all(|(i, d)| d.as_millis() == 25 * i as u128), "{due:?}");
    }

    #[test]
    fn rates_below_one_are_rates_too() {
        assert_eq!(Arrivals::Constant(0.2).period(1), Some(Duration::from_secs(5)));
    }

    #[test]
    fn poisson_arrivals_have_the_asked_rate() {
        let start = Instant::now();
        let mut s = Schedule::new(Arrivals::Poisson(1000.0), 0, 1, start, Random::stream(1, 0)).unwrap();
        for _ in 0..100_000 {
            s.advance();
        }
        // The sum of 100,000 exponentials has a relative standard deviation of 0.32 %.
        let seconds = (s.due() - start).as_secs_f64();
        assert!((seconds / 100.0 - 1.0).abs() < 0.013, "{seconds}");
    }
}
