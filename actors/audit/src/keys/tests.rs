use std::fs;
use std::os::unix::fs::PermissionsExt;

use muster_core::Millis;
use muster_tlog::{Checkpoint, Hash, SignatureType, VerifierKey};

use super::*;

const NOW: Millis = Millis(1_795_000_000_000);
const ORIGIN: &str = "muster.example.org/audit/1";

fn later(days: u64) -> Millis {
    Millis(NOW.0 + days * 24 * 60 * 60 * 1000)
}

fn opened() -> (tempfile::TempDir, LogKeys) {
    let home = tempfile::tempdir().unwrap();
    let keys = LogKeys::open(&home.path().join("signing"), NOW).unwrap();
    assert!(keys.created);
    (home, keys.keys)
}

#[test]
fn the_keys_are_made_once_and_only_their_owner_can_read_them() {
    let (home, keys) = opened();
    let folder = home.path().join("signing");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&folder.join("log-keys.json"))), (0o700, 0o600));
    let again = LogKeys::open(&folder, later(1)).unwrap();
    assert!(!again.created);
    assert_eq!(again.keys.instance(), keys.instance());
    assert_eq!(again.keys.vkeys(ORIGIN).unwrap(), keys.vkeys(ORIGIN).unwrap());
    assert_eq!(again.keys.mac("d", b"m"), keys.mac("d", b"m"));
    let (_home, other) = opened();
    assert_ne!(other.vkeys(ORIGIN).unwrap(), keys.vkeys(ORIGIN).unwrap());
    assert_ne!(other.mac("d", b"m"), keys.mac("d", b"m"));
}

#[test]
fn a_file_that_others_can_read_or_that_is_damaged_is_refused() {
    let (home, _) = opened();
    let folder = home.path().join("signing");
    let file = folder.join("log-keys.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(LogKeys::open(&folder, NOW), Err(LogKeyError::Accessible(_))));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    for (part, with) in [("\"version\": 1", "\"version\": 2"), ("\"seed\"", "\"sead\""), ("signs_since", "signs_until")]
    {
        fs::write(&file, text.replace(part, with)).unwrap();
        assert!(matches!(LogKeys::open(&folder, NOW), Err(LogKeyError::Damaged { .. })), "{with}");
    }
    let other = LogKey { seed: Some([7; 32]), ..LogKey::default() }.with_public().unwrap();
    let public = text.split("\"public\": \"").nth(1).unwrap().split('"').next().unwrap();
    use base64::Engine;
    let swapped = text.replace(public, &base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(other.public));
    fs::write(&file, swapped).unwrap();
    assert!(matches!(LogKeys::open(&folder, NOW), Err(LogKeyError::Damaged { .. })));
}

#[test]
fn a_rotated_key_signs_beside_its_successor_for_thirty_days() {
    let (home, keys) = opened();
    let signed_by = |keys: &LogKeys, now| {
        let signers = keys.signers(ORIGIN, now).unwrap();
        let note = Checkpoint::new(ORIGIN.into(), 0, Hash::of_empty_tree()).sign(&signers.iter().collect::<Vec<_>>());
        let vkeys = keys.vkeys(ORIGIN).unwrap();
        Checkpoint::open(note.unwrap().to_string().as_bytes(), ORIGIN, &vkeys).unwrap().signatures.len()
    };
    let first = keys.vkeys(ORIGIN).unwrap();
    let public = keys.rotate(NOW).unwrap();
    assert_eq!(keys.pending(), Some(public));
    assert!(matches!(keys.rotate(NOW), Err(LogKeyError::Pending)));
    assert_eq!(signed_by(&keys, NOW), 1, "an announced key does not sign");
    assert_eq!(keys.vkeys(ORIGIN).unwrap(), first);

    let other_process = LogKeys::read(&home.path().join("signing")).unwrap().unwrap();
    keys.activate(later(1)).unwrap();
    assert_eq!((keys.pending(), other_process.pending()), (None, Some(public)));
    other_process.reload().unwrap();
    assert_eq!(other_process.pending(), None);
    assert_eq!((signed_by(&keys, later(1)), signed_by(&keys, later(30))), (2, 2));
    assert_eq!(signed_by(&keys, later(31)), 1);
    let vkeys = keys.vkeys(ORIGIN).unwrap();
    assert_eq!(vkeys, [VerifierKey::new(ORIGIN, SignatureType::Ed25519, &public).unwrap(), first[0].clone()]);

    keys.rotate(later(31)).unwrap();
    let text = fs::read_to_string(home.path().join("signing/log-keys.json")).unwrap();
    assert_eq!(text.matches("\"seed\"").count(), 2, "the private part of an ended key is gone");
    assert_eq!(keys.vkeys(ORIGIN).unwrap(), vkeys, "it still verifies");
}

#[test]
fn too_many_keys_do_not_sign_at_once() {
    let (_home, keys) = opened();
    for _ in 1..4 {
        keys.rotate(NOW).unwrap();
        keys.activate(NOW).unwrap();
    }
    assert!(matches!(keys.rotate(NOW), Err(LogKeyError::TooMany(4))));
}

#[test]
fn signatures_and_codes_are_of_one_domain() {
    let (_home, keys) = opened();
    let signed = keys.sign("muster.backup.v1", b"bytes", NOW).unwrap();
    let vkey = VerifierKey::new(ORIGIN, SignatureType::Ed25519, &signed.public).unwrap();
    assert_eq!(keys.vkeys(ORIGIN).unwrap(), std::slice::from_ref(&vkey));
    assert!(vkey.verify_bytes("muster.backup.v1", b"bytes", &signed.signature));
    assert!(!vkey.verify_bytes("muster.backup.v2", b"bytes", &signed.signature));
    assert!(!vkey.verify_bytes("muster.backup.v1", b"bytez", &signed.signature));
    let code = keys.mac("muster.nonce", b"1.ins.usr");
    assert!(keys.verify_mac("muster.nonce", b"1.ins.usr", &code[..16]));
    assert!(!keys.verify_mac("muster.nonce", b"1.ins.usr", &code[..15]), "too short");
    assert!(!keys.verify_mac("muster.other", b"1.ins.usr", &code));
    assert!(!keys.verify_mac("muster.nonce", b"1.ins.us", &code));
}
