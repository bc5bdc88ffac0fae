//! Records against the audit log: whoever alters one of them is found.

#![allow(clippy::unwrap_used, reason = "a test's helpers may fail it")]

use muster_backup::{AuditCheck, AuditError, Discrepancy};
use muster_tlog::{Checkpoint, Edge, Hash, Leaf, Outcome, Salt, commitment, fingerprint};
use serde_json::{Value, json};

/// An entry as a backup has it.
#[derive(Clone)]
struct Entry {
    bytes: Vec<u8>,
    salt: Option<Salt>,
    details: Option<Value>,
}

fn entry(number: u8, resource: &str, after: Option<Value>) -> Entry {
    let text = |text: &str| text.to_owned();
    let (id, at) = (format!("aud_{number}"), text("2026-11-26T02:00:00.000Z"));
    let mut leaf = Leaf::new(id, at, text("usr_1"), text("key.grant"), text(resource), Outcome::Ok);
    let (salt, details) = (Salt::new([number; 16]), json!({ "number": number }));
    leaf.details = Some(commitment(salt, &details).unwrap());
    leaf.after = after.map(|after| fingerprint(&after).unwrap());
    Entry { bytes: leaf.to_bytes().unwrap(), salt: Some(salt), details: Some(details) }
}

fn log() -> Vec<Entry> {
    vec![
        entry(0, "key_1", Some(json!({ "scopes": ["chat"] }))),
        entry(1, "key_2", Some(json!({ "scopes": ["chat"] }))),
        entry(2, "key_1", Some(json!({ "scopes": ["admin"] }))),
        entry(3, "key_1", None),
        entry(4, "usr_1", Some(json!({ "roles": [] }))),
    ]
}

fn signed(entries: &[Entry]) -> Checkpoint {
    let mut edge = Edge::new();
    entries.iter().for_each(|entry| drop(edge.append(Hash::of_leaf(&entry.bytes)).unwrap()));
    Checkpoint::new("muster.example.org/audit/1".to_owned(), edge.size(), edge.root())
}

fn check(entries: &[Entry], signed: Option<Checkpoint>) -> Result<AuditCheck, AuditError> {
    let mut check = AuditCheck::new(signed);
    for (seq, entry) in (0..).zip(entries) {
        check.append(seq, &entry.bytes, entry.salt, entry.details.as_ref())?;
    }
    check.finish()?;
    Ok(check)
}

#[test]
fn a_whole_log_is_accepted_also_beyond_its_checkpoint_and_with_erased_details() {
    let mut log = log();
    for signed in [None, Some(signed(&[])), Some(signed(&log[..3])), Some(signed(&log))] {
        assert_eq!(check(&log, signed).unwrap().finish(), Ok(5));
    }
    (log[1].salt, log[1].details) = (None, None);
    check(&log, Some(signed(&log))).unwrap();
}

#[test]
fn the_newest_entry_with_an_after_decides() {
    let check = check(&log(), None).unwrap();
    assert_eq!(check.compare("key_1", &json!({ "scopes": ["admin"] })), Ok(()));
    assert_eq!(check.compare("key_1", &json!({ "scopes": ["chat"] })), Err(Discrepancy::Differs(2)));
    assert_eq!(check.compare("key_2", &json!({ "scopes": ["chat"] })), Ok(()));
    assert_eq!(check.compare("key_3", &json!({ "scopes": ["chat"] })), Err(Discrepancy::NoEntry));
}

#[test]
fn every_alteration_of_an_entry_is_found() {
    let (log, signed) = (log(), signed(&log()));
    let altered = |number: usize, change: fn(&mut Entry)| {
        let mut log = log.clone();
        change(&mut log[number]);
        check(&log, Some(signed.clone())).map(drop).unwrap_err()
    };
    let of = |error: AuditError| match error {
        AuditError::Altered { seq, .. } => seq,
        other => panic!("{other}"),
    };
    assert_eq!(of(altered(2, |entry| entry.details = Some(json!({ "number": 9 })))), 2);
    assert_eq!(of(altered(2, |entry| entry.salt = Some(Salt::new([9; 16])))), 2);
    assert_eq!(of(altered(2, |entry| entry.salt = None)), 2);
    assert_eq!(of(altered(2, |entry| entry.details = None)), 2);
    assert_eq!(of(altered(2, |entry| entry.bytes.push(b' '))), 2);
    // A leaf that was replaced as a whole agrees with itself.
    let other = |entry: &mut Entry| *entry = self::entry(2, "key_1", Some(json!({ "scopes": ["chat", "admin"] })));
    assert_eq!(altered(2, other), AuditError::Root(5));
}

#[test]
fn missing_entries_are_found() {
    let (log, signed) = (log(), signed(&log()));
    let tail = AuditError::TailMissing { signed: 5, found: 4 };
    assert_eq!(check(&log[..4], Some(signed.clone())).map(drop), Err(tail));
    let mut gap = AuditCheck::new(Some(signed));
    gap.append(0, &log[0].bytes, None, None).unwrap();
    assert_eq!(gap.append(2, &log[2].bytes, None, None), Err(AuditError::Missing(1)));
}
