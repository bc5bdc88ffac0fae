//! The kernel against published values, closed forms and its own inverses. Values of distributions: scipy 1.17.1.

#![allow(clippy::unwrap_used, reason = "a test")]

use muster_kernel_numeric::lmoments::l_moments;
use muster_kernel_numeric::ode::rk4;
use muster_kernel_numeric::optim::nelder_mead;
use muster_kernel_numeric::ranks::{Ranks, inversions, mann_whitney_null, two_sided, wilcoxon_null};
use muster_kernel_numeric::regress::{FitError, least_squares, nested_rss};
use muster_kernel_numeric::root::brent;
use muster_kernel_numeric::sample::Sampler;
use muster_kernel_numeric::spectrum::{autocovariance_sums, real_fft};
use muster_kernel_numeric::{dist, special, summary};

fn close(actual: f64, expected: f64, relative: f64) {
    let gap = (actual - expected).abs();
    assert!(gap <= relative * expected.abs().max(1e-300), "{actual} in place of {expected}");
}

#[test]
fn quantiles_are_those_of_tables() {
    close(dist::normal_quantile(0.975), 1.959_963_984_540_054, 1e-15);
    close(dist::normal_quantile(1e-10), -6.361_340_902_404_056, 1e-14);
    close(dist::t_quantile(0.975, 10.0), 2.228_138_851_986_274, 1e-12);
    close(dist::t_quantile(0.995, 1.0), 63.656_741_162_871_58, 1e-11);
    close(dist::chi2_quantile(0.95, 10.0), 18.307_038_053_275_146, 1e-12);
    close(dist::f_quantile(0.95, 3.0, 20.0), 3.098_391_212_140_781, 1e-11);
    close(dist::gamma_quantile(0.01, 0.3), 1.502_222_655_236_040_7e-7, 1e-9);
    close(dist::beta_quantile(0.3, 2.0, 5.0), 0.181_803_471_318_949_17, 1e-10);
}

#[test]
fn tails_are_accurate_where_they_are_small() {
    close(dist::normal_sf(10.0), 7.619_853_024_160_526e-24, 1e-12);
    close(dist::t_p(30.0, 8.0), 1.653_525_675_178_976e-9, 1e-10);
    close(dist::chi2_sf(200.0, 5.0), 2.840_622_898_641_553_4e-41, 1e-11);
    close(dist::f_sf(50.0, 4.0, 300.0), 3.221_197_790_724_349_5e-32, 1e-9);
    close(dist::kolmogorov_sf(1.0), 0.269_999_671_677_359_2, 1e-12);
    close(dist::binomial_sf(8, 10, 0.5), 56.0 / 1024.0, 1e-12);
    close(dist::binomial_pmf(3, 10, 0.2), 0.201_326_592, 1e-12);
}

#[test]
fn quantiles_invert_their_distributions() {
    for df in [0.7, 1.0, 3.0, 12.5, 400.0, 1e5] {
        for p in [1e-8, 0.01, 0.3, 0.5, 0.77, 0.999] {
            close(dist::t_cdf(dist::t_quantile(p, df), df), p, 1e-7);
            close(dist::chi2_cdf(dist::chi2_quantile(p, df), df), p, 1e-9);
            close(special::beta_parts(df, 2.5, dist::beta_quantile(p, df, 2.5)).0, p, 1e-7);
        }
    }
}

#[test]
fn the_incomplete_beta_function_is_symmetric() {
    for (a, b, x) in [(0.5, 0.5, 0.2), (30.0, 0.1, 0.99), (1e4, 2e4, 0.335), (5e5, 0.5, 0.999_999)] {
        let (lower, upper) = special::beta_parts(a, b, x);
        close(lower + upper, 1.0, 1e-9);
        close(special::beta_parts(b, a, 1.0 - x).1, lower, 1e-6);
    }
}

/// Cohen (1988): 64 in each group find d = 0.5 with 80 %; the noncentral t of statsmodels has 0.8014596.
#[test]
fn the_noncentral_t_gives_cohens_power() {
    let (df, delta) = (126.0, 0.5 * 32.0_f64.sqrt());
    let critical = dist::t_quantile(0.975, df);
    let power = 1.0 - dist::noncentral_t_cdf(critical, df, delta) + dist::noncentral_t_cdf(-critical, df, delta);
    close(power, 0.801_459_6, 1e-6);
    close(dist::noncentral_t_cdf(1.5, 7.0, 0.0), dist::t_cdf(1.5, 7.0), 1e-12);
}

