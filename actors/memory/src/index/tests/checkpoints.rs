//! Starts from valid and damaged checkpoints.

use std::fs;
use std::sync::Arc;

use muster_store::{Batch, Rec};

use super::fixture::*;
use crate::embed::tests::model::{ModelBehaviour, WordModel};
use crate::keys;
use crate::port::NewVector;
use crate::record::{EntryRecord, Space};
use muster_core::test_world;

/// Some owners with some entries.
async fn fill(fixture: &Fixture, owners: u32) -> Vec<Space> {
    let spaces: Vec<Space> = (0..owners).map(|number| space(&format!("key_{number}"), "default")).collect();
    for space in &spaces {
        fixture.put(space, "a", "red fox").await;
        fixture.put(space, "b", "grey wolf").await;
    }
    spaces
}

/// A server that writes entries and a checkpoint, and is killed.
fn run_once(fixture: &Arc<Fixture>, owners: u32) {
    let server = Arc::clone(fixture);
    test_world::run(|tree| async move {
        fill(&server, owners).await;
        let indexes = server.start(&tree).await;
        indexes.checkpoint().await.unwrap();
        server.kill();
    });
    fixture.revive();
}

/// Removes an entry only from the store: a search that finds it has read a checkpoint.
async fn delete_from_store(fixture: &Fixture, record: &EntryRecord) {
    fixture.commit(Batch::delete(muster_store::Tree::Memory, keys::entry(&record.place))).await;
}

#[test]
fn a_start_loads_the_checkpoint_and_later_changes() {
    let fixture = Fixture::new();
    run_once(&fixture, 3);
    let server = Arc::clone(&fixture);
    test_world::run(|tree| async move {
        delete_from_store(&server, &server.entries()[0]).await;
        server.put(&space("key_1", "default"), "c", "white fox").await;
        server.delete(&space("key_2", "default"), "a").await.unwrap();
        let indexes = server.start(&tree).await;
        assert_eq!(found(&indexes, "key_0", "fox").await.len(), 1, "from the checkpoint alone");
        assert_eq!(found(&indexes, "key_1", "fox").await.len(), 2);
        assert_eq!(found(&indexes, "key_2", "fox").await.len(), 0);
    });
}

#[test]
fn changes_are_retained_until_every_shard_has_saved_them() {
    let fixture = Fixture::new();
    let server = Arc::clone(&fixture);
    test_world::run(|tree| async move {
        let spaces = fill(&server, 5).await;
        assert_eq!(server.changes().len(), 10);
        let indexes = server.start(&tree).await;
        indexes.checkpoint().await.unwrap();
        while !server.changes().is_empty() {
            tokio::task::yield_now().await;
        }
        server.store_and_index(&indexes, &spaces[0], "c", "white fox").await;
        assert_eq!(server.changes(), [11]);
        // A shard without changes has it too.
        test_world::after(std::time::Duration::from_secs(700)).await;
        assert!(server.changes().is_empty(), "the next checkpoint is in time");
    });
}

#[test]
fn only_changed_files_are_rewritten() {
    let fixture = Fixture::new();
    let server = Arc::clone(&fixture);
    test_world::run(|tree| async move {
        let spaces = fill(&server, 5).await;
        let indexes = server.start(&tree).await;
        indexes.checkpoint().await.unwrap();
        let before = server.files();
        indexes.checkpoint().await.unwrap();
        assert_eq!(server.files(), before, "nothing has");
        server.store_and_index(&indexes, &spaces[0], "c", "white fox").await;
        indexes.checkpoint().await.unwrap();
        let after = server.files();
        let (old, new): (Vec<_>, Vec<_>) = (before.difference(&after).collect(), after.difference(&before).collect());
        assert_eq!((old.len(), new.len()), (1, 1), "{old:?} {new:?}");
    });
}

