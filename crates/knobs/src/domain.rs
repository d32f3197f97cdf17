//! What a search may choose from, for one knob.

use crate::{Knob, Value};
use serde::{Deserialize, Serialize};

/// The values a knob may take in a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Domain {
    /// `min`, `min + step`, … up to `max` (multiples of `step`), and the special values as atoms of their own.
    Int {
        /// Smallest ordinary value.
        min: i64,
        /// Largest ordinary value.
        max: i64,
        /// Grid; ordinary values are multiples of it.
        step: i64,
        /// Whether orders of magnitude matter.
        log: bool,
        /// Values outside the ordinary scale: 0 = off and the like.
        specials: Vec<i64>,
    },
    /// A range of fractions and its special values.
    Float {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
        /// Whether orders of magnitude matter.
        log: bool,
        /// Values outside the ordinary scale.
        specials: Vec<f64>,
    },
    /// Words, or numbers that stand for ways of doing; read one with [`Value::parse_server`].
    Enum(Vec<String>),
    /// On or off.
    Bool,
}

impl Domain {
    /// Whether a value is one of the domain's.
    pub fn contains(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Int { min, max, step, specials, .. }, Value::Int(n)) => {
                specials.contains(n) || (min <= n && n <= max && n % step == 0)
            }
            (Self::Float { min, max, specials, .. }, _) => {
                value.as_f64().is_some_and(|x| specials.contains(&x) || (*min <= x && x <= *max))
            }
            (Self::Enum(words), Value::Text(word)) => words.iter().any(|w| w.eq_ignore_ascii_case(word)),
            (Self::Enum(words), Value::Int(n)) => words.contains(&n.to_string()),
            (Self::Bool, Value::Bool(_)) => true,
            _ => false,
        }
    }

    /// The value at a position of the unit interval, on the domain's own scale; specials take the first tenth.
    /// This is how random configurations are drawn (for tests, and for whoever has no search at hand).
    pub fn at(&self, knob: &Knob, position: f64) -> Value {
        let position = position.clamp(0.0, 1.0 - f64::EPSILON);
        let pick = |len: usize| ((position * len as f64) as usize).min(len.saturating_sub(1));
        const ATOMS: f64 = 0.1;
        let ordinary =
            |has_atoms: bool| if has_atoms { (position - ATOMS) / (1.0 - ATOMS) } else { position };
        match self {
            Self::Int { specials, .. } if !specials.is_empty() && position < ATOMS => {
                Value::Int(specials[((position / ATOMS) * specials.len() as f64) as usize])
            }
            Self::Int { min, max, step, log, specials } => {
                let x = scale(*min as f64, *max as f64, *log, ordinary(!specials.is_empty()));
                Value::Int(round_to((x.round() as i64).clamp(*min, *max), *step, *min, *max))
            }
            Self::Float { specials, .. } if !specials.is_empty() && position < ATOMS => {
                Value::Float(specials[((position / ATOMS) * specials.len() as f64) as usize])
            }
            Self::Float { min, max, log, specials } => {
                let x = scale(*min, *max, *log, ordinary(!specials.is_empty()));
                // Servers print six digits, so more would not read back as the same.
                Value::Float(((x * 1000.0).round() / 1000.0).clamp(*min, *max))
            }
            Self::Enum(words) => {
                let word = &words[pick(words.len())];
                Value::parse_server(knob, word).unwrap_or_else(|_| Value::Text(word.clone()))
            }
            Self::Bool => Value::Bool(position >= 0.5),
        }
    }

    /// The domain's value nearest to a number; the number itself where the domain has no numbers.
    pub fn snap(&self, value: &Value) -> Value {
        match (self, value) {
            _ if self.contains(value) => value.clone(),
            (Self::Int { min, max, step, .. }, _) => value
                .as_f64()
                .map_or_else(|| value.clone(), |x| Value::Int(round_to(x.round() as i64, *step, *min, *max))),
            (Self::Float { min, max, .. }, _) => {
                value.as_f64().map_or_else(|| value.clone(), |x| Value::Float(x.clamp(*min, *max)))
            }
            _ => value.clone(),
        }
    }
}

fn scale(min: f64, max: f64, log: bool, position: f64) -> f64 {
    if log && min > 0.0 { min * (max / min).powf(position) } else { min + (max - min) * position }
}

/// The multiple of `step` within `[min, max]` that is nearest to `n`.
pub(crate) fn round_to(n: i64, step: i64, min: i64, max: i64) -> i64 {
    let step = step.max(1);
    let clamped = n.clamp(min, max);
    let down = clamped - clamped.rem_euclid(step);
    let nearest = if clamped - down > step / 2 { down.saturating_add(step) } else { down };
    if nearest > max {
        down
    } else if nearest < min {
        nearest.saturating_add(step)
    } else {
        nearest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;
    use proptest::prelude::*;

    #[test]
    fn a_special_value_is_inside_although_the_scale_does_not_reach_it() {
        let domain = Domain::Int { min: 4, max: 64, step: 1, log: true, specials: vec![0] };
        assert!(domain.contains(&Value::Int(0)) && !domain.contains(&Value::Int(2)));
    }

    proptest! {
        #[test]
        fn whatever_is_drawn_is_in_the_domain(
            low in 1i64..1000, width in 1i64..100_000, step in 1i64..64, log: bool, position in 0.0f64..1.0,
        ) {
            let min = low * step;
            let domain = Domain::Int { min, max: (low + width) * step, step, log, specials: vec![0] };
            let knob = Registry::builtin().get("innodb_io_capacity").unwrap();
            let value = domain.at(knob, position);
            prop_assert!(domain.contains(&value), "{value:?} of {domain:?}");
        }

        #[test]
        fn snapping_lands_inside(low in 1i64..1000, width in 1i64..1000, step in 1i64..64, n in any::<i32>()) {
            let domain =
                Domain::Int { min: low * step, max: (low + width) * step, step, log: false, specials: vec![] };
            prop_assert!(domain.contains(&domain.snap(&Value::Int(i64::from(n)))));
        }
    }
}
