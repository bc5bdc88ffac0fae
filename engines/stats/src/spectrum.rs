//! q98: spectrum and dominant periods.

use std::f64::consts::PI;

use muster_engine::prelude::*;
use muster_kernel_numeric::special::ln_choose;
use muster_kernel_numeric::spectrum::real_fft;
use muster_kernel_numeric::summary;

use crate::support::{check_same, check_series};

const MAX_VALUES: usize = 100_000;
/// Most values of unequal times: each frequency looks at all.
const MAX_UNEVEN: usize = 4_000;
/// Length of Welch's segments.
const SEGMENT: usize = 256;
/// Frequencies of the Lomb-Scargle periodogram for each independent one.
const OVERSAMPLING: usize = 4;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    values: Vec<f64>,
    sample_rate_hz: f64,
    method: Method,
    times_s: Option<Vec<f64>>,
    window: Window,
    top: i64,
}

/// Estimates of a spectrum.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Method {
    /// One transform.
    Periodogram,
    /// Mean of overlapping segments.
    Welch,
    /// Least squares of sines at unequal times.
    LombScargle,
}

/// Windows.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
pub enum Window {
    /// None.
    Rect,
    /// Hann.
    Hann,
    /// Hamming.
    Hamming,
    /// Blackman.
    Blackman,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    frequencies_hz: Vec<f64>,
    power: Vec<f64>,
    peaks: Vec<Peak>,
}

#[derive(Output)]
struct Peak {
    frequency_hz: f64,
    period_s: f64,
    power: f64,
    p: f64,
}

/// Estimates the spectrum.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check_series(&input.values, "values", 4, MAX_VALUES)?;
    if !(1e-12..=1e12).contains(&input.sample_rate_hz) {
        return Err(Failure::invalid(&["sample_rate"], "must be from 1e-12 to 1e12"));
    }
    let top = input.top.clamp(1, 50) as usize;
    if input.method == Method::LombScargle {
        return lomb_scargle(&input, top);
    }
    if input.times_s.is_some() {
        cx.warn("times: only lomb-scargle uses them; the values count as equally spaced");
    }
    let n = input.values.len();
    let length = if input.method == Method::Welch { n.min(SEGMENT) } else { n };
    let power = mean_power(&input.values, length, input.window, input.sample_rate_hz);
    let frequencies: Vec<f64> = (0..power.len()).map(|k| k as f64 * input.sample_rate_hz / length as f64).collect();
    let test = GTest::of(&input.values);
    let peaks = peaks(&frequencies, &power, top, |frequency| {
        test.p_near(frequency / input.sample_rate_hz, 1.0 / length as f64)
    });
    Ok(Output { frequencies_hz: frequencies, power, peaks })
}

/// Weights of a window; the periodic form, as spectra need it.
fn weights(window: Window, n: usize) -> Vec<f64> {
    let at = |k: usize| 2.0 * PI * k as f64 / n as f64;
    (0..n)
        .map(|k| match window {
            Window::Rect => 1.0,
            Window::Hann => 0.5 - 0.5 * at(k).cos(),
            Window::Hamming => 0.54 - 0.46 * at(k).cos(),
            Window::Blackman => 0.42 - 0.5 * at(k).cos() + 0.08 * (2.0 * at(k)).cos(),
        })
        .collect()
}

/// Takes off the line of least squares. What is left of a line itself are rounding errors: zero.
fn detrend(values: &[f64]) -> Vec<f64> {
    let n = values.len() as f64;
    let (mean, middle) = (summary::mean(values), (n - 1.0) / 2.0);
    let cross = summary::sum(values.iter().enumerate().map(|(k, x)| (k as f64 - middle) * (x - mean)));
    let slope = cross / (n * (n * n - 1.0) / 12.0);
    let largest = values.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let rest: Vec<f64> = values.iter().enumerate().map(|(k, x)| x - mean - slope * (k as f64 - middle)).collect();
    if rest.iter().all(|x| x.abs() <= largest * 1e-13) { vec![0.0; values.len()] } else { rest }
}

/// One-sided density of segments of this length that overlap by half.
fn mean_power(values: &[f64], length: usize, window: Window, rate: f64) -> Vec<f64> {
    let weights = weights(window, length);
    let scale = rate * summary::sum(weights.iter().map(|w| w * w));
    let step = (length - length / 2).max(1);
    let mut sum = vec![0.0; length / 2 + 1];
    let mut count = 0.0;
    for segment in values.windows(length).step_by(step) {
        let windowed: Vec<f64> = detrend(segment).iter().zip(&weights).map(|(x, w)| x * w).collect();
        for (k, ((re, im), to)) in real_fft(&windowed).into_iter().zip(&mut sum).enumerate() {
            let sides = if k == 0 || 2 * k == length { 1.0 } else { 2.0 };
            *to += sides * (re * re + im * im) / scale;
        }
        count += 1.0;
    }
    sum.into_iter().map(|s| s / count).collect()
}

/// Local maxima above zero frequency, the highest first.
fn peaks(frequencies: &[f64], power: &[f64], top: usize, p: impl Fn(f64) -> f64) -> Vec<Peak> {
    let at = |k: usize| power.get(k).copied().unwrap_or(f64::NEG_INFINITY);
    let mut found: Vec<usize> =
        (1..power.len()).filter(|k| at(*k) > 0.0 && (*k == 1 || at(*k) > at(k - 1)) && at(*k) >= at(k + 1)).collect();
    found.sort_by(|a, b| at(*b).total_cmp(&at(*a)));
    let peak = |k: usize| {
        let frequency = frequencies.get(k).copied().unwrap_or(0.0);
        Peak { frequency_hz: frequency, period_s: 1.0 / frequency, power: at(k), p: p(frequency) }
    };
    found.into_iter().take(top).map(peak).collect()
}

