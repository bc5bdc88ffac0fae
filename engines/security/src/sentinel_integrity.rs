//! q152: file and firmware integrity.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, VerifyingKey};
use muster_engine::prelude::*;
use serde_json::json;
use sha2_11::{Digest, Sha256};

use crate::verdict::{Verdict, finding, listed, score, verdict};

/// Maximum number of files and of entries.
const MAX_FILES: usize = 50_000;
/// Bits per byte from which content looks encrypted or compressed, and the least size for which that means something.
const RANDOM: f64 = 7.9;
const LEAST_RANDOM: usize = 4_096;

#[derive(Debug, Input)]
pub struct Input {
    files: Vec<File>,
    manifest: Vec<Entry>,
    signature: Option<Signed>,
}

#[derive(Debug, Input)]
struct File {
    path: String,
    sha256: Option<String>,
    content: Option<Bytes>,
    version: Option<String>,
    mode: Option<String>,
}

#[derive(Debug, Input)]
struct Entry {
    path: String,
    sha256: String,
    version: Option<String>,
    mode: Option<String>,
}

#[derive(Debug, Input)]
struct Signed {
    public_key: String,
    signature: String,
}

#[derive(Debug, Output)]
pub struct Output {
    verdict: Verdict,
    score: f64,
    findings: Vec<Finding>,
    changed: Vec<String>,
    missing: Vec<String>,
    added: Vec<String>,
    rollback: Vec<String>,
    signature_valid: Option<bool>,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    for (name, count) in [("files", input.files.len()), ("manifest", input.manifest.len())] {
        if count > MAX_FILES {
            return Err(Failure::too_large(format!(
                "{name} has {count} items, at most {MAX_FILES} are allowed: compare folder by folder"
            )));
        }
    }
    let mut wanted: BTreeMap<&str, &Entry> = BTreeMap::new();
    for (at, entry) in input.manifest.iter().enumerate() {
        if !is_digest(&entry.sha256) {
            return Err(Failure::invalid(&["manifest", &at.to_string(), "sha256"], "must have 64 hexadecimal digits"));
        }
        if wanted.insert(&entry.path, entry).is_some() {
            return Err(Failure::invalid(&["manifest", &at.to_string(), "path"], "stands in the manifest twice"));
        }
    }
    let mut findings = Vec::new();
    let signature_valid = match &input.signature {
        Some(signed) => {
            let valid = verified(signed, &input.manifest)?;
            if !valid {
                findings.push(finding(
                    "signature-invalid",
                    Severity::Critical,
                    "the signature is not that of this manifest: trust nothing in it",
                    None,
                ));
            }
            Some(valid)
        }
        None => {
            findings.push(finding(
                "manifest-unsigned",
                Severity::Low,
                "the manifest is not signed: whoever changed files may have changed it too",
                None,
            ));
            None
        }
    };
    let (mut changed, mut added, mut rollback) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut seen = BTreeSet::new();
    for (at, file) in input.files.iter().enumerate() {
        if !seen.insert(file.path.as_str()) {
            return Err(Failure::invalid(&["files", &at.to_string(), "path"], "stands in the list twice"));
        }
        if file.sha256.as_deref().is_some_and(|digest| !is_digest(digest)) {
            return Err(Failure::invalid(&["files", &at.to_string(), "sha256"], "must have 64 hexadecimal digits"));
        }
        let location = || Some(shown(&file.path));
        if is_unsafe(&file.path) {
            findings.push(finding(
                "unsafe-path",
                Severity::High,
                "the path leaves the folder: do not write it",
                location(),
            ));
        }
        let computed = file.content.as_ref().map(|content| hex(&Sha256::digest(&content.0)));
        if let Some((computed, stated)) = computed
            .as_ref()
            .zip(file.sha256.as_ref())
            .filter(|(computed, stated)| !computed.eq_ignore_ascii_case(stated))
        {
            let message = format!("the content has the digest {}…, not the stated {}…", start(computed), start(stated));
            findings.push(finding("digest-mismatch", Severity::Critical, message, location()));
        }
        let Some(entry) = wanted.get(file.path.as_str()) else {
            added.insert(file.path.clone());
            findings.push(finding(
                "file-added",
                Severity::Medium,
                "is not in the manifest: remove it, or sign a new manifest",
                location(),
            ));
            continue;
        };
        let differs = match computed.as_ref().or(file.sha256.as_ref()) {
            Some(digest) => !digest.eq_ignore_ascii_case(&entry.sha256),
            None => {
                findings.push(finding("not-checked", Severity::Low, "has neither digest nor content", location()));
                false
            }
        };
        if differs {
            changed.insert(file.path.clone());
            findings.push(finding(
                "file-changed",
                Severity::Critical,
                "is not the signed content: restore it",
                location(),
            ));
            let random = file
                .content
                .as_ref()
                .is_some_and(|content| content.0.len() >= LEAST_RANDOM && entropy(&content.0) >= RANDOM);
            if random {
                findings.push(finding(
                    "high-entropy",
                    Severity::High,
                    "the changed content looks encrypted or packed",
                    location(),
                ));
            }
        }
        let versions = file.version.as_deref().zip(entry.version.as_deref()).filter(|(now, then)| older(now, then));
        if let Some((now, then)) = versions {
            rollback.insert(file.path.clone());
            let message = format!(
                "has version {}, the manifest {}: an old version may have known holes",
                shown(now),
                shown(then)
            );
            findings.push(finding("rollback", Severity::High, message, location()));
        }
        findings.extend(modes(file, entry));
    }
    let missing: BTreeSet<String> =
        wanted.keys().filter(|path| !seen.contains(*path)).map(|path| (*path).to_owned()).collect();
    findings.extend(missing.iter().map(|path| {
        finding("file-missing", Severity::High, "is in the manifest and not among the files", Some(shown(path)))
    }));
    let (verdict, score) = (verdict(&findings), score(&findings));
    Ok(Output {
        verdict,
        score,
        findings: listed(findings, 500, cx),
        changed: changed.into_iter().collect(),
        missing: missing.into_iter().collect(),
        added: added.into_iter().collect(),
        rollback: rollback.into_iter().collect(),
        signature_valid,
    })
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn start(digest: &str) -> String {
    digest.chars().take(12).collect::<String>().to_lowercase()
}

fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(200).collect()
}

