//! Samplers by seed: ChaCha8 and inverse distribution functions, so that the numbers are the same in every version of
//! every library.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::dist;
use crate::special::ln_gamma;

/// A source of random numbers that a seed determines.
#[derive(Debug, Clone)]
pub struct Sampler(ChaCha8Rng);

impl Sampler {
    /// Creates the source of this seed: its bytes, little endian, are the first eight of ChaCha's key, the rest is 0.
    pub fn new(seed: i64) -> Self {
        let mut key = [0; 32];
        for (to, from) in key.iter_mut().zip(seed.to_le_bytes()) {
            *to = from;
        }
        Self(ChaCha8Rng::from_seed(key))
    }

    /// Returns a number in the open interval (0, 1), with 53 bits.
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Returns an index below `n`, each equally often; 0 if `n` is 0.
    pub fn index(&mut self, n: usize) -> usize {
        let n = n as u64;
        if n == 0 {
            return 0;
        }
        // Lemire's multiplication; the few values that would make some indices more frequent are drawn again.
        let threshold = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(n);
            if product as u64 >= threshold {
                return (product >> 64) as usize;
            }
        }
    }

    /// Puts the items in a random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.index(last + 1);
            items.swap(last, other);
        }
    }

    /// Returns a number of the standard normal distribution.
    pub fn normal(&mut self) -> f64 {
        dist::normal_quantile(self.uniform())
    }

    /// Returns a number of the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Returns a number of the gamma distribution with scale 1.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        dist::gamma_quantile(self.uniform(), shape)
    }

    /// Returns a number of the beta distribution.
    pub fn beta(&mut self, a: f64, b: f64) -> f64 {
        dist::beta_quantile(self.uniform(), a, b)
    }

    /// Returns a number of the triangular distribution.
    pub fn triangular(&mut self, low: f64, mode: f64, high: f64) -> f64 {
        triangular_quantile(self.uniform(), low, mode, high)
    }

    /// Returns a count of the Poisson distribution: the quantile of one uniform number, searched from the mode's side.
    /// Means above a million are rounded normal numbers.
    pub fn poisson(&mut self, mean: f64) -> u64 {
        let u = self.uniform();
        if mean <= 0.0 || mean.is_nan() {
            return 0;
        }
        if mean > 1e6 {
            return (mean + mean.sqrt() * dist::normal_quantile(u)).round().max(0.0) as u64;
        }
        if mean < 30.0 {
            let mut p = (-mean).exp();
            let (mut sum, mut k) = (p, 0_u64);
            while sum < u && k < 400 {
                k += 1;
                p *= mean / k as f64;
                sum += p;
            }
            return k;
        }
        // From the normal guess to the exact quantile, by steps of the probability function.
        let mut k = (mean + mean.sqrt() * dist::normal_quantile(u)).floor().max(0.0);
        let mut p = (k * mean.ln() - mean - ln_gamma(k + 1.0)).exp();
        let mut below = crate::special::gamma_parts(k + 1.0, mean).1;
        while below < u {
            k += 1.0;
            p *= mean / k;
            if p == 0.0 {
                break;
            }
            below += p;
        }
        while k > 0.0 && below - p >= u {
            below -= p;
            p *= k / mean;
            k -= 1.0;
        }
        k as u64
    }
}

/// Returns the quantile of the triangular distribution.
pub fn triangular_quantile(p: f64, low: f64, mode: f64, high: f64) -> f64 {
    let width = high - low;
    if width <= 0.0 {
        return low;
    }
    if p * width <= mode - low {
        low + (p * width * (mode - low)).sqrt()
    } else {
        high - ((1.0 - p) * width * (high - mode)).sqrt()
    }
}
