use std::sync::Arc;

use muster_core::test_world;
use muster_store::{Batch, MemStore, PageRequest, RESTORE_MARK, Rec, Store, StoreHandle, Tree, key_number};

use super::{Fixture, copy_files, signed};
use crate::{AuditOptions, LogRefusal};

/// A fixture with 300 signed entries, stopped.
async fn filled(tree: &muster_core::supervise::Tree) -> Fixture {
    let fixture = Fixture::new();
    let audit = fixture.start(tree).await;
    fixture.append(0..300).await;
    signed(&audit, 300).await;
    // The mark in the store follows the file.
    let store = fixture.store();
    while store.entries(Tree::AuditMarks, "signed", PageRequest::default()).count() == 0 {
        tokio::task::yield_now().await;
    }
    fixture
}

/// A copy of a fixture whose log has only some of its entries, as an old copy of the store would.
async fn with_entries(from: &Fixture, keep: u64, alter: Option<u64>) -> Fixture {
    let copy = Fixture { disk: Arc::new(MemStore::default()), ..Fixture::new() };
    copy_files(from.data.path(), copy.data.path());
    let store: StoreHandle = from.store();
    for tree in [Tree::AuditLog, Tree::AuditMarks, Tree::Meta] {
        for found in store.entries(tree, [], PageRequest::default()) {
            let (key, mut rec) = found.unwrap();
            let number = key_number(&key).filter(|_| tree == Tree::AuditLog);
            if number.is_some_and(|number| number >= keep) {
                continue;
            }
            if number.is_some() && number == alter {
                let at = rec.bytes.windows(4).position(|window| window == b"usr_").unwrap();
                rec.bytes[at] = b'U';
            }
            copy.disk.commit(Batch::put(tree, key, rec)).await.unwrap();
        }
    }
    copy
}

fn accepting(fixture: &Fixture) -> AuditOptions {
    AuditOptions { accept_rollback: Some("the disk was replaced".to_owned()), ..fixture.options() }
}

async fn generation(fixture: &Fixture, options: AuditOptions) -> (String, Vec<String>) {
    let opened = fixture.open(options).await.unwrap();
    let actions = fixture.records().iter().map(|record| record.leaf().unwrap());
    let news = actions.filter(|leaf| leaf.actor == "system").map(|leaf| format!("{} {}", leaf.action, leaf.resource));
    (opened.origin(), news.collect())
}

#[test]
fn a_store_that_was_rolled_back_is_refused_and_accepted_only_with_a_reason() {
    test_world::run(|tree| async move {
        let fixture = filled(&tree).await;
        let shorter = with_entries(&fixture, 299, None).await;
        let refused = shorter.open(shorter.options()).await.unwrap_err();
        let text = refused.to_string();
        assert!(matches!(refused, LogRefusal::Rollback { .. }));
        assert!(text.contains("size 300") && text.contains("299 entries"), "both are named: {text}");
        assert_eq!(shorter.records().len(), 299, "nothing was written");
        let (origin, news) = generation(&shorter, accepting(&shorter)).await;
        assert_eq!(origin, "muster.example.org/audit/2");
        assert!(news[0].starts_with("log.generation_begun muster.example.org/audit/1 size 300 root "), "{news:?}");
        let (origin, news) = generation(&shorter, shorter.options()).await;
        assert_eq!((origin.as_str(), news.len()), ("muster.example.org/audit/2", 1), "the next start goes on");

        let altered = with_entries(&fixture, 300, Some(17)).await;
        let refused = altered.open(altered.options()).await.unwrap_err().to_string();
        assert!(refused.contains("another root"), "{refused}");
        let empty = with_entries(&fixture, 0, None).await;
        assert!(matches!(empty.open(empty.options()).await, Err(LogRefusal::Rollback { .. })));
        let whole = with_entries(&fixture, 300, None).await;
        assert_eq!(generation(&whole, whole.options()).await, ("muster.example.org/audit/1".to_owned(), Vec::new()));
    });
}