/// Whether a path is absolute or climbs out of its folder.
fn is_unsafe(path: &str) -> bool {
    let drive = path.as_bytes().get(1) == Some(&b':');
    path.starts_with(['/', '\\']) || drive || path.split(['/', '\\']).any(|part| part == "..") || path.contains('\0')
}

/// Ed25519 over the canonical JSON (RFC 8785) of the manifest, its entries sorted by path, without absent members and with
/// digests in lower case.
fn verified(signed: &Signed, manifest: &[Entry]) -> Result<bool, Failure> {
    let key = bytes::<32>("public_key", &signed.public_key)?;
    let signature = Signature::from_bytes(&bytes::<64>("signature", &signed.signature)?);
    let key = VerifyingKey::from_bytes(&key)
        .map_err(|_| Failure::invalid(&["signature", "public_key"], "is no point of the curve"))?;
    let mut entries: Vec<&Entry> = manifest.iter().collect();
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let entry = |entry: &&Entry| {
        let mut members = Map::new();
        members.insert("path".to_owned(), json!(entry.path));
        members.insert("sha256".to_owned(), json!(entry.sha256.to_ascii_lowercase()));
        for (name, value) in [("version", &entry.version), ("mode", &entry.mode)] {
            if let Some(value) = value {
                members.insert(name.to_owned(), json!(value));
            }
        }
        Value::Object(members)
    };
    let canonical = Value::Array(entries.iter().map(entry).collect());
    let text = serde_json_canonicalizer::to_vec(&canonical).map_err(Failure::internal)?;
    Ok(key.verify_strict(&text, &signature).is_ok())
}

