//! q204: HMAC, also as webhooks send it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac_13::{Hmac, KeyInit, Mac};
use muster_engine::prelude::*;

use crate::hex;

/// Input of the engine; defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    data: Bytes,
    key: Bytes,
    algorithm: Algorithm,
    signature: Option<String>,
    scheme: Scheme,
    timestamp_s: Option<i64>,
    now_s: Option<i64>,
    tolerance_s: i64,
}

/// Hash functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Algorithm {
    Sha256,
    Sha512,
    Sha1,
}

/// What is signed, and how the header is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Scheme {
    Raw,
    Github,
    Stripe,
    Slack,
}

/// Output of the engine. When a signature is verified, the right one is not shown.
#[derive(Debug, Output)]
pub struct Output {
    signature: Option<String>,
    header: Option<String>,
    valid: Option<bool>,
    reason: Option<&'static str>,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.key.0.is_empty() {
        return Err(Failure::invalid(&["key"], "must not be empty: everyone knows the signature of no key"));
    }
    let given = input.signature.as_deref().map(|signature| parse(signature, input.scheme)).transpose()?;
    let in_header = given.as_ref().and_then(|given| given.timestamp);
    let timestamp = input.timestamp_s.or(in_header);
    let message = message(&input, timestamp)?;
    let mac = mac(input.algorithm, &input.key.0, &message)?;
    let Some(given) = given else {
        let text = hex::encode(&mac);
        let header = header(&input, timestamp, &text);
        return Ok(Output { signature: Some(text), header: Some(header), valid: None, reason: None });
    };
    let fresh = match (timestamp, input.now_s) {
        (Some(timestamp), Some(now)) => now.abs_diff(timestamp) <= input.tolerance_s.unsigned_abs(),
        (Some(_), None) => {
            cx.warn("unchecked: without now the age of the message is not verified");
            true
        }
        _ => true,
    };
    let genuine = hex::equal(&given.mac, &mac);
    let reason = match (genuine, fresh) {
        (false, _) => "the signature is not that of this message and key",
        (true, false) => "the timestamp is too old or too new: the message may be replayed",
        (true, true) => "the signature is right",
    };
    Ok(Output { signature: None, header: None, valid: Some(genuine && fresh), reason: Some(reason) })
}

/// What a scheme signs.
fn message(input: &Input, timestamp: Option<i64>) -> Result<Vec<u8>, Failure> {
    let needed = || timestamp.ok_or_else(|| Failure::invalid(&["timestamp"], "is needed: this scheme signs it"));
    let mut message = match input.scheme {
        Scheme::Raw | Scheme::Github => Vec::new(),
        Scheme::Stripe => format!("{}.", needed()?).into_bytes(),
        Scheme::Slack => format!("v0:{}:", needed()?).into_bytes(),
    };
    message.extend_from_slice(&input.data.0);
    Ok(message)
}

fn header(input: &Input, timestamp: Option<i64>, signature: &str) -> String {
    match input.scheme {
        Scheme::Raw => signature.to_owned(),
        Scheme::Github => format!("{}={signature}", input.algorithm.word()),
        Scheme::Stripe => format!("t={},v1={signature}", timestamp.unwrap_or_default()),
        Scheme::Slack => format!("v0={signature}"),
    }
}

fn mac(algorithm: Algorithm, key: &[u8], message: &[u8]) -> Result<Vec<u8>, Failure> {
    fn with<M: Mac + KeyInit>(key: &[u8], message: &[u8]) -> Result<Vec<u8>, Failure> {
        let mut mac = <M as KeyInit>::new_from_slice(key).map_err(Failure::internal)?;
        mac.update(message);
        Ok(mac.finalize().into_bytes().to_vec())
    }
    match algorithm {
        Algorithm::Sha256 => with::<Hmac<sha2_11::Sha256>>(key, message),
        Algorithm::Sha512 => with::<Hmac<sha2_11::Sha512>>(key, message),
        Algorithm::Sha1 => with::<Hmac<sha1::Sha1>>(key, message),
    }
}

/// A signature that was given, with the time in its header.
struct Given {
    mac: Vec<u8>,
    timestamp: Option<i64>,
}

fn parse(text: &str, scheme: Scheme) -> Result<Given, Failure> {
    let text = text.trim();
    let part = |name: &str| text.split(',').find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('='));
    let (signature, timestamp) = match scheme {
        Scheme::Stripe => (part("v1").unwrap_or(text), part("t").and_then(|time| time.parse().ok())),
        Scheme::Slack => (part("v0").unwrap_or(text), None),
        Scheme::Github => {
            (text.rsplit_once('=').filter(|(name, _)| name.starts_with("sha")).map_or(text, |(_, rest)| rest), None)
        }
        Scheme::Raw => (text, None),
    };
    let mac = hex::decode(signature).filter(|mac| !mac.is_empty()).or_else(|| STANDARD.decode(signature).ok());
    let mac = mac
        .ok_or_else(|| Failure::invalid(&["signature"], "must be hexadecimal or base64, or a header of the scheme"))?;
    Ok(Given { mac, timestamp })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(scheme: Scheme) -> Input {
        Input {
            data: Bytes(b"{\"ok\":true}".to_vec()),
            key: Bytes(b"whsec_test".to_vec()),
            algorithm: Algorithm::Sha256,
            signature: None,
            scheme,
            timestamp_s: Some(1_700_000_000),
            now_s: Some(1_700_000_100),
            tolerance_s: 300,
        }
    }

    #[test]
    fn a_header_verifies_and_each_change_of_the_data_does_not() {
        for scheme in [Scheme::Raw, Scheme::Github, Scheme::Stripe, Scheme::Slack] {
            let header = run(input(scheme), &Context::default()).unwrap().header;
            let verify = |data: &[u8], now: i64| {
                let input =
                    Input { data: Bytes(data.to_vec()), signature: header.clone(), now_s: Some(now), ..input(scheme) };
                run(input, &Context::default()).unwrap().valid
            };
            assert_eq!(verify(b"{\"ok\":true}", 1_700_000_100), Some(true), "{scheme:?}");
            assert_eq!(verify(b"{\"ok\":tru}", 1_700_000_100), Some(false));
            assert_eq!(verify(b"{\"ok\":true}", 1_700_000_301), Some(false));
        }
    }
}
