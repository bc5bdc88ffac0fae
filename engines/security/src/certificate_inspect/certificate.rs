//! Checks of one certificate: RFC 5280, and the CA/Browser Forum's Baseline Requirements ("BR", version 2.1.x with ballot
//! SC-081v3).

use std::collections::BTreeSet;

use muster_engine::prelude::*;
use x509_parser::prelude::{ParsedExtension, X509Certificate};
use x509_parser::public_key::PublicKey;

use super::hostname::is_of;
use super::{DAY, Problems, SOON, names};

/// Days that a certificate of a server may be valid, by the second from which it is issued: BR 6.3.2, table with ballots
/// 193, SC-031 and SC-081v3. A certificate is valid also in the second of its end.
const VALIDITY: &[(i64, i64)] = &[
    (1_519_862_400, 825), // 2018-03-01
    (1_598_918_400, 398), // 2020-09-01
    (1_773_532_800, 200), // 2026-03-15
    (1_805_068_800, 100), // 2027-03-15
    (1_868_227_200, 47),  // 2029-03-15
];

/// Bytes of a serial number: BR 7.1 asks for 64 bits of a random generator, RFC 5280, 4.1.2.2 for at most 20 bytes.
const SERIAL: std::ops::RangeInclusive<usize> = 8..=20;

pub(super) fn check(certificate: &X509Certificate<'_>, leaf: bool, now: Option<Timestamp>, problems: &mut Problems) {
    shape(certificate, problems);
    key(certificate, problems);
    signature(certificate, problems);
    validity(certificate, now, problems);
    if certificate.is_ca() {
        authority(certificate, leaf, problems);
    } else {
        subscriber(certificate, problems);
    }
}

fn shape(certificate: &X509Certificate<'_>, problems: &mut Problems) {
    if certificate.version().0 != 2 {
        problems.add(Severity::Medium, "version", "is not of version 3 (RFC 5280, 4.1.2.1)");
    }
    let serial = certificate.raw_serial();
    let digits = serial.iter().skip_while(|byte| **byte == 0).count();
    if digits == 0 || serial.first().is_some_and(|byte| byte & 0x80 != 0) || serial.len() > *SERIAL.end() {
        problems.add(
            Severity::Medium,
            "serial-invalid",
            "the serial number must be positive, of at most 20 bytes (RFC 5280, 4.1.2.2)",
        );
    } else if serial.len() < *SERIAL.start() {
        let why = "the serial number has less than the 64 bits of a random generator (BR 7.1)";
        problems.add(Severity::Low, "serial-short", why);
    }
    if certificate.signature_algorithm != certificate.tbs_certificate.signature {
        let why = "names two signature algorithms (RFC 5280, 4.1.1.2)";
        problems.add(Severity::High, "signature-algorithm-mismatch", why);
    }
    if certificate.signature_value.unused_bits != 0 {
        problems.add(Severity::High, "signature-malformed", "the signature is no whole number of bytes");
    }
    let mut seen = BTreeSet::new();
    for extension in certificate.extensions() {
        let oid = extension.oid.to_id_string();
        match extension.parsed_extension() {
            ParsedExtension::UnsupportedExtension { .. } if extension.critical => problems.add(
                Severity::High,
                "critical-extension-unknown",
                format!("the critical extension {oid} is not known: it must be rejected (RFC 5280, 4.2)"),
            ),
            ParsedExtension::ParseError { .. } => {
                problems.add(Severity::High, "extension-malformed", format!("the extension {oid} cannot be read"));
            }
            _ => {}
        }
        if !seen.insert(oid.clone()) {
            let why = format!("the extension {oid} occurs twice (RFC 5280, 4.2)");
            problems.add(Severity::High, "extension-repeated", why);
        }
    }
}

fn key(certificate: &X509Certificate<'_>, problems: &mut Problems) {
    let info = certificate.public_key();
    let key = names::key(info);
    if let Some(bits) = names::rsa_bits(info) {
        if bits < 2_048 {
            problems.add(
                if bits < 1_024 { Severity::Critical } else { Severity::High },
                "key-weak",
                format!("an RSA key of {bits} bits; 2048 or more are required (BR 6.1.5)"),
            );
        }
        if let Ok(PublicKey::RSA(rsa)) = info.parsed() {
            let exponent = rsa.try_exponent();
            if rsa.exponent.last().is_some_and(|byte| byte % 2 == 0) || exponent.is_ok_and(|exponent| exponent < 3) {
                let why = "the RSA exponent must be odd, and 3 or more (BR 6.1.6)";
                problems.add(Severity::High, "key-exponent", why);
            }
        }
    } else if key == "DSA" {
        problems.add(Severity::High, "key-weak", "DSA keys are not permitted (BR 6.1.5)");
    } else if !matches!(key.as_str(), "EC P-256" | "EC P-384" | "EC P-521") {
        let why = format!("browsers take no {key} keys: RSA, P-256, P-384 and P-521 are permitted (BR 6.1.5)");
        problems.add(Severity::Low, "key-not-permitted", why);
    }
}

