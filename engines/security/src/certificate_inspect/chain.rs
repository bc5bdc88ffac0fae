//! Checks along a chain: order, signatures, the authority of each issuer, name constraints (RFC 5280, 6.1).

use muster_engine::prelude::*;
use x509_parser::error::X509Error;
use x509_parser::prelude::{GeneralName, NameConstraints, X509Certificate};

use super::{Problems, names};

/// Bits of RSA keys that the verifier takes.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2_048..=8_192;

pub(super) fn check(chain: &[X509Certificate<'_>], problems: &mut Problems) {
    for (at, pair) in chain.windows(2).enumerate() {
        let [certificate, issuer] = pair else { continue };
        problems.of = at + 1;
        if certificate.issuer().as_raw() != issuer.subject().as_raw() {
            let elsewhere = chain.iter().position(|other| other.subject().as_raw() == certificate.issuer().as_raw());
            let (code, why) = match elsewhere {
                Some(found) => {
                    ("chain-order", format!("is followed by another than its issuer, certificate {}", found + 1))
                }
                None => ("chain-broken", "is not followed by its issuer, which is not in the chain".to_owned()),
            };
            problems.add(Severity::Medium, code, why);
            continue;
        }
        signed(certificate, issuer, problems);
        problems.of = at + 2;
        entitled(issuer, at, problems);
        if let Some(leaf) = chain.first()
            && let Ok(Some(constraints)) = issuer.name_constraints()
        {
            constrained(leaf, constraints.value, problems);
        }
    }
    let Some(last) = chain.last() else { return };
    problems.of = chain.len();
    if last.issuer().as_raw() == last.subject().as_raw() {
        signed(last, last, problems);
        if chain.len() == 1 && !last.is_ca() {
            let why = "is signed by itself: nobody vouches for it, clients must know it beforehand";
            problems.add(Severity::Medium, "self-signed", why);
        }
    } else {
        let why = "its issuer is not in the chain: clients must have it";
        problems.add(Severity::Info, "issuer-absent", why);
    }
}

fn signed(certificate: &X509Certificate<'_>, issuer: &X509Certificate<'_>, problems: &mut Problems) {
    let verifiable = names::rsa_bits(issuer.public_key()).is_none_or(|bits| RSA_BITS.contains(&bits));
    match certificate.verify_signature(Some(issuer.public_key())) {
        Ok(()) => {}
        Err(X509Error::SignatureVerificationError) if verifiable => {
            problems.add(Severity::Critical, "signature-invalid", "the signature is not that of its issuer's key");
        }
        Err(_) => {
            let why = "the signature was not checked: the verifier does not have its algorithm or key size";
            problems.add(Severity::Low, "signature-unchecked", why);
        }
    }
}

/// Whether an issuer may be one, with `below` authorities between it and the leaf.
fn entitled(issuer: &X509Certificate<'_>, below: usize, problems: &mut Problems) {
    if !issuer.is_ca() {
        let why = "signs another certificate and is not of an authority (RFC 5280, 4.2.1.9)";
        problems.add(Severity::Critical, "issuer-not-ca", why);
        return;
    }
    let constraints = issuer.basic_constraints().ok().flatten();
    let most = constraints.and_then(|constraints| constraints.value.path_len_constraint);
    if most.is_some_and(|most| below > most as usize) {
        let why = "has more authorities below it than its path length allows (RFC 5280, 4.2.1.9)";
        problems.add(Severity::High, "path-too-long", why);
    }
}

/// Compares the leaf's DNS names with the constraints of an authority (RFC 5280, 4.2.1.10).
fn constrained(leaf: &X509Certificate<'_>, constraints: &NameConstraints<'_>, problems: &mut Problems) {
    let bases = |trees: &Option<Vec<x509_parser::prelude::GeneralSubtree<'_>>>| -> Vec<String> {
        let names = trees.iter().flatten().filter_map(|tree| match tree.base {
            GeneralName::DNSName(name) => Some(name.trim_start_matches('.').to_ascii_lowercase()),
            _ => None,
        });
        names.collect()
    };
    let within = |name: &str, base: &String| {
        base.is_empty() || name.strip_suffix(base.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let (permitted, excluded) = (bases(&constraints.permitted_subtrees), bases(&constraints.excluded_subtrees));
    let Ok(Some(alternatives)) = leaf.subject_alternative_name() else { return };
    for name in &alternatives.value.general_names {
        let GeneralName::DNSName(name) = name else { continue };
        let name = name.to_ascii_lowercase();
        let outside = !permitted.is_empty() && !permitted.iter().any(|base| within(&name, base));
        if outside || excluded.iter().any(|base| within(&name, base)) {
            let why = "does not permit a name of the first certificate (RFC 5280, 4.2.1.10)";
            problems.add(Severity::Critical, "name-constraint", why);
            return;
        }
    }
}