#[test]
fn damaged_files_are_quarantined_and_their_entries_rebuilt() {
    // One byte of each file in turn, in every part of it; then each truncated, emptied, removed.
    let fixture = Fixture::new();
    run_once(&fixture, 3);
    let damages: [fn(&mut Vec<u8>); 6] = [
        |bytes| bytes[3] ^= 1,
        |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x80;
        },
        |bytes| *bytes.last_mut().unwrap() ^= 4,
        |bytes| bytes.truncate(bytes.len() - 1),
        |bytes| bytes.push(0),
        |bytes| bytes.clear(),
    ];
    // Files of a valid checkpoint: three owners' lists and packs, and one of an empty slot.
    let names: Vec<String> = fixture.files().into_iter().filter(|name| name.ends_with(".idx")).collect();
    let lists: Vec<String> = names.iter().map(|name| format!("{}.toc", &name[..3])).collect();
    for damage in damages {
        for name in names.iter().chain(&lists) {
            let path = fixture.folder().join(name);
            let mut bytes = fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
            damage(&mut bytes);
            fs::write(&path, bytes).unwrap();
        }
        let server = Arc::clone(&fixture);
        test_world::run(|tree| async move {
            let indexes = server.start(&tree).await;
            for owner in ["key_0", "key_1", "key_2"] {
                assert_eq!(found(&indexes, owner, "fox wolf").await.len(), 2);
            }
            let quarantined = fs::read_dir(server.folder().join("aside")).unwrap().count();
            assert!((1..=16).contains(&quarantined), "{quarantined}");
            // They are written again under the same names: nothing has changed.
            indexes.checkpoint().await.unwrap();
        });
    }
}

#[test]
fn missing_files_are_rebuilt() {
    let fixture = Fixture::new();
    run_once(&fixture, 1);
    let pack = fixture.files().into_iter().find(|name| name.ends_with(".idx")).unwrap();
    fs::remove_file(fixture.folder().join(pack)).unwrap();
    let server = Arc::clone(&fixture);
    test_world::run(|tree| async move {
        let indexes = server.start(&tree).await;
        assert_eq!(found(&indexes, "key_0", "fox wolf").await.len(), 2);
    });
}

#[test]
fn leftovers_of_an_interrupted_checkpoint_are_removed() {
    let fixture = Fixture::new();
    run_once(&fixture, 1);
    let before = fixture.files();
    let pack = before.iter().find(|name| name.ends_with(".idx")).unwrap();
    let list = format!("{}.toc", &pack[..3]);
    let half = |name: &str| fs::read(fixture.folder().join(name)).unwrap().split_off(20);
    // The next pack is half or completely written and unlisted; the next list is half written.
    fs::write(fixture.folder().join(format!("{pack}.tmp")), half(pack)).unwrap();
    fs::copy(fixture.folder().join(pack), fixture.folder().join(pack.replace("-0000", "-0001"))).unwrap();
    fs::write(fixture.folder().join(format!("{list}.tmp")), half(&list)).unwrap();
    assert_eq!(fixture.files().len(), before.len() + 3);
    let server = Arc::clone(&fixture);
    test_world::run(|tree| async move {
        delete_from_store(&server, &server.entries()[0]).await;
        let indexes = server.start(&tree).await;
        assert_eq!(found(&indexes, "key_0", "fox wolf").await.len(), 2, "from the checkpoint");
        assert_eq!(server.files(), before);
    });
}

#[test]
fn checkpoints_of_another_store_are_rejected() {
    for restored in [true, false] {
        let fixture = Fixture::new();
        run_once(&fixture, 1);
        let server = Arc::clone(&fixture);
        test_world::run(|tree| async move {
            delete_from_store(&server, &server.entries()[0]).await;
            if restored {
                let rec = Rec { schema: 1, bytes: b"one".to_vec() };
                server.commit(Batch::put(muster_store::Tree::Meta, muster_store::RESTORE_MARK, rec)).await;
            }
            let indexes = server.start(&tree).await;
            let expected = if restored { 1 } else { 2 };
            assert_eq!(found(&indexes, "key_0", "fox wolf").await.len(), expected);
        });
    }
}

