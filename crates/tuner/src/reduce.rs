//! The best configuration with fewer changes: what a user has to understand, approve and keep should be what matters.
//!
//! The model names the changes that it finds needless; it may be wrong, so what is left is measured before it is put forward.

use crate::space::SearchSpace;
use knobs::Configuration;
use search::Optimizer;

/// The share of the expected gain that a smaller configuration must keep once it has been measured.
const KEEP: f64 = 0.9;

/// The incumbent without the changes that the model finds needless; `None` where it has none of these, or is expected to
/// bring nothing. `better` turns a value of the objective into an improvement over the baseline, 1 being none.
pub(crate) fn smaller(
    optimiser: &Optimizer,
    space: &SearchSpace,
    better: impl Fn(f64) -> f64,
) -> Option<Configuration> {
    let incumbent = optimiser.incumbent().filter(|best| better(best.mean) > 1.0)?;
    let whole = space.configuration(&incumbent.values);
    let smallest = optimiser.smallest()?;
    let mut values = optimiser.space().default_values();
    values.extend(smallest.values);
    let small = space.configuration(&values);
    (!small.is_empty() && small.len() < whole.len()).then_some(small)
}

/// The improvement that the model expects of a configuration.
pub(crate) fn gain(
    optimiser: &Optimizer,
    space: &SearchSpace,
    configuration: &Configuration,
    better: impl Fn(f64) -> f64,
) -> Option<f64> {
    let values = space.values(optimiser, configuration)?;
    Some(better(optimiser.expected(&values).ok()??.mean))
}

/// Whether a smaller configuration's improvement is good enough to be put forward instead of the whole one's.
pub(crate) fn keeps(whole: f64, small: f64) -> bool {
    small - 1.0 >= KEEP * (whole - 1.0)
}

#[cfg(test)]
mod tests {
    use super::keeps;

    #[test]
    fn a_smaller_configuration_may_cost_a_tenth_of_the_gain_and_no_more() {
        assert!(keeps(2.0, 1.91) && keeps(2.0, 2.2));
        assert!(!keeps(2.0, 1.89) && !keeps(1.2, 1.0));
    }
}
