//! No data of a deleted owner is left, on disk either.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::site::*;
use crate::embed::tests::model::Words;
use crate::index::Indexes;
use crate::port::Taken;
use crate::record::Owner;
use muster_core::test_world;

const SECRET: &str = "xylophonist";

/// Files in a folder that contain the secret.
fn holding(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let holds = |path: &Path| fs::read(path).unwrap().windows(SECRET.len()).any(|at| at == SECRET.as_bytes());
    let names = files.iter().filter(|path| holds(path)).map(|path| path.display().to_string());
    names.chain(folders.iter().flat_map(|folder| holding(folder))).collect()
}

/// A stopped server that saved an entry with the secret.
fn saved() -> Arc<Site> {
    let site = Site::new();
    let server = Arc::clone(&site);
    test_world::run(|tree| async move {
        let indexes = server.start(&tree).await;
        server.store_and_index(&indexes, &space("key_1", "a"), SECRET, "red fox").await;
        indexes.checkpoint().await.unwrap();
    });
    site
}

/// Returns once deletion is confirmed.
async fn forget(site: &Site, indexes: &Indexes, owner: &str) {
    let gone = site.forget(&Owner::new(owner)).await;
    assert_eq!(announced(indexes, gone).await, Taken::All);
}

#[test]
fn an_owner_who_is_forgotten_is_in_no_file() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let indexes = site.start(&tree).await;
        for (owner, namespace) in [("key_1", "a"), ("key_1", "b"), ("key_2", "a")] {
            site.store_and_index(&indexes, &space(owner, namespace), SECRET, "red fox").await;
        }
        indexes.checkpoint().await.unwrap();
        assert!(!holding(&site.folder()).is_empty(), "the test looks where it is");
        forget(&site, &indexes, "key_2").await;
        assert!(!holding(&site.folder()).is_empty(), "the other's are there");
        forget(&site, &indexes, "key_1").await;
        assert_eq!(holding(&site.folder()), [""; 0], "once it says so, nothing is left");
        assert_eq!(found(&indexes, "key_1", "fox").await.len(), 0);
        assert_eq!(indexes.stats().await.entries, 0);
    });
}

#[test]
fn what_was_set_aside_goes_with_the_owner() {
    let site = saved();
    let pack = site.files().into_iter().find(|name| name.ends_with(".idx")).unwrap();
    let mut bytes = fs::read(site.folder().join(&pack)).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(site.folder().join(&pack), bytes).unwrap();
    test_world::run(|tree| async move {
        let indexes = site.start(&tree).await;
        assert!(!holding(&site.folder().join("aside")).is_empty());
        forget(&site, &indexes, "key_1").await;
        assert_eq!(holding(&site.folder()), [""; 0]);
    });
}

#[test]
fn an_owner_is_forgotten_while_a_shard_is_loaded() {
    let site = saved();
    test_world::run(|tree| async move {
        let indexes = site.begin(&tree, site.options(&Words::absent()));
        indexes.up().await;
        forget(&site, &indexes, "key_1").await;
        assert_eq!(holding(&site.folder()), [""; 0]);
        ready(&indexes).await;
        assert_eq!(found(&indexes, "key_1", "fox").await.len(), 0);
        indexes.checkpoint().await.unwrap();
        assert_eq!(holding(&site.folder()), [""; 0]);
    });
}

#[test]
fn an_owner_who_comes_back_keeps_what_came_after() {
    let site = Site::new();
    let server = Arc::clone(&site);
    test_world::run(|tree| async move {
        let home = space("key_1", "a");
        server.put(&home, "old", "red fox").await;
        server.forget(&Owner::new("key_1")).await;
        server.put(&home, "new", "grey fox").await;
        let indexes = server.start(&tree).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(2, 1)].into());
        indexes.checkpoint().await.unwrap();
    });
    test_world::run(|tree| async move {
        let indexes = site.start(&tree).await;
        assert_eq!(found(&indexes, "key_1", "fox").await, [(2, 1)].into());
    });
}
