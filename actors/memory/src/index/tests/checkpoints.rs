//! Starts from valid and damaged checkpoints.

use std::fs;
use std::sync::Arc;

use muster_store::{Batch, Rec};

use super::site::*;
use crate::embed::tests::model::{ModelBehaviour, Words};
use crate::place;
use crate::port::NewVector;
use crate::record::{EntryRecord, Space};
use muster_core::test_world;

/// Some owners with some entries.
async fn fill(site: &Site, owners: u32) -> Vec<Space> {
    let spaces: Vec<Space> = (0..owners).map(|number| space(&format!("key_{number}"), "default")).collect();
    for space in &spaces {
        site.put(space, "a", "red fox").await;
        site.put(space, "b", "grey wolf").await;
    }
    spaces
}

/// A server that writes entries and a checkpoint, and is killed.
fn one_run(site: &Arc<Site>, owners: u32) {
    let server = Arc::clone(site);
    test_world::run(|tree| async move {
        fill(&server, owners).await;
        let indexes = server.start(&tree).await;
        indexes.checkpoint().await.unwrap();
        server.kill();
    });
    site.revive();
}

/// Removes an entry only from the store: whoever finds it has read a checkpoint.
async fn hide(site: &Site, record: &EntryRecord) {
    site.commit(Batch::delete(muster_store::Tree::Memory, place::entry(&record.place))).await;
}

#[test]
fn a_start_reads_the_checkpoint_and_what_came_behind_it() {
    let site = Site::new();
    one_run(&site, 3);
    let server = Arc::clone(&site);
    test_world::run(|tree| async move {
        hide(&server, &server.entries()[0]).await;
        server.put(&space("key_1", "default"), "c", "white fox").await;
        server.delete(&space("key_2", "default"), "a").await.unwrap();
        let indexes = server.start(&tree).await;
        assert_eq!(found(&indexes, "key_0", "fox").await.len(), 1, "from the checkpoint alone");
        assert_eq!(found(&indexes, "key_1", "fox").await.len(), 2);
        assert_eq!(found(&indexes, "key_2", "fox").await.len(), 0);
    });
}