fn signature(certificate: &X509Certificate<'_>, problems: &mut Problems) {
    let algorithm = names::algorithm(&certificate.signature_algorithm.algorithm.to_id_string());
    // Nobody relies on what a root says of itself.
    let root = certificate.is_ca() && certificate.subject() == certificate.issuer();
    let low = algorithm.to_ascii_lowercase();
    let severity = match () {
        () if root => Severity::Info,
        () if low.starts_with("md") => Severity::Critical,
        () => Severity::High,
    };
    if low.starts_with("md") || low.contains("sha1") {
        let why = format!("signed with {algorithm}, whose collisions can be computed (BR 7.1.3.2)");
        problems.add(severity, "signature-weak", why);
    }
}

fn validity(certificate: &X509Certificate<'_>, now: Option<Timestamp>, problems: &mut Problems) {
    let (from, until) = (certificate.validity().not_before.timestamp(), certificate.validity().not_after.timestamp());
    if until < from {
        problems.add(Severity::High, "validity-reversed", "ends before it begins");
    }
    let Some(now) = now.map(Timestamp::as_second) else { return };
    let left = (until - now).div_euclid(DAY);
    if now < from {
        problems.add(Severity::High, "not-yet-valid", "is not valid yet");
    } else if now > until {
        problems.add(Severity::Critical, "expired", format!("expired {} days ago", (now - until) / DAY));
    } else if left < SOON {
        problems.add(Severity::Low, "expires-soon", format!("expires in {left} days"));
    }
}

fn authority(certificate: &X509Certificate<'_>, leaf: bool, problems: &mut Problems) {
    if leaf {
        problems.add(Severity::Medium, "leaf-is-ca", "is of an authority, and not of a server");
    }
    if certificate.basic_constraints().ok().flatten().is_some_and(|constraints| !constraints.critical) {
        let why = "the basic constraints of an authority must be critical (RFC 5280, 4.2.1.9)";
        problems.add(Severity::Low, "constraints-not-critical", why);
    }
    if certificate.key_usage().ok().flatten().is_none_or(|usage| !usage.value.key_cert_sign()) {
        let why =
            "the key of an authority may not sign certificates: the usage keyCertSign is absent (RFC 5280, 4.2.1.3)";
        problems.add(Severity::High, "key-usage", why);
    }
}

fn subscriber(certificate: &X509Certificate<'_>, problems: &mut Problems) {
    let validity = certificate.validity();
    let (from, until) = (validity.not_before.timestamp(), validity.not_after.timestamp());
    let allowed = VALIDITY.iter().rev().find(|(since, _)| from >= *since).map(|(_, days)| *days);
    // The end is included: a span of N days has N * 86,400 seconds, both ends counted.
    if let Some(days) = allowed.filter(|days| until - from + 1 > days * DAY) {
        let span = (until - from + 1).div_euclid(DAY);
        let why = format!("is valid for {span} days; {days} are allowed by its date of issue (BR 6.3.2)");
        problems.add(Severity::Medium, "validity-too-long", why);
    }
    if certificate.key_usage().ok().flatten().is_some_and(|usage| usage.value.key_cert_sign()) {
        let why = "the usage keyCertSign is for authorities only (RFC 5280, 4.2.1.3)";
        problems.add(Severity::Medium, "key-usage", why);
    }
    let usage = certificate.extended_key_usage().ok().flatten();
    if usage.is_some_and(|usage| !usage.value.server_auth && !usage.value.any) {
        problems.add(Severity::Medium, "not-for-servers", "its extended usage is not serverAuth (BR 7.1.2.7.10)");
    }
    let alternatives = names::alternatives(certificate);
    if alternatives.is_empty() {
        let why = "has no alternative names, and its common name does not count (RFC 9525, 2; BR 7.1.2.7.12)";
        problems.add(Severity::High, "san-missing", why);
    }
    for name in certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok()) {
        if !alternatives.is_empty() && !alternatives.iter().any(|alternative| alternative.eq_ignore_ascii_case(name)) {
            let why = "the common name is none of the alternative names (BR 7.1.4.3)";
            problems.add(Severity::Low, "cn-not-in-san", why);
        }
    }
    for name in alternatives.iter().filter(|name| name.contains('*')) {
        wildcard(name, problems);
    }
}

fn wildcard(name: &str, problems: &mut Problems) {
    let rest = name.strip_prefix("*.").filter(|rest| !rest.contains('*'));
    let Some(rest) = rest else {
        let why = "`*` must be the whole first label (RFC 9525, 6.3): the name matches nothing";
        problems.add(Severity::Medium, "wildcard-partial", why);
        return;
    };
    let suffix = psl::suffix(rest.as_bytes());
    if suffix.is_some_and(|suffix| is_of(rest, &String::from_utf8_lossy(suffix.as_bytes()))) {
        let why = format!("the name {name} is of all owners below a public suffix (BR 3.2.2.6)");
        problems.add(Severity::High, "wildcard-public-suffix", why);
    }
}
