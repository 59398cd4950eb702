//! The block length of a bootstrap, from how long a series depends on its past.

/// The block length of the circular block bootstrap, in values (not rounded; 1 or less: no dependence found).
///
/// Politis & White 2004, "Automatic block-length selection for the dependent bootstrap", with the correction of Patton, Politis & White 2009,
/// as in Patton's own program and Python's `arch`: a flat-top lag window up to twice the lag from which 5 autocorrelations in a row are small.
/// At most the least of 3 times the root of n, and n / 3. `None` below 8 values, or of values that are all equal or not finite.
pub fn block_length(values: &[f64]) -> Option<f64> {
    let n = values.len();
    if n < 8 || values.iter().any(|value| !value.is_finite()) || values.iter().all(|value| *value == values[0]) {
        return None;
    }
    let count = n as f64;
    let mean = values.iter().sum::<f64>() / count;
    let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let total = dot(&centred, &centred);
    let (covariances, window) = covariances(&centred, total);
    let (mut slope, mut variance) = (0.0, covariances[0]);
    for (lag, covariance) in covariances.iter().enumerate().take(window + 1).skip(1) {
        let part = lag as f64 / window as f64;
        let weight = if part <= 0.5 { 1.0 } else { 2.0 * (1.0 - part) };
        slope += 2.0 * weight * lag as f64 * covariance;
        variance += 2.0 * weight * covariance;
    }
    let length = (1.5 * (slope / variance).powi(2) * count).cbrt();
    let most = (3.0 * count.sqrt()).min(count / 3.0).ceil();
    Some(if length.is_finite() { length.min(most) } else { most })
}

/// Autocovariances by lag, and the width of the lag window, up to which they are given.
fn covariances(centred: &[f64], total: f64) -> (Vec<f64>, usize) {
    const IN_A_ROW: usize = 5;
    let n = centred.len();
    let count = n as f64;
    let most = ((count.sqrt().ceil() as usize) + IN_A_ROW).min(n - 2);
    let small = 2.0 * (count.log10() / count).sqrt();
    let mut covariances = Vec::new();
    let (mut before, mut after, mut row) = (total, total, 0);
    let mut window = None;
    for lag in 0..=most {
        let product = dot(&centred[lag..], &centred[..n - lag]);
        covariances.push(product / count);
        before -= centred[lag].powi(2);
        after -= centred[n - 1 - lag].powi(2);
        if window.is_some_and(|window| lag >= window) {
            break;
        }
        if window.is_none() {
            row = if product.abs() < small * (before * after).max(0.0).sqrt() { row + 1 } else { 0 };
            // Patton's program looks at a row once the lag after it is calculated, so that a row at the very end does not count.
            if row == IN_A_ROW && lag < most {
                window = Some((2 * (lag + 1 - IN_A_ROW).max(1)).min(most));
            }
        }
    }
    let window = window.unwrap_or(most).min(covariances.len() - 1);
    (covariances, window)
}

/// The scalar product, in eight sums, so that the compiler can use vectors.
fn dot(first: &[f64], second: &[f64]) -> f64 {
    let (first, first_rest) = first.as_chunks::<8>();
    let (second, second_rest) = second.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (x, y) in first.iter().zip(second) {
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += x * y;
        }
    }
    sums.iter().sum::<f64>() + first_rest.iter().zip(second_rest).map(|(x, y)| x * y).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An autoregressive series of uniform noise.
    fn series(n: usize, part: f64) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(1);
        let mut last = 0.0;
        (0..n)
            .map(|_| {
                last = part * last + random.f64() - 0.5;
                last
            })
            .collect()
    }

    #[test]
    fn dependence_lengthens_blocks() {
        let [none, some, strong] = [0.0, 0.5, 0.95].map(|part| block_length(&series(10_000, part)).unwrap());
        assert!(
            none < 6.0 && (10.0..40.0).contains(&some) && (50.0..=300.0).contains(&strong),
            "{none} {some} {strong}"
        );
    }

    #[test]
    fn constant_and_short_series_have_none() {
        assert_eq!(block_length(&[16.7; 100]), None);
        assert_eq!(block_length(&[1.0, 2.0, 3.0]), None);
        assert_eq!(block_length(&[f64::NAN; 20]), None);
    }

    #[test]
    fn a_scalar_product_has_all_its_terms() {
        let values: Vec<f64> = (1..=19).map(f64::from).collect();
        assert_eq!(dot(&values, &values), 2470.0);
    }
}
