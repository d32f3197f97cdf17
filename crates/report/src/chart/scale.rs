//! From values to pixels, and where the ticks go.

/// A mapping of values to pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl Scale {
    /// Maps `low..high` to `from..to` evenly. An empty range is widened, so that a single value has a place.
    pub fn linear((low, high): (f64, f64), from: f64, to: f64) -> Self {
        let (low, high) = if high > low { (low, high) } else { (low - 0.5, high + 0.5) };
        Self { low, high, from, to, log: false }
    }

    /// The same on a logarithmic scale; both ends must be above 0.
    pub fn log((low, high): (f64, f64), from: f64, to: f64) -> Self {
        let high = if high > low { high } else { low * 10.0 };
        Self { low: low.log10(), high: high.log10(), from, to, log: true }
    }

    /// The pixel of a value.
    pub fn at(&self, value: f64) -> f64 {
        let value = if self.log { value.log10() } else { value };
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }
}

/// The range of the values, from 0 unless they are so close together that 0 would flatten them. `None` without a finite value.
pub(super) fn domain(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let (low, high) = range(values)?;
    if low >= 0.0 && low < 0.6 * high {
        return Some((0.0, high * 1.05));
    }
    let pad = ((high - low) * 0.15).max(high.abs() * 0.02);
    Some((low - pad, high + pad))
}

/// The smallest and the largest of the finite values.
pub(super) fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|v| v.is_finite()).fold(None, |range, v| match range {
        None => Some((v, v)),
        Some((low, high)) => Some((f64::min(low, v), f64::max(high, v))),
    })
}

/// About `n` round numbers within a range: 1, 2, 2.5 or 5 times a power of ten apart.
pub(super) fn ticks((low, high): (f64, f64), n: usize) -> Vec<f64> {
    let rough = (high - low) / n.max(1) as f64;
    if !rough.is_finite() || rough <= 0.0 {
        return vec![low];
    }
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|s| *s >= rough * 0.999)
        .unwrap_or(10.0 * power);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

/// The powers of ten within a range, with 2 and 5 times them where there would be fewer than three.
pub(super) fn log_ticks((low, high): (f64, f64)) -> Vec<f64> {
    let powers = |steps: &[f64]| -> Vec<f64> {
        (low.log10().floor() as i32..=high.log10().ceil() as i32)
            .flat_map(|e| steps.iter().map(move |s| s * 10f64.powi(e)))
            .filter(|v| (low * 0.999..=high * 1.001).contains(v))
            .collect()
    };
    let decades = powers(&[1.0]);
    if decades.len() >= 3 { decades } else { powers(&[1.0, 2.0, 5.0]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_range() {
        assert_eq!(ticks((0.0, 987.0), 5), [0.0, 200.0, 400.0, 600.0, 800.0]);
        assert_eq!(ticks((395.0, 431.0), 4), [400.0, 410.0, 420.0, 430.0]);
        assert_eq!(ticks((5.0, 5.0), 4), [5.0]);
    }

    #[test]
    fn a_log_axis_has_at_least_the_decades() {
        assert_eq!(log_ticks((900.0, 1_200_000.0)), [1e3, 1e4, 1e5, 1e6]);
        assert_eq!(log_ticks((900.0, 12_000.0)), [1e3, 2e3, 5e3, 1e4]);
    }

    #[test]
    fn a_range_starts_at_zero_unless_that_would_flatten_it() {
        assert_eq!(domain([100.0, 200.0]).unwrap().0, 0.0);
        assert!(domain([400.0, 420.0]).unwrap().0 > 390.0);
        assert_eq!(domain([f64::NAN]), None);
    }

    #[test]
    fn a_scale_survives_a_single_value() {
        assert_eq!(Scale::linear((3.0, 3.0), 0.0, 10.0).at(3.0), 5.0);
        assert!(Scale::log((3.0, 3.0), 0.0, 10.0).at(3.0).is_finite());
    }
}