/// Bytes in Base64 or hexadecimal digits.
fn bytes<const N: usize>(name: &str, text: &str) -> Result<[u8; N], Failure> {
    let text = text.trim();
    let from_hex = || {
        let pairs = (text.len() == 2 * N).then(|| text.as_bytes().chunks(2))?;
        pairs
            .map(|pair| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()))
            .collect::<Option<Vec<u8>>>()
    };
    let decoded = from_hex().or_else(|| STANDARD.decode(text).ok());
    let wrong = || Failure::invalid(&["signature", name], format!("must be {N} bytes in Base64 or hexadecimal digits"));
    decoded.and_then(|bytes| bytes.try_into().ok()).ok_or_else(wrong)
}

/// Compares the numbers of two versions from left to right; a version with a pre-release part is older than one without.
fn older(now: &str, then: &str) -> bool {
    let parts = |text: &str| {
        let text = text.trim().trim_start_matches(['v', 'V']);
        let text = text.split('+').next().unwrap_or_default().to_owned();
        let (core, pre) =
            text.split_once('-').map_or((text.as_str(), None), |(core, pre)| (core, Some(pre.to_owned())));
        let numbers: Option<Vec<u64>> = core.split('.').map(|number| number.parse().ok()).collect();
        numbers.map(|mut numbers| {
            while numbers.last() == Some(&0) {
                numbers.pop();
            }
            (numbers, pre.is_none(), pre.unwrap_or_default())
        })
    };
    match (parts(now), parts(then)) {
        (Some(now), Some(then)) => now < then,
        // Names that are no numbers cannot be ordered.
        _ => false,
    }
}

/// Rights that the manifest does not give.
fn modes(file: &File, entry: &Entry) -> Option<Finding> {
    let read = |mode: &Option<String>| u32::from_str_radix(mode.as_deref()?.trim().trim_start_matches("0o"), 8).ok();
    let (now, then) = (read(&file.mode)?, read(&entry.mode)?);
    let more = now & !then & 0o7777;
    let severity = match more {
        0 if now == then => return None,
        0 => Severity::Low,
        _ if more & 0o6000 != 0 => Severity::Critical,
        _ if more & 0o0022 != 0 => Severity::High,
        _ => Severity::Medium,
    };
    Some(finding(
        "mode-changed",
        severity,
        format!("has mode {now:04o}, the manifest {then:04o}"),
        Some(shown(&file.path)),
    ))
}

/// Shannon entropy in bits per byte.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u64; 256];
    for byte in bytes {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let all = bytes.len().max(1) as f64;
    counts.iter().filter(|count| **count > 0).map(|count| *count as f64 / all).map(|share| -share * share.log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (now, then) in [("1.0.0", "1.1.0"), ("1.9", "1.10"), ("2.0.0-rc.1", "2.0.0"), ("v1.2", "1.2.1")] {
            assert!(older(now, then) && !older(then, now), "{now} {then}");
        }
        assert!(!older("1.2", "1.2.0") && !older("1.2.0", "1.2") && !older("abc", "def"));
    }

    #[test]
    fn each_flipped_bit_of_a_signature_is_refused() {
        use ed25519_dalek::Signer;
        let key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
        let entry = || Entry { path: "a".to_owned(), sha256: "0".repeat(64), version: None, mode: None };
        let canonical = format!(r#"[{{"path":"a","sha256":"{}"}}]"#, "0".repeat(64));
        let good = key.sign(canonical.as_bytes()).to_bytes();
        let check = |signature: &[u8]| {
            let signed = Signed {
                public_key: STANDARD.encode(key.verifying_key().to_bytes()),
                signature: STANDARD.encode(signature),
            };
            verified(&signed, &[entry()]).unwrap()
        };
        assert!(check(&good));
        for bit in 0..512 {
            let mut flipped = good;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!check(&flipped), "bit {bit}");
        }
    }
}
