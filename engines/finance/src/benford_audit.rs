//! q129: screening of payments.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_numeric::dist;

use crate::support::check_amounts;

const MAX_AMOUNTS: usize = 200_000;
const MAX_LIMITS: usize = 50;
const MAX_DUPLICATES: usize = 1_000;
/// Keys that are listed of a duplicate.
const MAX_KEYS: usize = 100;
/// Nigrini's bands of the mean absolute deviation of first digits (2012, table 7.1).
const BANDS: [(f64, &str); 3] = [(0.006, "close"), (0.012, "acceptable"), (0.015, "marginal")];
/// Below this number of amounts the deviation says little.
const FEW: usize = 300;
/// Payments within this share below a limit are compared with those within the same share below that.
const NEAR: f64 = 0.05;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    amounts: Vec<f64>,
    keys: Option<Vec<String>>,
    limits: Vec<f64>,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    first_digit: FirstDigit,
    digits: Vec<Digit>,
    duplicates: Vec<Duplicate>,
    round_share: f64,
    near_limit: Vec<NearLimit>,
}

#[derive(Output)]
struct FirstDigit {
    chi_square: f64,
    p: f64,
    mad: f64,
    conformity: String,
}

#[derive(Output)]
struct Digit {
    digit: i64,
    observed: f64,
    expected: f64,
    z: f64,
}

#[derive(Output)]
struct Duplicate {
    amount: f64,
    count: i64,
    keys: Vec<String>,
}

#[derive(Output)]
struct NearLimit {
    limit: f64,
    count: i64,
    expected: f64,
    p: f64,
}

/// Screens the amounts. `digits` are the first digits 1 to 9, then, as 10 to 19, the second digits 0 to 9.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer` (no amount but 0).
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let amounts = &input.amounts;
    check_amounts(amounts, "amounts", MAX_AMOUNTS)?;
    check_amounts(&input.limits, "limits", MAX_LIMITS)?;
    if let Some(keys) = &input.keys
        && keys.len() != amounts.len()
    {
        return Err(Failure::invalid(&["keys"], "there must be as many keys as amounts"));
    }
    if let Some(at) = input.limits.iter().position(|l| *l <= 0.0) {
        return Err(Failure::invalid(&["limits", &at.to_string()], "must be positive"));
    }
    let (mut first, mut second) = ([0_u32; 9], [0_u32; 10]);
    let mut count = 0_usize;
    for (a, b) in amounts.iter().filter_map(|x| leading(*x)) {
        count += 1;
        first.get_mut(a - 1).into_iter().for_each(|c| *c += 1);
        second.get_mut(b).into_iter().for_each(|c| *c += 1);
    }
    if count == 0 {
        return Err(Failure::no_answer(NoAnswer::TooFew, "amounts: at least one that is not 0 is needed"));
    }
    if count < FEW {
        cx.warn(format!("few: {count} amounts; the bands of the deviation assume {FEW} and more"));
    }
    let n = count as f64;
    let share = |observed: u32| f64::from(observed) / n;
    let expected_first = |d: usize| (1.0 + 1.0 / d as f64).log10();
    let expected_second = |d: usize| (1..=9).map(|a| (1.0 + 1.0 / (10 * a + d) as f64).log10()).sum::<f64>();
    let (mut chi_square, mut gap) = (0.0, 0.0);
    let mut digits = Vec::new();
    for (at, observed) in first.iter().enumerate() {
        let expected = expected_first(at + 1);
        chi_square += (f64::from(*observed) - n * expected).powi(2) / (n * expected);
        gap += (share(*observed) - expected).abs();
        digits.push(digit(at as i64 + 1, share(*observed), expected, n));
    }
    for (at, observed) in second.iter().enumerate() {
        digits.push(digit(at as i64 + 10, share(*observed), expected_second(at), n));
    }
    let mad = gap / 9.0;
    let conformity = BANDS.iter().find(|(limit, _)| mad <= *limit).map_or("nonconformity", |(_, name)| name);
    let round = amounts.iter().filter(|x| **x != 0.0 && **x % 100.0 == 0.0).count();
    Ok(Output {
        first_digit: FirstDigit {
            chi_square,
            p: dist::chi2_sf(chi_square, 8.0),
            mad,
            conformity: conformity.to_owned(),
        },
        digits,
        duplicates: duplicates(amounts, input.keys.as_deref(), cx),
        round_share: round as f64 / n,
        near_limit: input.limits.iter().map(|limit| near(amounts, *limit)).collect(),
    })
}

/// The first two significant digits, from the shortest decimal that is the number; `None` for 0.
fn leading(x: f64) -> Option<(usize, usize)> {
    let text = format!("{:e}", x.abs());
    let mut digits = text.split('e').next()?.chars().filter_map(|c| c.to_digit(10)).map(|d| d as usize);
    let first = digits.next().filter(|d| *d > 0)?;
    Some((first, digits.next().unwrap_or(0)))
}

/// A digit with the z statistic corrected for continuity, where the correction is smaller than the difference.
fn digit(digit: i64, observed: f64, expected: f64, n: f64) -> Digit {
    let difference = (observed - expected).abs();
    let correction = 1.0 / (2.0 * n);
    let gap = if correction < difference { difference - correction } else { difference };
    Digit { digit, observed, expected, z: gap / (expected * (1.0 - expected) / n).sqrt() }
}

/// Amounts that occur more than once, the most frequent first.
fn duplicates(amounts: &[f64], keys: Option<&[String]>, cx: &Context) -> Vec<Duplicate> {
    let mut places: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (at, amount) in amounts.iter().enumerate().filter(|(_, x)| **x != 0.0) {
        places.entry(amount.to_bits()).or_default().push(at);
    }
    let mut found: Vec<Vec<usize>> = places.into_values().filter(|list| list.len() > 1).collect();
    let amount_of = |list: &Vec<usize>| list.first().and_then(|at| amounts.get(*at)).copied().unwrap_or(0.0);
    found.sort_by(|a, b| b.len().cmp(&a.len()).then(amount_of(b).total_cmp(&amount_of(a))));
    if found.len() > MAX_DUPLICATES {
        cx.warn(format!("duplicates: the {MAX_DUPLICATES} most frequent of {}", found.len()));
        found.truncate(MAX_DUPLICATES);
    }
    let key = |at: &usize| keys.and_then(|keys| keys.get(*at)).cloned();
    found
        .iter()
        .map(|list| Duplicate {
            amount: amount_of(list),
            count: list.len() as i64,
            keys: list.iter().filter_map(key).take(MAX_KEYS).collect(),
        })
        .collect()
}

/// Whether more amounts are in the last 5 % below a limit than in the 5 % below these: without a reason to stay below
/// the limit each of them is in the upper half with an even chance at most, because amounts get rarer upwards.
fn near(amounts: &[f64], limit: f64) -> NearLimit {
    let (middle, low) = (limit * (1.0 - NEAR), limit * (1.0 - 2.0 * NEAR));
    let upper = amounts.iter().filter(|x| **x >= middle && **x < limit).count() as u64;
    let lower = amounts.iter().filter(|x| **x >= low && **x < middle).count() as u64;
    let all = upper + lower;
    NearLimit { limit, count: upper as i64, expected: all as f64 / 2.0, p: dist::binomial_sf(upper, all, 0.5) }
}
