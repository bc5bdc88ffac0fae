//! q126: currency conversion.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use rust_decimal::{Decimal, RoundingStrategy};

use crate::currencies::minor_units;

const MAX_RATES: usize = 500;
/// Largest amount and rate, and least rate: their products and quotients fit 96 bits with digits to spare.
const MAX_AMOUNT: &str = "1000000000000000";
const MAX_RATE: &str = "1000000000";
const MIN_RATE: &str = "0.000000001";

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    amount: String,
    from: String,
    to: String,
    rates: BTreeMap<String, String>,
    base: String,
    rounding: Rounding,
    split: i64,
}

/// Roundings.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Rounding {
    /// To the even neighbour.
    HalfEven,
    /// Away from zero.
    HalfUp,
    /// Towards zero.
    Down,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    amount: String,
    rate: String,
    minor_units: i64,
    parts: Vec<String>,
    path: Vec<String>,
}

/// Converts and splits an amount.
///
/// # Errors
/// `Invalid` (a number, a currency, a missing rate).
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.rates.len() > MAX_RATES {
        return Err(Failure::too_large(format!("rates: at most {MAX_RATES}")));
    }
    let amount = decimal(&input.amount, &["amount"])?;
    if amount.abs() > limit(MAX_AMOUNT) {
        return Err(Failure::invalid(&["amount"], format!("must be within ±{MAX_AMOUNT}")));
    }
    let units = |code: &str, field: &str| {
        minor_units(code)
            .ok_or_else(|| Failure::invalid(&[field], format!("`{code}` is no currency of ISO 4217 with minor units")))
    };
    units(&input.from, "from")?;
    units(&input.base, "base")?;
    let digits = units(&input.to, "to")?;
    let rate_of = |code: &str| {
        if code == input.base {
            return Ok(Decimal::ONE);
        }
        let text = input.rates.get(code).ok_or_else(|| {
            let problem = format!("is missing: units of {code} for one {}", input.base);
            Failure::invalid(&["rates", code], problem)
        })?;
        let rate = decimal(text, &["rates", code])?;
        if rate < limit(MIN_RATE) || rate > limit(MAX_RATE) {
            return Err(Failure::invalid(&["rates", code], format!("must be from {MIN_RATE} to {MAX_RATE}")));
        }
        Ok(rate)
    };
    if let Some(given) = input.rates.get(&input.base)
        && decimal(given, &["rates", &input.base])? != Decimal::ONE
    {
        return Err(Failure::invalid(&["rates", &input.base], "the base has the rate 1"));
    }
    let (from, to) = (rate_of(&input.from)?, rate_of(&input.to)?);
    let overflow = || Failure::no_answer(NoAnswer::OutsideValidity, "the result has more than 28 digits");
    // The product is exact where it fits; the quotient is the only rounded step before the last.
    let exact = match amount.checked_mul(to) {
        Some(product) => product.checked_div(from),
        None => amount.checked_div(from).and_then(|quotient| quotient.checked_mul(to)),
    };
    let exact = if input.from == input.to { amount } else { exact.ok_or_else(overflow)? };
    let strategy = match input.rounding {
        Rounding::HalfEven => RoundingStrategy::MidpointNearestEven,
        Rounding::HalfUp => RoundingStrategy::MidpointAwayFromZero,
        Rounding::Down => RoundingStrategy::ToZero,
    };
    let mut rounded = exact.round_dp_with_strategy(digits, strategy);
    rounded.rescale(digits);
    if rounded.is_zero() && !amount.is_zero() {
        cx.warn("rounded_to_zero: the amount is below the smallest unit");
    }
    let mut path = vec![input.from.clone(), input.base.clone(), input.to.clone()];
    path.dedup();
    Ok(Output {
        parts: split(rounded, input.split, digits).ok_or_else(overflow)?,
        amount: rounded.to_string(),
        rate: to.checked_div(from).ok_or_else(overflow)?.normalize().to_string(),
        minor_units: i64::from(digits),
        path,
    })
}

fn limit(text: &str) -> Decimal {
    text.parse().unwrap_or(Decimal::ONE)
}

/// Reads a plain decimal number: digits, a point, a sign, no exponent.
fn decimal(text: &str, path: &[&str]) -> Result<Decimal, Failure> {
    let body = text.strip_prefix(['-', '+']).unwrap_or(text);
    let plain = !body.is_empty() && body.chars().all(|c| c.is_ascii_digit() || c == '.') && body.len() <= 40;
    let number = if plain && body.starts_with(|c: char| c.is_ascii_digit()) && !body.ends_with('.') {
        // Only what is held exactly: a longer fraction would be rounded silently.
        Decimal::from_str_exact(text.strip_prefix('+').unwrap_or(text)).ok()
    } else {
        None
    };
    number.ok_or_else(|| Failure::invalid(path, "must be a decimal number such as \"12.50\", of at most 28 digits"))
}

/// Parts that sum to the amount: the quotient in whole minor units, the rest one unit each to the first parts.
fn split(amount: Decimal, parts: i64, digits: u32) -> Option<Vec<String>> {
    let units = amount.checked_mul(Decimal::from(10_i64.pow(digits)))?.mantissa_at_zero()?;
    let parts = i128::from(parts.clamp(1, 1_000));
    let (each, rest) = (units / parts, units % parts);
    (0..parts)
        .map(|part| {
            let more = if part < rest.abs() { rest.signum() } else { 0 };
            Decimal::try_from_i128_with_scale(each + more, digits).ok().map(|d| d.to_string())
        })
        .collect()
}

/// Whole numbers of a decimal.
trait WholeNumber {
    /// Returns the number if it has no fraction.
    fn mantissa_at_zero(self) -> Option<i128>;
}

impl WholeNumber for Decimal {
    fn mantissa_at_zero(self) -> Option<i128> {
        let plain = self.normalize();
        (plain.scale() == 0).then(|| plain.mantissa())
    }
}