/// Fisher's test (1929) on the periodogram without window: how likely the largest share of power is in white noise.
struct GTest {
    shares: Vec<f64>,
    length: usize,
}

impl GTest {
    fn of(values: &[f64]) -> Self {
        let n = values.len();
        let rest = detrend(values);
        // Neither zero nor half of the rate.
        let power: Vec<f64> =
            real_fft(&rest).into_iter().take(n.div_ceil(2)).skip(1).map(|(re, im)| re * re + im * im).collect();
        let total = summary::sum(power.iter().copied());
        let shares = power.into_iter().map(|p| if total > 0.0 { p / total } else { 0.0 }).collect();
        Self { shares, length: n }
    }

    /// The p-value of the largest share within the resolution of a peak (frequencies as shares of the rate).
    fn p_near(&self, frequency: f64, resolution: f64) -> f64 {
        let place = |f: f64| f * self.length as f64;
        let low = place(frequency - resolution / 2.0).round().max(1.0) as usize;
        let high = place(frequency + resolution / 2.0).round().max(1.0) as usize;
        let range = self.shares.iter().enumerate().filter(|(k, _)| (low..=high).contains(&(k + 1)));
        fisher(range.map(|(_, share)| *share).fold(0.0, f64::max), self.shares.len())
    }
}

/// P(largest of `m` shares > g) = Σ (−1)^(j−1) C(m, j) (1 − jg)^(m−1). The sum alternates, so where its terms are large
/// the result is near 1.
fn fisher(g: f64, m: usize) -> f64 {
    if g <= 1.0 / m.max(1) as f64 || m < 2 {
        return 1.0;
    }
    let mut sum = 0.0;
    for j in 1..=m {
        let rest = 1.0 - j as f64 * g;
        if rest <= 0.0 {
            break;
        }
        let log = ln_choose(m as u64, j as u64) + (m - 1) as f64 * rest.ln();
        // Above this the cancellation leaves no digits; the first term, Bonferroni's bound, is then above 1 as well.
        if log > 20.0 {
            return 1.0;
        }
        sum += if j % 2 == 1 { log.exp() } else { -log.exp() };
    }
    sum.clamp(0.0, 1.0)
}

/// The normalised periodogram of unequal times (Scargle 1982), up to the mean Nyquist frequency; 1 is a perfect sine.
fn lomb_scargle(input: &Input, top: usize) -> Result<Output, Failure> {
    let n = input.values.len();
    if n > MAX_UNEVEN {
        return Err(Failure::too_large(format!("lomb-scargle takes at most {MAX_UNEVEN} values")));
    }
    let times = match &input.times_s {
        Some(times) => {
            check_same("times", times.len(), "values", n)?;
            check_series(times, "times", 4, MAX_UNEVEN)?;
            times.clone()
        }
        None => (0..n).map(|k| k as f64 / input.sample_rate_hz).collect(),
    };
    let (first, last) = times.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), t| (l.min(*t), h.max(*t)));
    let span = last - first;
    if !(span > last.abs().max(first.abs()) * 1e-12 && span > 1e-70) {
        return Err(Failure::invalid(&["times"], "the times do not differ"));
    }
    let mean = summary::mean(&input.values);
    let rest: Vec<f64> = input.values.iter().map(|x| x - mean).collect();
    let total = summary::sum(rest.iter().map(|x| x * x));
    let independent = n / 2;
    let step = 1.0 / (span * OVERSAMPLING as f64) * (n - 1) as f64 / n as f64;
    let mut frequencies = vec![0.0];
    let mut power = vec![0.0];
    for k in 1..=independent * OVERSAMPLING {
        let frequency = k as f64 * step;
        frequencies.push(frequency);
        power.push(if total > 0.0 { sine_share(&rest, &times, first, 2.0 * PI * frequency) / total } else { 0.0 });
    }
    let half = (n as f64 - 3.0) / 2.0;
    let at = |frequency: f64| {
        let k = (frequency / step).round() as usize;
        let share = power.get(k).copied().unwrap_or(0.0).min(1.0);
        // False alarm among the independent frequencies (Zechmeister and Kürster 2009, standard normalisation).
        -((independent as f64) * (-(1.0 - share).powf(half)).ln_1p()).exp_m1()
    };
    let peaks = peaks(&frequencies, &power, top, |f| at(f).clamp(0.0, 1.0));
    Ok(Output { frequencies_hz: frequencies, power, peaks })
}

/// The part of the sum of squares that a sine of this angular frequency explains.
fn sine_share(values: &[f64], times: &[f64], origin: f64, omega: f64) -> f64 {
    let (mut s2, mut c2) = (0.0, 0.0);
    for t in times {
        let (s, c) = (2.0 * omega * (t - origin)).sin_cos();
        s2 += s;
        c2 += c;
    }
    let shift = s2.atan2(c2) / 2.0;
    let (mut xc, mut xs, mut cc, mut ss) = (0.0, 0.0, 0.0, 0.0);
    for (x, t) in values.iter().zip(times) {
        let (s, c) = (omega * (t - origin) - shift).sin_cos();
        xc += x * c;
        xs += x * s;
        cc += c * c;
        ss += s * s;
    }
    let part = |x: f64, norm: f64| if norm > 1e-12 { x * x / norm } else { 0.0 };
    part(xc, cc) + part(xs, ss)
}
