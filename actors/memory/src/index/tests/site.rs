//! Test environment that outlives a server, with a simplified writer: durable first, then announced.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_rt::Arbiter;
use futures::FutureExt;
use futures::future::BoxFuture;
use muster_retrieval::{Mode, Query};
use muster_store::{Batch, MemStore, Rec, Record, StoreHandle, Tree as StoreTree};
use tempfile::TempDir;

use crate::embed::tests::model::Words;
use crate::index::{IndexOptions, Indexes};
use crate::port::*;
use crate::record::*;
use crate::{place, stored};
use muster_core::supervise::Tree;
use muster_core::{Clock, Error, Millis, test_world};

/// Folder and store.
pub(crate) struct Site {
    pub(crate) disk: Arc<MemStore>,
    pub(crate) home: TempDir,
    next_id: AtomicU64,
}

pub(crate) fn space(owner: &str, namespace: &str) -> Space {
    Space::new(Owner::new(owner), namespace)
}

impl Site {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { disk: Arc::default(), home: tempfile::tempdir().unwrap(), next_id: AtomicU64::new(1) })
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.home.path().join("memory")
    }

    pub(crate) fn store(&self) -> StoreHandle {
        Arc::clone(&self.disk) as _
    }

    pub(crate) fn options(&self, model: &Arc<Words>) -> IndexOptions {
        IndexOptions::new(self.store(), Clock::tokio(test_world::START), self.folder(), Arc::clone(model) as _)
    }

    /// Two shards, ready.
    pub(crate) async fn start(&self, tree: &Tree) -> Indexes {
        self.start_with(tree, self.options(&Words::absent())).await
    }

    pub(crate) async fn start_with(&self, tree: &Tree, options: IndexOptions) -> Indexes {
        let indexes = self.begin(tree, options);
        indexes.up().await;
        ready(&indexes).await;
        indexes
    }

    pub(crate) fn begin(&self, tree: &Tree, options: IndexOptions) -> Indexes {
        let arbiters = [Arbiter::current(), Arbiter::current()];
        Indexes::start(&tree.group("memory"), &arbiters, options)
    }

    /// From now on this server's writes no longer reach the store, as if it had been killed.
    pub(crate) fn kill(&self) {
        self.disk.fail_commits(Some(muster_store::StoreError::Io("the server is dead".to_owned())));
    }

    pub(crate) fn revive(&self) {
        self.disk.fail_commits(None);
    }

    fn last(&self) -> u64 {
        stored::last_change(&self.store()).unwrap()
    }

    pub(crate) async fn commit(&self, batch: Batch) {
        muster_store::Store::commit(self.disk.as_ref(), batch).await.unwrap();
    }

    /// Makes a change durable.
    async fn change(&self, batch: Batch, change: Change, kind: AppliedKind) -> Applied {
        let seq = self.last() + 1;
        let number = Rec { schema: 1, bytes: seq.to_be_bytes().to_vec() };
        let batch = batch.and_put(StoreTree::MemoryIds, place::SEQ, number);
        self.commit(batch.and_put(StoreTree::MemoryChanges, place::change(seq), change.encode().unwrap())).await;
        Applied { seq, kind }
    }

    pub(crate) async fn put(&self, space: &Space, key: &str, value: &str) -> Applied {
        self.put_until(space, key, value, None).await
    }

    /// Stores an entry, or the next version of one.
    pub(crate) async fn put_until(&self, space: &Space, key: &str, value: &str, expires_at: Option<Millis>) -> Applied {
        let place = Place::new(space.clone(), key);
        let before = stored::entry(&self.store(), &place).unwrap();
        let fresh = || EntryId(u128::from(self.next_id.fetch_add(1, Ordering::Relaxed)) << 80);
        let version = before.as_ref().map_or(0, |before| before.version) + 1;
        let same = before.as_ref().filter(|before| *before.value == *value);
        let record = EntryRecord {
            id: before.as_ref().map_or_else(fresh, |before| before.id),
            place: place.clone(),
            value: Arc::from(value),
            tags: vec![],
            thread: None,
            importance: None,
            language: None,
            created_at: test_world::START,
            stored_at: test_world::START,
            expires_at,
            version,
            text_version: same.map_or(version, |same| same.text_version),
            seq: self.last() + 1,
            kept: vec![],
        };
        let mut batch = Batch::put(StoreTree::Memory, place::entry(&place), record.encode().unwrap());
        let at = Rec { schema: 1, bytes: postcard::to_stdvec(&place).unwrap() };
        batch = batch.and_put(StoreTree::MemoryIds, place::id(&space.owner, record.id), at);
        if same.is_none() {
            batch = batch.and_delete(StoreTree::MemoryVectors, place::vector(record.id));
        }
        let change = Change::Put { place, id: record.id, version };
        self.change(batch, change, AppliedKind::Put(Arc::new(record))).await
    }

    /// Deletes an entry; `None` if there is none.
    pub(crate) async fn delete(&self, space: &Space, key: &str) -> Option<Applied> {
        let place = Place::new(space.clone(), key);
        let id = stored::entry(&self.store(), &place).unwrap()?.id;
        let batch = Batch::delete(StoreTree::Memory, place::entry(&place))
            .and_delete(StoreTree::MemoryIds, place::id(&space.owner, id))
            .and_delete(StoreTree::MemoryVectors, place::vector(id));
        let change = Change::Deleted { place, id };
        Some(self.change(batch, change, AppliedKind::Deleted { space: space.clone(), id }).await)
    }

    /// Deletes all data of an owner.
    pub(crate) async fn forget(&self, owner: &Owner) -> Applied {
        let mut batch = Batch::default();
        for record in self.entries().into_iter().filter(|record| record.owner() == owner) {
            batch = batch
                .and_delete(StoreTree::Memory, place::entry(&record.place))
                .and_delete(StoreTree::MemoryIds, place::id(owner, record.id))
                .and_delete(StoreTree::MemoryVectors, place::vector(record.id));
        }
        let change = Change::OwnerGone { owner: owner.clone() };
        self.change(batch, change, AppliedKind::OwnerGone { owner: owner.clone() }).await
    }

    /// Stores a vector if its entry is still valid.
    pub(crate) async fn vector(&self, new: NewVector) -> Option<Applied> {
        let entry = stored::entry(&self.store(), &new.place).unwrap();
        entry.filter(|entry| entry.id == new.id && entry.stands(new.version))?;
        let record = VectorRecord { version: new.version, model: Arc::clone(&new.model), vector: new.vector.to_vec() };
        let batch = Batch::put(StoreTree::MemoryVectors, place::vector(new.id), record.encode().unwrap());
        let NewVector { place, id, version, model, vector } = new;
        let space = place.space.clone();
        let change = Change::Vector { place, id, version };
        Some(self.change(batch, change, AppliedKind::Vector { space, id, version, model, vector }).await)
    }

    pub(crate) fn entries(&self) -> Vec<EntryRecord> {
        stored::entries(&self.store(), None, 1_000).unwrap().0
    }

    /// Stores an entry and notifies the indexes.
    pub(crate) async fn store_and_index(&self, indexes: &Indexes, space: &Space, key: &str, value: &str) {
        let applied = self.put(space, key, value).await;
        assert_eq!(announced(indexes, applied).await, Taken::All);
    }

    /// Retained changes.
    pub(crate) fn changes(&self) -> Vec<u64> {
        stored::changes(&self.store(), 0, 1_000).unwrap().into_iter().map(|(seq, _)| seq).collect()
    }

    /// The checkpoint's files, by name.
    pub(crate) fn files(&self) -> BTreeSet<String> {
        let entries = std::fs::read_dir(self.folder()).into_iter().flatten().flatten();
        entries.filter(|it| it.path().is_file()).map(|it| it.file_name().into_string().unwrap()).collect()
    }
}

