//! The models against definitions and known functions.

use super::gp::{Cursor, Data, Gp, Loss};
use super::kernel::{Hyper, Shape};
use crate::rng::Rng;

fn sample(n: usize, shape: Shape, noise: f64, seed: u64, f: impl Fn(&[f64]) -> f64) -> Data {
    let mut rng = Rng::of_step(seed, 0);
    let rows: Vec<Vec<f64>> = (0..n)
        .map(|_| {
            let numbers = (0..shape.numbers).map(|_| rng.unit()).collect::<Vec<_>>();
            let levels = (0..shape.levels).map(|_| rng.below(3) as f64).collect::<Vec<_>>();
            [numbers, levels].concat()
        })
        .collect();
    let targets = rows.iter().map(|r| f(r) + noise * rng.normal()).collect();
    Data { shape, rows, targets, repeats: vec![1.0; n], variances: vec![0.0; n] }
}

#[test]
fn the_gradient_of_the_loss_is_its_numeric_derivative() {
    let shape = Shape { numbers: 3, levels: 2 };
    let mut data = sample(12, shape, 0.1, 1, |x| x[0] * 2.0 + x[3]);
    data.repeats[3] = 3.0;
    data.variances[4] = 0.2;
    let loss = Loss::new(&data);
    let mut rng = Rng::of_step(2, 0);
    let theta: Vec<f64> = Hyper::middle(shape).theta.iter().map(|t| t + 0.5 * rng.normal()).collect();
    let (_, gradient) = loss.at(&theta);
    for i in 0..theta.len() {
        let shifted = |by: f64| {
            let mut t = theta.clone();
            t[i] += by;
            loss.at(&t).0
        };
        let numeric = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
        assert!(
            (gradient[i] - numeric).abs() < 1e-4 * (1.0 + numeric.abs()),
            "{i}: {} is not {numeric}",
            gradient[i]
        );
    }
}

#[test]
fn a_smooth_function_is_learnt_and_the_noise_is_estimated() {
    let shape = Shape { numbers: 4, levels: 1 };
    let f = |x: &[f64]| 3.0 * (x[0] - 0.5) + (4.0 * x[1]).sin() + if x[4] == 1.0 { 1.0 } else { 0.0 } - 0.5;
    let noise = 0.2;
    let data = sample(80, shape, noise, 3, f);
    let gp = Gp::fit(&data, &Hyper::middle(shape), 60);
    let fresh = sample(200, shape, 0.0, 4, f);
    let mse =
        fresh.rows.iter().zip(&fresh.targets).map(|(x, y)| (gp.predict(x).mean - y).powi(2)).sum::<f64>()
            / 200.0;
    assert!(mse.sqrt() < 0.2, "error {}", mse.sqrt());
    assert!((0.5..2.0).contains(&(gp.noise().sqrt() / noise)), "noise {}", gp.noise().sqrt());
    let covered = fresh
        .rows
        .iter()
        .zip(&fresh.targets)
        .filter(|(x, y)| {
            let b = gp.predict(x);
            (b.mean - **y).abs() < 1.96 * b.variance.sqrt()
        })
        .count();
    assert!(covered > 160, "95 % intervals held {covered} of 200");
}

#[test]
fn repeats_shrink_the_belief_to_the_mean_of_the_readings() {
    let shape = Shape { numbers: 1, levels: 0 };
    let mut data = sample(6, shape, 0.3, 6, |x| x[0]);
    let once = Gp::with(&data, Hyper::middle(shape), 0.0).predict(&data.rows[0]).variance;
    data.repeats[0] = 5.0;
    let often = Gp::with(&data, Hyper::middle(shape), 0.0).predict(&data.rows[0]).variance;
    assert!(often < 0.6 * once, "{often} against {once}");
}

#[test]
fn a_cursor_predicts_what_the_process_predicts() {
    let shape = Shape { numbers: 3, levels: 2 };
    let data = sample(15, shape, 0.1, 7, |x| x[0] * 2.0 + x[3]);
    let gp = Gp::with(&data, Hyper::middle(shape), 0.0);
    let mut cursor = Cursor::new(&gp, &data.rows[0]);
    for other in sample(20, shape, 0.0, 8, |_| 0.0).rows {
        let (quick, slow) = (cursor.peek(&other), gp.predict(&other));
        assert!((quick.mean - slow.mean).abs() < 1e-9 && (quick.variance - slow.variance).abs() < 1e-9);
        cursor.go(&other);
    }
}
