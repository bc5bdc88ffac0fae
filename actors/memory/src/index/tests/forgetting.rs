//! No data of a deleted owner is left, neither in memory nor on disk.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use super::fixture::*;
use crate::embed::tests::model::WordModel;
use crate::index::Indexes;
use crate::port::ApplyOutcome;
use crate::record::Owner;
use muster_core::test_world;

const SECRET: &str = "xylophonist";

/// Files in a folder that contain the secret.
fn files_with_secret(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    // A loading shard removes files meanwhile: one that is gone holds nothing.
    let read = |path: &Path| match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        bytes => bytes.unwrap(),
    };
    let holds = |path: &Path| read(path).windows(SECRET.len()).any(|at| at == SECRET.as_bytes());
    let names = files.iter().filter(|path| holds(path)).map(|path| path.display().to_string());
    names.chain(folders.iter().flat_map(|folder| files_with_secret(folder))).collect()
}

/// Returns the fixture of a stopped server that saved an entry with the secret.
fn saved_server() -> Arc<Fixture> {
    let fixture = Fixture::new();
    let server = Arc::clone(&fixture);
    test_world::run(|tree| async move {
        let indexes = server.start(&tree).await;
        server.store_and_index(&indexes, &space("key_1", "a"), SECRET, "red fox").await;
        indexes.checkpoint().await.unwrap();
    });
    fixture
}

/// Returns once deletion is confirmed.
async fn forget(fixture: &Fixture, indexes: &Indexes, owner: &str) {
    let gone = fixture.forget(&Owner::new(owner)).await;
    assert_eq!(announced(indexes, gone).await, ApplyOutcome::Complete);
}

#[test]
fn data_of_a_forgotten_owner_is_in_no_file() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let indexes = fixture.start(&tree).await;
        for (owner, namespace) in [("key_1", "a"), ("key_1", "b"), ("key_2", "a")] {
            fixture.store_and_index(&indexes, &space(owner, namespace), SECRET, "red fox").await;
        }
        indexes.checkpoint().await.unwrap();
        assert!(!files_with_secret(&fixture.folder()).is_empty(), "the secret is on disk before");
        forget(&fixture, &indexes, "key_2").await;
        assert!(!files_with_secret(&fixture.folder()).is_empty(), "the other's are there");
        forget(&fixture, &indexes, "key_1").await;
        assert_eq!(files_with_secret(&fixture.folder()), [""; 0], "nothing is left after the confirmation");
        assert_eq!(found(&indexes, "key_1", "fox").await.len(), 0);
        assert_eq!(indexes.stats().await.entries, 0);
    });
}

#[test]
fn quarantined_files_are_removed_with_the_owner() {
    let fixture = saved_server();
    let pack = fixture.files().into_iter().find(|name| name.ends_with(".idx")).unwrap();
    let mut bytes = fs::read(fixture.folder().join(&pack)).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(fixture.folder().join(&pack), bytes).unwrap();
    test_world::run(|tree| async move {
        let indexes = fixture.start(&tree).await;
        assert!(!files_with_secret(&fixture.folder().join("aside")).is_empty());
        forget(&fixture, &indexes, "key_1").await;
        assert_eq!(files_with_secret(&fixture.folder()), [""; 0]);
    });
}

#[test]
fn an_owner_can_be_forgotten_while_a_shard_is_loading() {
    let fixture = saved_server();
    test_world::run(|tree| async move {
        let indexes = fixture.begin(&tree, fixture.options(&WordModel::absent()));
        indexes.up().await;
        forget(&fixture, &indexes, "key_1").await;
        assert_eq!(files_with_secret(&fixture.folder()), [""; 0]);
        ready(&indexes).await;
        assert_eq!(found(&indexes, "key_1", "fox").await.len(), 0);
        indexes.checkpoint().await.unwrap();
        assert_eq!(files_with_secret(&fixture.folder()), [""; 0]);
    });
}

#[test]
fn entries_stored_after_forgetting_are_kept() {
    let fixture = Fixture::new();
    let server = Arc::clone(&fixture);
    test_world::run(|tree| async move {
        let owned = space("key_1", "a");
        server.put(&owned, "old", "red fox").await;
        server.forget(&Owner::new("key_1")).await;
        server.put(&owned, "new", "grey fox").await;
        let indexes = server.start(&tree).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(2, 1)].into());
        indexes.checkpoint().await.unwrap();
    });
    test_world::run(|tree| async move {
        let indexes = fixture.start(&tree).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(2, 1)].into());
    });
}