#[test]
fn checkpoints_beyond_the_last_change_are_rejected() {
    let fixture = Fixture::new();
    run_once(&fixture, 1);
    let server = Arc::clone(&fixture);
    test_world::run(|tree| async move {
        delete_from_store(&server, &server.entries()[0]).await;
        let number = Rec { schema: 1, bytes: 1_u64.to_be_bytes().to_vec() };
        server.commit(Batch::put(muster_store::Tree::MemoryIds, keys::SEQ, number)).await;
        let indexes = server.start(&tree).await;
        assert_eq!(found(&indexes, "key_0", "fox wolf").await.len(), 1, "the store is the truth");
    });
}

#[test]
fn vectors_of_another_model_are_not_indexed() {
    let fixture = Fixture::new();
    let server = Arc::clone(&fixture);
    test_world::run(|tree| async move {
        let owned = space("key_0", "default");
        let indexes = server.start_with(&tree, server.options(&WordModel::new("old", ModelBehaviour::Absent))).await;
        server.store_and_index(&indexes, &owned, "a", "red fox").await;
        let entry = server.entries().remove(0);
        let vector: Arc<[f32]> =
            std::iter::once(1.0).chain(std::iter::repeat_n(0.0, WordModel::DIMENSIONS - 1)).collect();
        let new = |model: &str| NewVector {
            place: entry.place.clone(),
            id: entry.id,
            version: 1,
            model: model.into(),
            vector: Arc::clone(&vector),
        };
        announced(&indexes, server.vector(new("old")).await.unwrap()).await;
        assert_eq!(indexes.stats().await.vectors, 1);
        announced(&indexes, server.vector(new("other")).await.unwrap()).await;
        indexes.checkpoint().await.unwrap();
        announced(&indexes, server.vector(new("old")).await.unwrap()).await;
        indexes.checkpoint().await.unwrap();
    });
    for (model, vectors) in [("old", 1), ("new", 0)] {
        let server = Arc::clone(&fixture);
        test_world::run(|tree| async move {
            let indexes =
                server.start_with(&tree, server.options(&WordModel::new(model, ModelBehaviour::Absent))).await;
            let stats = indexes.stats().await;
            assert_eq!((stats.entries, stats.vectors, stats.pending), (1, vectors, 1 - vectors), "{model}");
            assert_eq!(found(&indexes, "key_0", "fox").await.len(), 1, "by its words in any case");
        });
    }
}

#[test]
fn failed_checkpoints_are_reported_and_retried() {
    let fixture = Fixture::new();
    let server = Arc::clone(&fixture);
    test_world::run(|tree| async move {
        let spaces = fill(&server, 1).await;
        let indexes = server.start(&tree).await;
        indexes.checkpoint().await.unwrap();
        server.store_and_index(&indexes, &spaces[0], "c", "white fox").await;
        let folder = server.folder();
        let away = server.root.path().join("away");
        fs::rename(&folder, &away).unwrap();
        assert!(indexes.checkpoint().await.is_err());
        assert!(indexes.stats().await.shards.iter().any(|shard| shard.checkpoint_fault.is_some()));
        fs::rename(&away, &folder).unwrap();
        indexes.checkpoint().await.unwrap();
        assert!(indexes.stats().await.shards.iter().all(|shard| shard.checkpoint_fault.is_none()));
        delete_from_store(&server, &server.entries()[2]).await;
    });
    let server = Arc::clone(&fixture);
    test_world::run(|tree| async move {
        let indexes = server.start(&tree).await;
        assert_eq!(found(&indexes, "key_0", "fox wolf").await.len(), 3);
    });
}

#[test]
fn an_orderly_shutdown_writes_a_checkpoint() {
    let fixture = Fixture::new();
    let server = Arc::clone(&fixture);
    test_world::run(|tree| async move {
        let indexes = server.start(&tree).await;
        indexes.checkpoint().await.unwrap();
        let before = server.files();
        server.store_and_index(&indexes, &space("key_0", "default"), "a", "red fox").await;
        tree.drain();
        while server.files().iter().filter(|name| name.ends_with(".idx")).count() == 0 {
            test_world::after(std::time::Duration::from_millis(1)).await;
        }
        assert!(server.files().len() > before.len());
    });
}
