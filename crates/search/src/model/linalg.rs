//! The few dense operations that a Gaussian process needs, on row-major lower triangles.
//!
//! Written out because a suggestion is nothing but these: rows are contiguous, so every inner loop is a dot product
//! of two slices, which is two to three times as fast as column-wise library code at 50 to 200 rows.
//! The tests hold each of them against `nalgebra`.

/// Dot product with four sums, so that the additions do not wait for each other.
#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    let mut sums = [0.0; 8];
    let mut chunks = a.chunks_exact(8).zip(b.chunks_exact(8));
    for (x, y) in &mut chunks {
        for l in 0..8 {
            sums[l] += x[l] * y[l];
        }
    }
    let tail = n - n % 8;
    let mut rest = 0.0;
    for i in tail..n {
        rest += a[i] * b[i];
    }
    sums.iter().sum::<f64>() + rest
}

/// A square matrix, row by row.
#[derive(Debug, Clone)]
pub(crate) struct Square {
    n: usize,
    data: Vec<f64>,
}

impl Square {
    pub(crate) fn zeros(n: usize) -> Self {
        Self { n, data: vec![0.0; n * n] }
    }

    #[inline]
    pub(crate) fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.n..(i + 1) * self.n]
    }

    #[inline]
    pub(crate) fn at(&self, i: usize, j: usize) -> f64 {
        self.data[i * self.n + j]
    }

    #[inline]
    pub(crate) fn set(&mut self, i: usize, j: usize, x: f64) {
        self.data[i * self.n + j] = x;
    }

    /// Replaces the lower triangle of a symmetric positive definite matrix by its Cholesky factor L (A = L L').
    /// False if the matrix is not positive definite.
    pub(crate) fn cholesky(&mut self) -> bool {
        let n = self.n;
        for i in 0..n {
            let (above, current) = self.data.split_at_mut(i * n);
            let row = &mut current[..n];
            for j in 0..i {
                let other = &above[j * n..j * n + n];
                row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
            }
            let pivot = row[i] - dot(&row[..i], &row[..i]);
            if pivot.is_nan() || pivot <= 0.0 {
                return false;
            }
            row[i] = pivot.sqrt();
        }
        true
    }

    /// The inverse of a lower triangle, transposed: row `j` holds column `j` of the inverse from `j` on.
    /// Kept transposed because both uses of it (quadratic forms and `L^-T L^-1`) then run along rows.
    pub(crate) fn inverse_transposed(&self) -> Self {
        let n = self.n;
        let mut out = Self::zeros(n);
        for j in 0..n {
            let column = &mut out.data[j * n..(j + 1) * n];
            column[j] = 1.0 / self.at(j, j);
            for i in j + 1..n {
                let row = self.row(i);
                column[i] = -dot(&row[j..i], &column[j..i]) / row[i];
            }
        }
        out
    }

    /// Solves L x = b in place, for a lower triangle.
    pub(crate) fn forward(&self, b: &mut [f64]) {
        for i in 0..self.n {
            let row = self.row(i);
            b[i] = (b[i] - dot(&row[..i], &b[..i])) / row[i];
        }
    }

    /// Solves L' x = b in place, for a lower triangle.
    pub(crate) fn backward(&self, b: &mut [f64]) {
        for i in (0..self.n).rev() {
            let row = self.row(i);
            b[i] /= row[i];
            let x = b[i];
            for (b, l) in b[..i].iter_mut().zip(row) {
                *b -= l * x;
            }
        }
    }

    /// The log of the determinant of L.
    pub(crate) fn log_det(&self) -> f64 {
        (0..self.n).map(|i| self.at(i, i).ln()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use nalgebra::{DMatrix, DVector};

    fn positive_definite(n: usize) -> (Square, DMatrix<f64>) {
        let mut rng = Rng::of_step(1, n as u64);
        let a = DMatrix::from_fn(n, n, |_, _| rng.normal());
        let a = &a * a.transpose() + DMatrix::identity(n, n);
        let mut s = Square::zeros(n);
        for i in 0..n {
            for j in 0..n {
                s.set(i, j, a[(i, j)]);
            }
        }
        (s, a)
    }

    #[test]
    fn the_factor_its_inverse_and_its_solutions_agree_with_nalgebra() {
        for n in [1, 2, 7, 8, 9, 33] {
            let (mut s, a) = positive_definite(n);
            assert!(s.cholesky());
            let l = a.clone().cholesky().unwrap().l();
            let inverse = l.clone().try_inverse().unwrap();
            let ours = s.inverse_transposed();
            for i in 0..n {
                for j in 0..=i {
                    assert!((s.at(i, j) - l[(i, j)]).abs() < 1e-9, "L of {n}");
                    assert!((ours.at(j, i) - inverse[(i, j)]).abs() < 1e-9, "inverse of {n}");
                }
            }
            let b = DVector::from_fn(n, |i, _| i as f64 - 1.5);
            let mut x: Vec<f64> = b.iter().copied().collect();
            s.forward(&mut x);
            s.backward(&mut x);
            let expected = a.clone().lu().solve(&b).unwrap();
            for i in 0..n {
                assert!((x[i] - expected[i]).abs() < 1e-8, "solution of {n}");
            }
            assert!((2.0 * s.log_det() - a.determinant().ln()).abs() < 1e-8);
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_refused() {
        let mut s = Square::zeros(2);
        s.set(0, 0, 1.0);
        s.set(1, 0, 2.0);
        s.set(1, 1, 1.0);
        assert!(!s.cholesky());
    }
}
