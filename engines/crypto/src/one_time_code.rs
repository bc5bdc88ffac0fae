//! q208: one-time codes (RFC 4226, RFC 6238).

use hmac_13::{Hmac, KeyInit, Mac};
use muster_engine::prelude::*;

use crate::base32;
use crate::hex;

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    operation: Operation,
    secret: String,
    code: Option<String>,
    time_s: Option<i64>,
    counter: Option<u64>,
    digits: u32,
    period_s: i64,
    algorithm: Algorithm,
    window: u64,
    issuer: Option<String>,
    account: Option<String>,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Operation {
    Generate,
    Verify,
    Enrol,
}

/// Hash functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "upper")]
pub enum Algorithm {
    Sha1,
    Sha256,
    Sha512,
}

/// Output of the engine. When a code is verified, the right one is not shown.
#[derive(Debug, Output)]
pub struct Output {
    code: Option<String>,
    valid: Option<bool>,
    drift: Option<i64>,
    remaining_s: Option<i64>,
    uri: Option<String>,
}

const MAX_TEXT: usize = 500;

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let cleaned: String = input.secret.chars().filter(|letter| !matches!(letter, ' ' | '-' | '=')).collect();
    let secret =
        base32::decode(&cleaned.to_uppercase()).filter(|secret| !secret.is_empty() && secret.len() <= MAX_TEXT);
    let secret = secret.ok_or_else(|| Failure::invalid(&["secret"], "must be base32 (A-Z, 2-7), at most 500 bytes"))?;
    if secret.len() < 16 {
        cx.warn("weak: the secret has less than 128 bits, which RFC 4226 requires");
    }
    if !(1..=86_400).contains(&input.period_s) {
        return Err(Failure::invalid(&["period"], "must be from 1 to 86400 s"));
    }
    if input.operation == Operation::Enrol {
        return Ok(Output {
            code: None,
            valid: None,
            drift: None,
            remaining_s: None,
            uri: Some(uri(&input, &cleaned)?),
        });
    }
    let (counter, remaining) = match (input.counter, input.time_s) {
        (Some(counter), _) => (counter, None),
        (None, Some(time)) if time >= 0 => {
            ((time / input.period_s) as u64, Some(input.period_s - time % input.period_s))
        }
        (None, Some(_)) => return Err(Failure::invalid(&["time"], "must be at least 0")),
        (None, None) => return Err(Failure::invalid(&["time"], "give time, or counter for HOTP")),
    };
    let code_at = |counter: u64| code(input.algorithm, &secret, counter, input.digits);
    if input.operation == Operation::Generate {
        let code = Some(code_at(counter)?);
        return Ok(Output { code, valid: None, drift: None, remaining_s: remaining, uri: None });
    }
    let given = input.code.as_deref().map(str::trim).unwrap_or_default();
    if given.len() != input.digits as usize || !given.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Failure::invalid(&["code"], format!("must have {} digits", input.digits)));
    }
    let mut drift = None;
    // Nearest steps first; all are compared, so that the time does not tell which one fits.
    for step in 0..=input.window {
        let candidates = [
            counter.checked_sub(step).map(|c| (c, -(step as i64))),
            counter.checked_add(step).map(|c| (c, step as i64)),
        ];
        for (candidate, steps) in candidates.into_iter().flatten() {
            let fits = hex::equal(code_at(candidate)?.as_bytes(), given.as_bytes());
            drift = drift.or(fits.then_some(steps));
        }
    }
    cx.assume("each code is accepted once only: the caller keeps the last counter");
    Ok(Output { code: None, valid: Some(drift.is_some()), drift, remaining_s: remaining, uri: None })
}

/// HOTP value: dynamic truncation of the HMAC of the counter.
fn code(algorithm: Algorithm, secret: &[u8], counter: u64, digits: u32) -> Result<String, Failure> {
    fn mac<M: Mac + KeyInit>(secret: &[u8], counter: u64) -> Result<Vec<u8>, Failure> {
        let mut mac = <M as KeyInit>::new_from_slice(secret).map_err(Failure::internal)?;
        mac.update(&counter.to_be_bytes());
        Ok(mac.finalize().into_bytes().to_vec())
    }
    let mac = match algorithm {
        Algorithm::Sha1 => mac::<Hmac<sha1::Sha1>>(secret, counter),
        Algorithm::Sha256 => mac::<Hmac<sha2_11::Sha256>>(secret, counter),
        Algorithm::Sha512 => mac::<Hmac<sha2_11::Sha512>>(secret, counter),
    }?;
    let offset = usize::from(mac.last().copied().unwrap_or_default() & 0xf);
    let four = mac.get(offset..offset + 4).and_then(|four| <[u8; 4]>::try_from(four).ok());
    let value = u32::from_be_bytes(four.unwrap_or_default()) & 0x7fff_ffff;
    Ok(format!("{:0width$}", value % 10_u32.pow(digits), width = digits as usize))
}

/// URI that authenticator programs read from a picture.
fn uri(input: &Input, secret: &str) -> Result<String, Failure> {
    let account = input.account.as_deref().filter(|account| !account.is_empty() && account.len() <= MAX_TEXT);
    let account = account.ok_or_else(|| Failure::invalid(&["account"], "is needed to enrol, at most 500 bytes"))?;
    let issuer = input.issuer.as_deref().unwrap_or_default();
    if issuer.len() > MAX_TEXT {
        return Err(Failure::too_large("issuer has at most 500 bytes"));
    }
    let (issuer, account) = (crate::percent::encode(issuer.as_bytes()), crate::percent::encode(account.as_bytes()));
    let (label, by) = if issuer.is_empty() {
        (account, String::new())
    } else {
        (format!("{issuer}:{account}"), format!("&issuer={issuer}"))
    };
    let (kind, moving) = match input.counter {
        Some(counter) => ("hotp", format!("counter={counter}")),
        None => ("totp", format!("period={}", input.period_s)),
    };
    let (algorithm, digits) = (input.algorithm.word(), input.digits);
    Ok(format!(
        "otpauth://{kind}/{label}?secret={}{by}&algorithm={algorithm}&digits={digits}&{moving}",
        secret.to_uppercase()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(operation: Operation, time: i64, code: Option<String>) -> Input {
        Input {
            operation,
            secret: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ".to_owned(),
            code,
            time_s: Some(time),
            counter: None,
            digits: 6,
            period_s: 30,
            algorithm: Algorithm::Sha1,
            window: 1,
            issuer: None,
            account: None,
        }
    }

    #[test]
    fn a_code_is_valid_within_its_window() {
        let cx = Context::default();
        let code = run(input(Operation::Generate, 1_000_000_000, None), &cx).unwrap().code;
        for (time, drift) in [(0, Some(0)), (30, Some(-1)), (-30, Some(1)), (60, None), (-60, None)] {
            let output = run(input(Operation::Verify, 1_000_000_000 + time, code.clone()), &cx).unwrap();
            assert_eq!((output.valid, output.drift), (Some(drift.is_some()), drift), "{time}");
        }
    }

    /// RFC 4226, appendix D.
    #[test]
    fn the_first_counters_have_the_codes_of_the_standard() {
        let codes =
            ["755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"];
        for (counter, expected) in codes.iter().enumerate() {
            assert_eq!(code(Algorithm::Sha1, b"12345678901234567890", counter as u64, 6).unwrap(), *expected);
        }
    }
}