#[test]
fn a_restored_store_begins_the_next_generation_once() {
    test_world::run(|tree| async move {
        let fixture = filled(&tree).await;
        let restored = with_entries(&fixture, 200, None).await;
        let mark = Rec { schema: 1, bytes: b"restored at noon".to_vec() };
        restored.disk.commit(Batch::put(Tree::Meta, RESTORE_MARK, mark)).await.unwrap();
        let (origin, news) = generation(&restored, restored.options()).await;
        assert_eq!(origin, "muster.example.org/audit/2");
        assert!(news[0].contains("muster.example.org/audit/1 size 300"), "it names the old checkpoint: {news:?}");
        let (origin, news) = generation(&restored, restored.options()).await;
        assert_eq!((origin.as_str(), news.len()), ("muster.example.org/audit/2", 1));
    });
}

#[test]
fn a_lost_file_of_checkpoints_is_noted_and_the_store_still_compared() {
    test_world::run(|tree| async move {
        let fixture = filled(&tree).await;
        let lost = with_entries(&fixture, 300, None).await;
        std::fs::remove_file(lost.checkpoints()).unwrap();
        let (origin, news) = generation(&lost, lost.options()).await;
        assert_eq!(origin, "muster.example.org/audit/1");
        assert!(news[0].starts_with("audit.marks_lost"), "{news:?}");
        let shorter = with_entries(&fixture, 250, None).await;
        std::fs::remove_file(shorter.checkpoints()).unwrap();
        assert!(matches!(shorter.open(shorter.options()).await, Err(LogRefusal::Rollback { .. })));
    });
}

#[test]
fn lost_keys_and_another_name_begin_the_next_generation() {
    test_world::run(|tree| async move {
        let fixture = filled(&tree).await;
        let keyless = with_entries(&fixture, 300, None).await;
        std::fs::remove_file(keyless.data.path().join("signing/log-keys.json")).unwrap();
        assert_eq!(generation(&keyless, keyless.options()).await.0, "muster.example.org/audit/2");
        let renamed = with_entries(&fixture, 300, None).await;
        let options = AuditOptions { name: Some("other.example.org".to_owned()), ..renamed.options() };
        assert_eq!(generation(&renamed, options).await.0, "other.example.org/audit/2");
    });
}

#[test]
fn a_flipped_byte_in_the_last_checkpoint_stops_the_start() {
    test_world::run(|tree| async move {
        let fixture = filled(&tree).await;
        let good = std::fs::read(fixture.checkpoints()).unwrap();
        let line = good[..good.len() - 1].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for at in (line..good.len() - 1).step_by(7) {
            let copy = with_entries(&fixture, 300, None).await;
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(copy.checkpoints(), &bad).unwrap();
            let opened = copy.open(copy.options()).await;
            // The time beside the note is nobody's statement.
            let time = serde_json::from_slice::<serde_json::Value>(&bad[line..]).is_ok_and(|value| {
                value["note"] == serde_json::from_slice::<serde_json::Value>(&good[line..]).unwrap()["note"]
            });
            assert_eq!(opened.is_ok(), time, "byte {at}");
        }
        // A crash that tore the last line is no alteration: the line before counts.
        let torn = with_entries(&fixture, 300, None).await;
        std::fs::write(torn.checkpoints(), &good[..good.len() - 9]).unwrap();
        assert!(torn.open(torn.options()).await.is_ok());
    });
}

#[test]
fn a_rotated_key_is_named_under_the_old_one_and_both_sign() {
    test_world::run(|tree| async move {
        let fixture = filled(&tree).await;
        let audit = fixture.start(&tree).await;
        let other_process = crate::LogKeys::read(&fixture.data.path().join("signing")).unwrap().unwrap();
        let first = audit.vkeys().unwrap();
        other_process.rotate(test_world::START).unwrap();
        audit.reload_keys().await.unwrap();
        signed(&audit, 301).await;
        let named = fixture.records()[300].leaf().unwrap();
        assert_eq!(named.action, "log.key_added");
        let under_old = audit.checkpoint().await.unwrap().note;
        assert_eq!(
            under_old.matches('\u{2014}').count(),
            1,
            "the old key alone signs the checkpoint that names the new one"
        );
        fixture.append(300..301).await;
        signed(&audit, 302).await;
        assert_eq!(audit.checkpoint().await.unwrap().note.matches('\u{2014}').count(), 2);
        let keys = audit.vkeys().unwrap();
        assert_eq!((keys[0].to_string(), &keys[1]), (named.resource, &first[0]));
    });
}