#[test]
fn trigamma_is_that_of_closed_forms() {
    close(special::trigamma(1.0), std::f64::consts::PI.powi(2) / 6.0, 1e-13);
    close(special::trigamma(0.5), std::f64::consts::PI.powi(2) / 2.0, 1e-13);
}

#[test]
fn roots_and_minima_are_found() {
    close(brent(|x| x.cos() - x, 0.0, 1.0, 1e-15).unwrap(), 0.739_085_133_215_160_6, 1e-14);
    assert_eq!(brent(|x| x * x + 1.0, -1.0, 1.0, 1e-12), None);
    let rosenbrock = |x: &[f64]| match x {
        [a, b] => 100.0 * (b - a * a).powi(2) + (1.0 - a).powi(2),
        _ => f64::NAN,
    };
    let found = nelder_mead(rosenbrock, &[-1.2, 1.0], &[0.5, 0.5], 1e-12, 4_000);
    assert!(found.converged);
    found.at.iter().for_each(|x| close(*x, 1.0, 1e-4));
}

#[test]
fn an_error_of_runge_kutta_falls_by_sixteen_where_the_step_is_halved() {
    let error = |steps: u32| {
        let h = 1.0 / f64::from(steps);
        let mut y = [1.0];
        for k in 0..steps {
            y = rk4(|_, [y]| [*y], f64::from(k) * h, &y, h);
        }
        (y[0] - std::f64::consts::E).abs()
    };
    let ratio = error(20) / error(40);
    assert!((15.0..17.0).contains(&ratio), "{ratio}");
}

/// Of 1, 2, … n the L-moments are (n+1)/2, (n+1)/6, 0 and 0 (Hosking 1990, uniform order statistics).
#[test]
fn l_moments_of_whole_numbers_are_closed() {
    let found = l_moments(&(1..=50).rev().map(f64::from).collect::<Vec<_>>()).unwrap();
    close(found.l1, 25.5, 1e-14);
    close(found.l2, 51.0 / 6.0, 1e-13);
    assert!(found.t3.abs() < 1e-12 && found.t4.abs() < 1e-12, "{found:?}");
    assert_eq!(l_moments(&[1.0, 2.0, 3.0]), None);
}

/// Counts of Mann and Whitney (1947) for 3 and 3, and of Wilcoxon (1945) for 4.
#[test]
fn null_distributions_of_ranks_are_counted() {
    let counts = |null: Vec<f64>, ways: f64| null.iter().map(|p| (p * ways).round() as u32).collect::<Vec<_>>();
    assert_eq!(counts(mann_whitney_null(3, 3), 20.0), [1, 1, 2, 3, 3, 3, 3, 2, 1, 1]);
    assert_eq!(counts(wilcoxon_null(4), 16.0), [1, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1]);
    close(two_sided(&mann_whitney_null(3, 3), 0), 0.1, 1e-14);
    close(mann_whitney_null(25, 25).iter().sum::<f64>(), 1.0, 1e-12);
}

#[test]
fn ties_share_a_rank_and_inversions_are_counted() {
    let ranks = Ranks::of(&[3.0, 1.0, 3.0, 2.0]);
    assert_eq!((ranks.ranks, ranks.ties), (vec![3.5, 1.0, 3.5, 2.0], vec![2]));
    let mut values = vec![3.0, 1.0, 2.0, 2.0, 0.0];
    assert_eq!(inversions(&mut values), 7);
    assert_eq!(values, [0.0, 1.0, 2.0, 2.0, 3.0]);
}

#[test]
fn dependent_columns_are_refused() {
    let a: Vec<f64> = (0..10).map(f64::from).collect();
    let b: Vec<f64> = a.iter().map(|x| 3.0 * x + 1.0).collect();
    let y: Vec<f64> = a.iter().map(|x| x.sin()).collect();
    assert_eq!(least_squares(&y, &[a.clone(), b], None, true).err(), Some(FitError::Singular(1)));
    assert_eq!(least_squares(&y, &[vec![5.0; 10]], None, true).err(), Some(FitError::Singular(0)));
    assert_eq!(least_squares(&[1.0], &[], None, true).err(), Some(FitError::TooFew));
    let fit = least_squares(&y, std::slice::from_ref(&a), None, true).unwrap();
    let nested = nested_rss(&y, &[a]).unwrap();
    close(*nested.last().unwrap(), fit.rss, 1e-12);
    close(fit.leverage.iter().sum::<f64>(), 2.0, 1e-12);
}

