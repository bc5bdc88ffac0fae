use std::os::unix::fs::PermissionsExt;
use std::{fs, path::Path};

use proptest::prelude::*;

use super::{ISS, NOW, access};
use crate::{
    AccessClaims, KeyError, KeyRing, RotationPolicy, SigningKeyChange, TokenError, TokenRequirements, TokenType, mint,
    verify,
};

const POLICY: RotationPolicy = RotationPolicy { rotate_every: 10_000, publish_ahead: 1_000, longest_token: 5_000 };

fn open(folder: &Path, now: u64) -> KeyRing {
    KeyRing::open(folder.join("keys"), POLICY, now).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn keys_are_generated_once_and_readable_by_their_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let kid = open(folder.path(), NOW).set().current().kid().to_owned();
    assert_eq!(open(folder.path(), NOW + 5).set().current().kid(), kid);
    assert_eq!(mode(&folder.path().join("keys")), 0o700);
    assert_eq!(mode(&folder.path().join("keys/signing-keys.json")), 0o600);
    assert!(!folder.path().join("keys/signing-keys.json.new").exists());
}

#[test]
fn keys_accessible_to_others_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path(), NOW));
    let file = folder.path().join("keys/signing-keys.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let error = KeyRing::open(folder.path().join("keys"), POLICY, NOW).unwrap_err();
    assert!(matches!(&error, KeyError::Accessible(path) if *path == file));
    assert!(error.to_string().contains("chmod"));
}

#[test]
fn a_damaged_file_is_reported_and_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path(), NOW));
    let file = folder.path().join("keys/signing-keys.json");
    let good = fs::read_to_string(&file).unwrap();
    for bad in ["", "{}", &good[..good.len() / 2], &good.replace("\"version\": 1", "\"version\": 2")] {
        fs::write(&file, bad).unwrap();
        let error = KeyRing::open(folder.path().join("keys"), POLICY, NOW).unwrap_err();
        assert!(matches!(error, KeyError::Corrupt { .. }));
        assert_eq!(fs::read_to_string(&file).unwrap(), bad);
    }
}

#[test]
fn leftovers_of_a_crash_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let mut ring = open(folder.path(), NOW);
    let kid = ring.set().current().kid().to_owned();
    let left = folder.path().join("keys/signing-keys.json.new");
    fs::write(&left, "half a fi").unwrap();
    fs::set_permissions(&left, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(open(folder.path(), NOW).set().current().kid(), kid);
    ring.rotate(NOW).unwrap();
    assert!(open(folder.path(), NOW).set().next().is_some());
    assert_eq!(mode(&folder.path().join("keys/signing-keys.json")), 0o600);
}

#[test]
fn a_key_is_published_before_it_signs_and_kept_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let mut ring = open(folder.path(), NOW);
    let first = ring.set().current().kid().to_owned();
    assert_eq!(ring.tick(NOW + 8_999).unwrap(), []);
    let changes = ring.tick(NOW + 9_000).unwrap();
    let [SigningKeyChange::Published { kid: second, use_from }] = changes.as_slice() else { panic!("{changes:?}") };
    assert_eq!(*use_from, NOW + 10_000);
    assert_eq!(ring.set().current().kid(), first);
    assert_eq!(ring.tick(NOW + 9_999).unwrap(), []);
    let changes = ring.tick(NOW + 10_000).unwrap();
    assert_eq!(changes, [SigningKeyChange::Promoted { kid: second.clone(), retired: first.clone() }]);
    assert!(ring.set().retired().map(|key| key.kid()).eq([first.as_str()]));
    assert_eq!(ring.set().jwks()["keys"].as_array().unwrap().len(), 2);
    assert_eq!(ring.tick(NOW + 15_030).unwrap(), []);
    assert_eq!(ring.tick(NOW + 15_031).unwrap(), [SigningKeyChange::Dropped { kid: first }]);
    assert_eq!(open(folder.path(), NOW + 15_031).set().current().kid(), second);
}

#[test]
fn a_manual_rotation_publishes_first_and_does_not_start_twice() {
    let folder = tempfile::tempdir().unwrap();
    let mut ring = open(folder.path(), NOW);
    let changes = ring.rotate(NOW + 5).unwrap();
    assert!(matches!(changes.as_slice(), [SigningKeyChange::Published { use_from, .. }] if *use_from == NOW + 1_005));
    assert_eq!(ring.rotate(NOW + 6).unwrap(), []);
    assert_eq!(ring.tick(NOW + 1_005).unwrap().len(), 1);
}

#[test]
fn a_missed_rotation_still_publishes_the_next_key_in_advance() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path(), NOW));
    let ring = open(folder.path(), NOW + 1_000_000);
    assert_eq!(ring.set().next().unwrap().use_from(), NOW + 1_001_000);
}

#[test]
fn tokens_of_a_revoked_key_are_rejected_immediately() {
    let folder = tempfile::tempdir().unwrap();
    let mut ring = open(folder.path(), NOW);
    let token = mint(&ring.set(), TokenType::Access, &access("s")).unwrap();
    let kid = ring.set().current().kid().to_owned();
    assert_eq!(ring.revoke(&kid, NOW).unwrap(), [SigningKeyChange::Revoked { kid: kid.clone() }]);
    let read =
        |ring: &KeyRing, token: &str| verify::<AccessClaims>(&ring.set(), token, TokenRequirements::access(ISS), NOW);
    assert_eq!(read(&ring, &token), Err(TokenError::UnknownKey));
    let token = mint(&ring.set(), TokenType::Access, &access("s")).unwrap();
    assert!(read(&ring, &token).is_ok());
    assert!(matches!(ring.revoke(&kid, NOW), Err(KeyError::Unknown(_))));
    assert!(read(&open(folder.path(), NOW), &token).is_ok());
}

#[test]
fn the_current_key_is_accepted_after_the_clock_was_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let ring = open(folder.path(), NOW + 86_400);
    let token = mint(&ring.set(), TokenType::Access, &access("s")).unwrap();
    assert!(verify::<AccessClaims>(&ring.set(), &token, TokenRequirements::access(ISS), NOW).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Tokens stay valid until they expire whatever rotations happen, and the keys on disk equal those in memory.
    #[test]
    fn no_token_becomes_invalid_before_it_expires(steps in prop::collection::vec((0u64..4_000, any::<bool>()), 1..14)) {
        let folder = tempfile::tempdir().unwrap();
        let (mut ring, mut now, mut tokens) = (open(folder.path(), NOW), NOW, Vec::new());
        for (wait, by_hand) in steps {
            let exp = now + POLICY.longest_token;
            let claims = AccessClaims { iat: now, nbf: now, exp, ..access("s") };
            tokens.push((mint(&ring.set(), TokenType::Access, &claims).unwrap(), exp));
            now += wait;
            if by_hand { ring.rotate(now).unwrap() } else { ring.tick(now).unwrap() };
            for (token, exp) in tokens.iter().rev().take(4) {
                let read = verify::<AccessClaims>(&ring.set(), token, TokenRequirements::access(ISS), now);
                prop_assert_eq!(read.is_ok(), now < exp + 30);
            }
            prop_assert_eq!(open(folder.path(), now).set().jwks(), ring.set().jwks());
            prop_assert!(ring.set().retired().count() <= 8);
        }
    }
}