pub(crate) async fn announced(indexes: &Indexes, applied: Applied) -> Taken {
    indexes.apply(vec![applied].into()).await
}

pub(crate) async fn ready(indexes: &Indexes) {
    while indexes.health() != IndexHealth::Ready {
        test_world::after(Duration::from_millis(1)).await;
    }
}

pub(crate) fn ask(owner: &str, query: &str) -> IndexAsk {
    IndexAsk {
        owner: Owner::new(owner),
        namespace: None,
        query: Query { text: query.into(), mode: Mode::Text, limit: 100, ..Query::default() },
        now: test_world::START,
    }
}

/// Ids and versions found by words.
pub(crate) async fn found(indexes: &Indexes, owner: &str, query: &str) -> BTreeSet<(u128, u32)> {
    let candidates = indexes.search(ask(owner, query)).await.unwrap();
    candidates.hits.iter().map(|found| (found.hit.id >> 80, found.hit.version)).collect()
}

/// The writer's part in storing vectors.
pub(crate) struct Writer {
    pub(crate) site: Arc<Site>,
    pub(crate) indexes: Indexes,
    /// Owners and keys of stored vectors, in order.
    pub(crate) stored: Mutex<Vec<(String, String)>>,
}

impl Writer {
    pub(crate) fn new(site: &Arc<Site>, indexes: &Indexes) -> Arc<Self> {
        Arc::new(Self { site: Arc::clone(site), indexes: indexes.clone(), stored: Mutex::default() })
    }

    pub(crate) fn stored(&self) -> Vec<(String, String)> {
        self.stored.lock().unwrap().clone()
    }
}

impl PutVectors for Writer {
    fn put_vectors(&self, vectors: Vec<NewVector>) -> BoxFuture<'static, Result<usize, Error>> {
        let (site, indexes) = (Arc::clone(&self.site), self.indexes.clone());
        let names = vectors.iter().map(|new| (new.place.space.owner.to_string(), new.place.key.to_string()));
        self.stored.lock().unwrap().extend(names);
        async move {
            let mut applied = Vec::new();
            for vector in vectors {
                applied.extend(site.vector(vector).await);
            }
            let count = applied.len();
            indexes.apply(applied.into()).await;
            Ok(count)
        }
        .boxed()
    }
}