/// A perfect polynomial of NIST's Wampler1: y = 1 + x + … + x⁵ at 0 to 20; all coefficients are 1.
#[test]
fn wampler1_is_fitted_exactly() {
    let x: Vec<f64> = (0..=20).map(f64::from).collect();
    let columns: Vec<Vec<f64>> = (1..=5).map(|k| x.iter().map(|x| x.powi(k)).collect()).collect();
    let y: Vec<f64> = x.iter().map(|x| (0..=5).map(|k| x.powi(k)).sum()).collect();
    let fit = least_squares(&y, &columns, None, true).unwrap();
    fit.coefficients.iter().for_each(|b| close(*b, 1.0, 1e-8));
}

#[test]
fn transforms_are_those_of_the_definition() {
    let values = [1.0, -2.0, 0.5, 3.0, 4.0];
    let mean = summary::mean(&values);
    let centred: Vec<f64> = values.iter().map(|x| x - mean).collect();
    for (k, sum) in autocovariance_sums(&centred, 5).iter().enumerate() {
        let direct: f64 = centred.iter().zip(centred.iter().skip(k)).map(|(a, b)| a * b).sum();
        assert!((sum - direct).abs() < 1e-12);
    }
    for (k, (re, im)) in real_fft(&values).into_iter().enumerate() {
        let angle = |t: usize| -2.0 * std::f64::consts::PI * (k * t) as f64 / 5.0;
        let direct: (f64, f64) = values
            .iter()
            .enumerate()
            .fold((0.0, 0.0), |(r, i), (t, x)| (r + x * angle(t).cos(), i + x * angle(t).sin()));
        assert!((re - direct.0).abs() < 1e-12 && (im - direct.1).abs() < 1e-12);
    }
}

#[test]
fn sums_are_compensated() {
    let values = [1e16, 1.0, 1.0, -1e16];
    assert_eq!(summary::sum(values), 2.0);
    // NumAcc4 of NIST StRD: 10000000.2, then 10000000.1 and 10000000.3 in turn; the deviation is 0.1 exactly.
    let numacc4: Vec<f64> = (0..1001)
        .map(|k| {
            if k == 0 {
                10_000_000.2
            } else if k % 2 == 1 {
                10_000_000.1
            } else {
                10_000_000.3
            }
        })
        .collect();
    close(summary::mean(&numacc4), 10_000_000.2, 1e-15);
    close(summary::sd(&numacc4), 0.1, 1e-7);
}

#[test]
fn samples_follow_their_distributions_and_their_seed() {
    let n = 20_000;
    let ks = |draw: fn(&mut Sampler) -> f64, cdf: fn(f64) -> f64| {
        let mut sampler = Sampler::new(7);
        let mut all: Vec<f64> = (0..n).map(|_| draw(&mut sampler)).collect();
        all.sort_by(f64::total_cmp);
        let gap =
            all.iter().enumerate().map(|(i, x)| (cdf(*x) - (i as f64 + 0.5) / n as f64).abs()).fold(0.0, f64::max);
        assert!(dist::kolmogorov_sf(gap * (n as f64).sqrt()) > 1e-3, "{gap}");
    };
    ks(Sampler::uniform, |x| x);
    ks(Sampler::normal, dist::normal_cdf);
    ks(Sampler::exponential, |x| 1.0 - (-x).exp());
    ks(|s| s.gamma(2.5), |x| special::gamma_parts(2.5, x).0);
    ks(|s| s.beta(2.0, 3.0), |x| special::beta_parts(2.0, 3.0, x).0);
    for mean in [0.3, 12.0, 45.0, 3_000.0] {
        let mut sampler = Sampler::new(3);
        let all: Vec<f64> = (0..n).map(|_| sampler.poisson(mean) as f64).collect();
        let error = 4.0 * (mean / n as f64).sqrt();
        assert!((summary::mean(&all) - mean).abs() < error);
        close(summary::variance(&all), mean, 0.06);
    }
    let mut counts = [0_u32; 6];
    let mut sampler = Sampler::new(-1);
    (0..60_000).for_each(|_| counts[sampler.index(6)] += 1);
    assert!(counts.iter().all(|c| c.abs_diff(10_000) < 400), "{counts:?}");
    let (mut a, mut b, mut c) = (Sampler::new(1), Sampler::new(1), Sampler::new(2));
    let first: Vec<f64> = (0..5).map(|_| a.normal()).collect();
    assert_eq!(first, (0..5).map(|_| b.normal()).collect::<Vec<_>>());
    assert_ne!(first, (0..5).map(|_| c.normal()).collect::<Vec<_>>());
}
