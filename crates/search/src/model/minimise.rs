//! Minimisation of a smooth function: limited-memory BFGS with a backtracking line search (Nocedal and Wright 2006,
//! algorithms 7.4 and 3.1).

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// At most this many evaluations.
    pub(crate) evaluations: usize,
    /// Stop when a step gains less than this.
    pub(crate) tolerance: f64,
}

/// The best point found.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) x: Vec<f64>,
    pub(crate) value: f64,
}

/// Steps that the inverse Hessian remembers.
const MEMORY: usize = 8;
/// Share of the promised descent that a step must bring (Armijo's rule).
const DESCENT: f64 = 1e-4;
/// No coordinate (a logarithm here) moves further than this in one step.
const LONGEST: f64 = 1.5;

/// Minimises `f`, which returns value and gradient, from `start`.
pub(crate) fn lbfgs(f: impl Fn(&[f64]) -> (f64, Vec<f64>), start: &[f64], limits: Limits) -> Found {
    let mut x = start.to_vec();
    let (mut value, mut gradient) = f(&x);
    let mut used = 1;
    let mut history: Vec<(Vec<f64>, Vec<f64>, f64)> = Vec::new();
    while used < limits.evaluations && value.is_finite() {
        let mut direction = two_loops(&gradient, &history);
        let mut slope: f64 = direction.iter().zip(&gradient).map(|(d, g)| d * g).sum();
        if slope >= 0.0 {
            history.clear();
            direction = gradient.iter().map(|g| -g).collect();
            slope = -gradient.iter().map(|g| g * g).sum::<f64>();
        }
        let largest = direction.iter().fold(0.0f64, |m, d| m.max(d.abs()));
        if largest < 1e-9 {
            break;
        }
        let mut step = (LONGEST / largest).min(1.0);
        let mut next = None;
        while used < limits.evaluations {
            let candidate: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| x + step * d).collect();
            let (v, g) = f(&candidate);
            used += 1;
            if v.is_finite() && v <= value + DESCENT * step * slope {
                next = Some((candidate, v, g));
                break;
            }
            step *= 0.4;
        }
        let Some((candidate, v, g)) = next else { break };
        let s: Vec<f64> = candidate.iter().zip(&x).map(|(a, b)| a - b).collect();
        let y: Vec<f64> = g.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        let curvature: f64 = s.iter().zip(&y).map(|(a, b)| a * b).sum();
        if curvature > 1e-10 {
            if history.len() == MEMORY {
                history.remove(0);
            }
            history.push((s, y, 1.0 / curvature));
        }
        let gain = value - v;
        (x, value, gradient) = (candidate, v, g);
        if gain < limits.tolerance {
            break;
        }
    }
    Found { x, value }
}

fn two_loops(gradient: &[f64], history: &[(Vec<f64>, Vec<f64>, f64)]) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let mut q = gradient.to_vec();
    let mut shares = Vec::with_capacity(history.len());
    for (s, y, rho) in history.iter().rev() {
        let share = rho * dot(s, &q);
        q.iter_mut().zip(y).for_each(|(q, y)| *q -= share * y);
        shares.push(share);
    }
    if let Some((_, y, rho)) = history.last() {
        let scale = 1.0 / (rho * dot(y, y));
        q.iter_mut().for_each(|q| *q *= scale);
    }
    for ((s, y, rho), share) in history.iter().zip(shares.iter().rev()) {
        let back = rho * dot(y, &q);
        q.iter_mut().zip(s).for_each(|(q, s)| *q += (share - back) * s);
    }
    q.iter_mut().for_each(|q| *q = -*q);
    q
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rosenbrocks_valley_is_followed_to_its_end() {
        let f = |x: &[f64]| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            (a * a + 100.0 * b * b, vec![-2.0 * a - 400.0 * x[0] * b, 200.0 * b])
        };
        let found = lbfgs(f, &[-1.2, 1.0], Limits { evaluations: 300, tolerance: 1e-14 });
        assert!(found.value < 1e-6, "{found:?}");
        assert!((found.x[0] - 1.0).abs() < 1e-2);
    }

    #[test]
    fn the_number_of_evaluations_is_kept() {
        let calls = std::cell::Cell::new(0);
        let f = |x: &[f64]| {
            calls.set(calls.get() + 1);
            (x[0].powi(4), vec![4.0 * x[0].powi(3)])
        };
        lbfgs(f, &[3.0], Limits { evaluations: 7, tolerance: 0.0 });
        assert_eq!(calls.get(), 7);
    }
}
