//! q134: certificates and chains of certificates.

mod certificate;
mod chain;
mod hostname;
mod names;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use muster_engine::prelude::*;
use muster_engine::stack::on_stack;
use x509_parser::pem::Pem;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use self::hostname::Host;

/// Maximum length of the certificates, in bytes of text, and their maximum number.
const MAX: usize = 262_144;
const MAX_CERTIFICATES: usize = 20;
/// Stack for the parser, which recurses into nested names.
const STACK: usize = 8 * 1_024 * 1_024;
/// Seconds of a day.
const DAY: i64 = 86_400;
/// Days left below which a renewal is due.
const SOON: i64 = 30;

/// Input of the engine.
#[derive(Debug, Input)]
pub struct Input {
    certificate: String,
    hostname: Option<String>,
    now: Option<Timestamp>,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    certificates: Vec<Certificate>,
    hostname_match: Option<bool>,
    days_left_d: Option<i64>,
    problems: Vec<Problem>,
}

#[derive(Debug, Output)]
struct Certificate {
    subject: String,
    issuer: String,
    serial: String,
    not_before: Timestamp,
    not_after: Timestamp,
    key: String,
    signature_algorithm: String,
    san: Vec<String>,
    sha256: String,
    is_ca: bool,
}

#[derive(Debug, Output)]
struct Problem {
    code: &'static str,
    severity: Severity,
    message: String,
}

/// Problems that were found so far, and the number of the certificate that is looked at, from 1.
#[derive(Debug, Default)]
struct Problems {
    found: Vec<Problem>,
    of: usize,
}

impl Problems {
    fn add(&mut self, severity: Severity, code: &'static str, message: impl AsRef<str>) {
        let message = format!("certificate {}: {}", self.of, message.as_ref());
        self.found.push(Problem { code, severity, message });
    }
}

/// Reads certificates, the leaf first, and checks each of them, the chain and the name of the host. Nothing is trusted:
/// whether the last issuer is one to be trusted is not decided here.
///
/// # Errors
/// `Invalid` (no certificate can be read, the host is no name), `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.certificate.len() > MAX {
        return Err(Failure::too_large(format!("certificates may have {MAX} bytes")));
    }
    let host = input.hostname.as_deref().map(Host::read).transpose()?;
    let ders = ders(&input.certificate)?;
    let fallen = || Failure::invalid(&["certificate"], "cannot be parsed");
    let output = on_stack(cx, STACK, fallen, || inspect(&ders, host.as_ref(), input.now))?;
    if input.now.is_none() {
        cx.warn("clock: without `now` the days that are left are not known, and no validity is checked");
    }
    Ok(output)
}

/// The certificates as DER: of each PEM block, or of one or several in Base64.
fn ders(text: &str) -> Result<Vec<Vec<u8>>, Failure> {
    let invalid = |why: &str| Failure::invalid(&["certificate"], why.to_owned());
    let mut ders = Vec::new();
    if text.contains("-----BEGIN") {
        for (at, pem) in Pem::iter_from_buffer(text.as_bytes()).enumerate() {
            let pem = pem.map_err(|_| invalid(&format!("block {} is no PEM (RFC 7468)", at + 1)))?;
            if pem.label.contains("PRIVATE KEY") {
                return Err(invalid("holds a private key: send certificates only, and replace that key"));
            }
            if matches!(pem.label.as_str(), "CERTIFICATE" | "X509 CERTIFICATE") {
                ders.push(pem.contents);
            }
        }
    } else {
        let packed: String = text.split_ascii_whitespace().collect();
        let bytes = STANDARD.decode(packed).map_err(|_| invalid("must be PEM or DER in Base64"))?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() && ders.len() <= MAX_CERTIFICATES {
            let (after, _) = X509Certificate::from_der(rest).map_err(|error| unreadable(ders.len(), &error))?;
            let (der, _) = rest.split_at(rest.len() - after.len());
            ders.push(der.to_vec());
            rest = after;
        }
    }
    match ders.len() {
        0 => Err(invalid("has no certificate")),
        1..=MAX_CERTIFICATES => Ok(ders),
        _ => Err(Failure::too_large(format!("at most {MAX_CERTIFICATES} certificates are allowed"))),
    }
}

fn unreadable(at: usize, error: &impl std::fmt::Display) -> Failure {
    Failure::invalid(&["certificate"], format!("certificate {} is no X.509 in DER: {error}", at + 1))
}

fn inspect(ders: &[Vec<u8>], host: Option<&Host>, now: Option<Timestamp>) -> Result<Output, Failure> {
    let mut read = Vec::with_capacity(ders.len());
    for (at, der) in ders.iter().enumerate() {
        let (rest, certificate) = X509Certificate::from_der(der).map_err(|error| unreadable(at, &error))?;
        if !rest.is_empty() {
            return Err(unreadable(at, &"bytes follow it"));
        }
        read.push(certificate);
    }
    let mut problems = Problems::default();
    let mut certificates = Vec::with_capacity(read.len());
    for (at, certificate) in read.iter().enumerate() {
        problems.of = at + 1;
        certificate::check(certificate, at == 0, now, &mut problems);
        certificates.push(described(certificate, at)?);
    }
    chain::check(&read, &mut problems);
    problems.of = 1;
    let leaf = read.first();
    let matched = host.zip(leaf).map(|(host, leaf)| host.matches(leaf, &mut problems));
    let days = leaf.zip(now).map(|(leaf, now)| {
        let left = leaf.validity().not_after.timestamp() - now.as_second();
        left.div_euclid(DAY)
    });
    problems.found.sort_by_key(|problem| std::cmp::Reverse(problem.severity));
    Ok(Output { certificates, hostname_match: matched, days_left_d: days, problems: problems.found })
}

fn described(certificate: &X509Certificate<'_>, at: usize) -> Result<Certificate, Failure> {
    let time = |time: i64| Timestamp::from_second(time).map_err(|error| unreadable(at, &error));
    let validity = certificate.validity();
    Ok(Certificate {
        subject: certificate.subject().to_string(),
        issuer: certificate.issuer().to_string(),
        serial: certificate.raw_serial_as_string(),
        not_before: time(validity.not_before.timestamp())?,
        not_after: time(validity.not_after.timestamp())?,
        key: names::key(certificate.public_key()),
        signature_algorithm: names::algorithm(&certificate.signature_algorithm.algorithm.to_id_string()),
        san: names::alternatives(certificate),
        sha256: names::digest(certificate.as_raw()),
        is_ca: certificate.is_ca(),
    })
}
