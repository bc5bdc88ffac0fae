//! Names of keys, algorithms and subjects.

use std::net::{Ipv4Addr, Ipv6Addr};

use sha2_11::{Digest as _, Sha256};
use x509_parser::prelude::{GeneralName, SubjectPublicKeyInfo, X509Certificate};
use x509_parser::public_key::PublicKey;

/// Object identifiers of signatures (RFC 3279, 4055, 5758, 8410, 9881) with their names.
const ALGORITHMS: &[(&str, &str)] = &[
    ("1.2.840.113549.1.1.2", "md2WithRSAEncryption"),
    ("1.2.840.113549.1.1.3", "md4WithRSAEncryption"),
    ("1.2.840.113549.1.1.4", "md5WithRSAEncryption"),
    ("1.2.840.113549.1.1.5", "sha1WithRSAEncryption"),
    ("1.3.14.3.2.29", "sha1WithRSAEncryption"),
    ("1.2.840.113549.1.1.10", "RSASSA-PSS"),
    ("1.2.840.113549.1.1.11", "sha256WithRSAEncryption"),
    ("1.2.840.113549.1.1.12", "sha384WithRSAEncryption"),
    ("1.2.840.113549.1.1.13", "sha512WithRSAEncryption"),
    ("1.2.840.113549.1.1.14", "sha224WithRSAEncryption"),
    ("1.2.840.10040.4.3", "dsa-with-sha1"),
    ("2.16.840.1.101.3.4.3.2", "dsa-with-sha256"),
    ("1.2.840.10045.4.1", "ecdsa-with-SHA1"),
    ("1.2.840.10045.4.3.1", "ecdsa-with-SHA224"),
    ("1.2.840.10045.4.3.2", "ecdsa-with-SHA256"),
    ("1.2.840.10045.4.3.3", "ecdsa-with-SHA384"),
    ("1.2.840.10045.4.3.4", "ecdsa-with-SHA512"),
    ("1.3.101.112", "Ed25519"),
    ("1.3.101.113", "Ed448"),
    ("2.16.840.1.101.3.4.3.17", "ML-DSA-44"),
    ("2.16.840.1.101.3.4.3.18", "ML-DSA-65"),
    ("2.16.840.1.101.3.4.3.19", "ML-DSA-87"),
];

/// Curves with their names.
const CURVES: &[(&str, &str)] = &[
    ("1.2.840.10045.3.1.1", "P-192"),
    ("1.3.132.0.33", "P-224"),
    ("1.2.840.10045.3.1.7", "P-256"),
    ("1.3.132.0.34", "P-384"),
    ("1.3.132.0.35", "P-521"),
    ("1.3.132.0.10", "secp256k1"),
    ("1.3.36.3.3.2.8.1.1.7", "brainpoolP256r1"),
    ("1.3.36.3.3.2.8.1.1.11", "brainpoolP384r1"),
    ("1.3.36.3.3.2.8.1.1.13", "brainpoolP512r1"),
];

fn named(table: &[(&str, &str)], oid: &str) -> String {
    table.iter().find(|(id, _)| *id == oid).map_or_else(|| oid.to_owned(), |(_, name)| (*name).to_owned())
}

/// Name of a signature algorithm; its identifier if it has none here.
pub(super) fn algorithm(oid: &str) -> String {
    named(ALGORITHMS, oid)
}

/// Kind and size of a key, such as `RSA 2048`, `EC P-256` or `Ed25519`.
pub(super) fn key(info: &SubjectPublicKeyInfo<'_>) -> String {
    let oid = info.algorithm.algorithm.to_id_string();
    match oid.as_str() {
        "1.2.840.10045.2.1" => format!("EC {}", curve(info).unwrap_or_else(|| "with explicit parameters".to_owned())),
        "1.2.840.10040.4.1" => "DSA".to_owned(),
        _ => rsa_bits(info).map_or_else(|| algorithm(&oid), |bits| format!("RSA {bits}")),
    }
}

/// Name of the curve of an EC key.
pub(super) fn curve(info: &SubjectPublicKeyInfo<'_>) -> Option<String> {
    let oid = info.algorithm.parameters.as_ref()?.as_oid().ok()?;
    Some(named(CURVES, &oid.to_id_string()))
}

/// Bits of an RSA key's modulus.
pub(super) fn rsa_bits(info: &SubjectPublicKeyInfo<'_>) -> Option<usize> {
    let Ok(PublicKey::RSA(key)) = info.parsed() else { return None };
    let zeros = key.modulus.iter().take_while(|byte| **byte == 0).count();
    let first = key.modulus.get(zeros)?;
    Some((key.modulus.len() - zeros) * 8 - first.leading_zeros() as usize)
}

/// Alternative names of the subject: DNS names, addresses, mailboxes and URIs as they are.
pub(super) fn alternatives(certificate: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(names)) = certificate.subject_alternative_name() else { return Vec::new() };
    names.value.general_names.iter().filter_map(alternative).collect()
}

fn alternative(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(text) | GeneralName::RFC822Name(text) | GeneralName::URI(text) => Some((*text).to_owned()),
        GeneralName::IPAddress(bytes) => address(bytes),
        GeneralName::DirectoryName(name) => Some(name.to_string()),
        _ => None,
    }
}

/// An address of 4 or 16 bytes.
pub(super) fn address(bytes: &[u8]) -> Option<String> {
    let v4 = <[u8; 4]>::try_from(bytes).map(|bytes| Ipv4Addr::from(bytes).to_string());
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(|bytes| Ipv6Addr::from(bytes).to_string())).ok()
}

/// SHA-256 in hexadecimal digits.
pub(super) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