#[test]
fn changes_are_kept_until_every_shard_has_them_on_the_disk() {
    let site = Site::new();
    let server = Arc::clone(&site);
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
fn only_what_has_changed_is_written_anew() {
    let site = Site::new();
    let server = Arc::clone(&site);
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
fn damaged_files_are_set_aside_and_their_entries_built_anew() {
    // One byte of each file in turn, in every part of it; then each truncated, emptied, removed.
    let site = Site::new();
    one_run(&site, 3);
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
    let names: Vec<String> = site.files().into_iter().filter(|name| name.ends_with(".idx")).collect();
    let lists: Vec<String> = names.iter().map(|name| format!("{}.toc", &name[..3])).collect();
    for damage in damages {
        for name in names.iter().chain(&lists) {
            let path = site.folder().join(name);
            let mut bytes = fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
            damage(&mut bytes);
            fs::write(&path, bytes).unwrap();
        }
        let server = Arc::clone(&site);
        test_world::run(|tree| async move {
            let indexes = server.start(&tree).await;
            for owner in ["key_0", "key_1", "key_2"] {
                assert_eq!(found(&indexes, owner, "fox wolf").await.len(), 2);
            }
            let aside = fs::read_dir(server.folder().join("aside")).unwrap().count();
            assert!((1..=16).contains(&aside), "{aside}");
            // They are written again under the same names: nothing has changed.
            indexes.checkpoint().await.unwrap();
        });
    }
}

#[test]
fn a_file_that_is_missing_is_one_more_damage() {
    let site = Site::new();
    one_run(&site, 1);
    let pack = site.files().into_iter().find(|name| name.ends_with(".idx")).unwrap();
    fs::remove_file(site.folder().join(pack)).unwrap();
    let server = Arc::clone(&site);
    test_world::run(|tree| async move {
        let indexes = server.start(&tree).await;
        assert_eq!(found(&indexes, "key_0", "fox wolf").await.len(), 2);
    });
}

#[test]
fn what_a_kill_in_the_middle_of_a_checkpoint_leaves_is_swept() {
    let site = Site::new();
    one_run(&site, 1);
    let whole = site.files();
    let pack = whole.iter().find(|name| name.ends_with(".idx")).unwrap();
    let list = format!("{}.toc", &pack[..3]);
    let half = |name: &str| fs::read(site.folder().join(name)).unwrap().split_off(20);
    // The next pack is half or completely written and unlisted; the next list is half written.
    fs::write(site.folder().join(format!("{pack}.tmp")), half(pack)).unwrap();
    fs::copy(site.folder().join(pack), site.folder().join(pack.replace("-0000", "-0001"))).unwrap();
    fs::write(site.folder().join(format!("{list}.tmp")), half(&list)).unwrap();
    assert_eq!(site.files().len(), whole.len() + 3);
    let server = Arc::clone(&site);
    test_world::run(|tree| async move {
        hide(&server, &server.entries()[0]).await;
        let indexes = server.start(&tree).await;
        assert_eq!(found(&indexes, "key_0", "fox wolf").await.len(), 2, "from the checkpoint");
        assert_eq!(server.files(), whole);
    });
}

#[test]
fn checkpoints_of_another_store_are_not_believed() {
    for restored in [true, false] {
        let site = Site::new();
        one_run(&site, 1);
        let server = Arc::clone(&site);
        test_world::run(|tree| async move {
            hide(&server, &server.entries()[0]).await;
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
fn a_checkpoint_from_the_future_is_not_believed() {
    let site = Site::new();
    one_run(&site, 1);
    let server = Arc::clone(&site);
    test_world::run(|tree| async move {
        hide(&server, &server.entries()[0]).await;
        let number = Rec { schema: 1, bytes: 1_u64.to_be_bytes().to_vec() };
        server.commit(Batch::put(muster_store::Tree::MemoryIds, place::SEQ, number)).await;
        let indexes = server.start(&tree).await;
        assert_eq!(found(&indexes, "key_0", "fox wolf").await.len(), 1, "the store is the truth");
    });
}

#[test]
fn vectors_of_another_model_are_not_in_the_index() {
    let site = Site::new();
    let server = Arc::clone(&site);
    test_world::run(|tree| async move {
        let home = space("key_0", "default");
        let indexes = server.start_with(&tree, server.options(&Words::new("old", ModelBehaviour::Absent))).await;
        server.store_and_index(&indexes, &home, "a", "red fox").await;
        let entry = server.entries().remove(0);
        let vector: Arc<[f32]> = std::iter::once(1.0).chain(std::iter::repeat_n(0.0, Words::DIMENSIONS - 1)).collect();
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
        let server = Arc::clone(&site);
        test_world::run(|tree| async move {
            let indexes = server.start_with(&tree, server.options(&Words::new(model, ModelBehaviour::Absent))).await;
            let stats = indexes.stats().await;
            assert_eq!((stats.entries, stats.vectors, stats.pending), (1, vectors, 1 - vectors), "{model}");
            assert_eq!(found(&indexes, "key_0", "fox").await.len(), 1, "by its words in any case");
        });
    }
}

#[test]
fn a_disk_that_refuses_is_told_and_tried_again() {
    let site = Site::new();
    let server = Arc::clone(&site);
    test_world::run(|tree| async move {
        let spaces = fill(&server, 1).await;
        let indexes = server.start(&tree).await;
        indexes.checkpoint().await.unwrap();
        server.store_and_index(&indexes, &spaces[0], "c", "white fox").await;
        let folder = server.folder();
        let away = server.home.path().join("away");
        fs::rename(&folder, &away).unwrap();
        assert!(indexes.checkpoint().await.is_err());
        assert!(indexes.stats().await.shards.iter().any(|shard| shard.checkpoint_fault.is_some()));
        fs::rename(&away, &folder).unwrap();
        indexes.checkpoint().await.unwrap();
        assert!(indexes.stats().await.shards.iter().all(|shard| shard.checkpoint_fault.is_none()));
        hide(&server, &server.entries()[2]).await;
    });
    let server = Arc::clone(&site);
    test_world::run(|tree| async move {
        let indexes = server.start(&tree).await;
        assert_eq!(found(&indexes, "key_0", "fox wolf").await.len(), 3);
    });
}

#[test]
fn a_server_that_ends_in_order_leaves_a_checkpoint() {
    let site = Site::new();
    let server = Arc::clone(&site);
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
