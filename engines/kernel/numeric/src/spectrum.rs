//! Fourier transforms: rustfft's portable code, never the one that the processor offers.

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

/// Returns the discrete Fourier transform of real values, frequencies 0 to n/2, as (real, imaginary).
pub fn real_fft(values: &[f64]) -> Vec<(f64, f64)> {
    let n = values.len();
    if n == 0 {
        return Vec::new();
    }
    let mut buffer: Vec<Complex<f64>> = values.iter().map(|&x| Complex::new(x, 0.0)).collect();
    FftPlanner::new().plan_fft_forward(n).process(&mut buffer);
    buffer.iter().take(n / 2 + 1).map(|c| (c.re, c.im)).collect()
}

/// Returns the autocovariance sums Σ x(t)·x(t+k) for k below `lags`, by transforms of a padded series.
pub fn autocovariance_sums(centred: &[f64], lags: usize) -> Vec<f64> {
    let n = centred.len();
    let size = (2 * n).max(1).next_power_of_two();
    let mut buffer: Vec<Complex<f64>> = centred.iter().map(|&x| Complex::new(x, 0.0)).collect();
    buffer.resize(size, Complex::new(0.0, 0.0));
    let mut planner = FftPlanner::new();
    planner.plan_fft_forward(size).process(&mut buffer);
    buffer.iter_mut().for_each(|c| *c = Complex::new(c.norm_sqr(), 0.0));
    planner.plan_fft_inverse(size).process(&mut buffer);
    buffer.iter().take(lags.min(n)).map(|c| c.re / size as f64).collect()
}
