//! Test fixture that outlives a server, with a simplified writer: changes are durable first, then announced.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_rt::Arbiter;
use futures::FutureExt;
use futures::future::BoxFuture;
use muster_retrieval::{Mode, Query};
use muster_store::{Batch, MemStore, PageRequest, Rec, Record, StoreHandle, Tree as StoreTree};
use tempfile::TempDir;

use crate::embed::tests::model::WordModel;
use crate::index::{IndexOptions, Indexes};
use crate::port::*;
use crate::record::*;
use crate::{keys, stored};
use muster_core::supervise::Tree;
use muster_core::{Clock, Error, Millis, test_world};

/// Folder and store of a server.
pub(crate) struct Fixture {
    pub(crate) disk: Arc<MemStore>,
    pub(crate) root: TempDir,
    next_id: AtomicU64,
}

pub(crate) fn space(owner: &str, namespace: &str) -> Space {
    Space::new(Owner::new(owner), namespace)
}

impl Fixture {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { disk: Arc::default(), root: tempfile::tempdir().unwrap(), next_id: AtomicU64::new(1) })
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.root.path().join("memory")
    }

    pub(crate) fn store(&self) -> StoreHandle {
        Arc::clone(&self.disk) as _
    }

    pub(crate) fn options(&self, model: &Arc<WordModel>) -> IndexOptions {
        IndexOptions::new(self.store(), Clock::tokio(test_world::START), self.folder(), Arc::clone(model) as _)
    }

    /// Two shards, ready.
    pub(crate) async fn start(&self, tree: &Tree) -> Indexes {
        self.start_with(tree, self.options(&WordModel::absent())).await
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

    /// Rejects all further writes of this server, as if it had been killed.
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
        let batch = batch.and_put(StoreTree::MemoryIds, keys::SEQ, number);
        self.commit(batch.and_put(StoreTree::MemoryChanges, keys::change(seq), change.encode().unwrap())).await;
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
        let mut batch = Batch::put(StoreTree::Memory, keys::entry(&place), record.encode().unwrap());
        let at = Rec { schema: 1, bytes: postcard::to_stdvec(&place).unwrap() };
        batch = batch.and_put(StoreTree::MemoryIds, keys::id(&space.owner, record.id), at);
        if same.is_none() {
            batch = batch.and_delete(StoreTree::MemoryVectors, keys::vector(record.id));
        }
        let change = Change::Put { place, id: record.id, version };
        self.change(batch, change, AppliedKind::Put(Arc::new(record))).await
    }

    /// Deletes an entry; `None` if there is none.
    pub(crate) async fn delete(&self, space: &Space, key: &str) -> Option<Applied> {
        let place = Place::new(space.clone(), key);
        let id = stored::entry(&self.store(), &place).unwrap()?.id;
        let batch = Batch::delete(StoreTree::Memory, keys::entry(&place))
            .and_delete(StoreTree::MemoryIds, keys::id(&space.owner, id))
            .and_delete(StoreTree::MemoryVectors, keys::vector(id));
        let change = Change::Deleted { place, id };
        Some(self.change(batch, change, AppliedKind::Deleted { space: space.clone(), id }).await)
    }

    /// Deletes all data of an owner.
    pub(crate) async fn forget(&self, owner: &Owner) -> Applied {
        let mut batch = Batch::default();
        for record in self.entries().into_iter().filter(|record| record.owner() == owner) {
            batch = batch
                .and_delete(StoreTree::Memory, keys::entry(&record.place))
                .and_delete(StoreTree::MemoryIds, keys::id(owner, record.id))
                .and_delete(StoreTree::MemoryVectors, keys::vector(record.id));
        }
        let change = Change::OwnerDeleted { owner: owner.clone() };
        self.change(batch, change, AppliedKind::OwnerDeleted { owner: owner.clone() }).await
    }

    /// Stores a vector if its entry is still valid.
    pub(crate) async fn vector(&self, new: NewVector) -> Option<Applied> {
        let entry = stored::entry(&self.store(), &new.place).unwrap();
        entry.filter(|entry| entry.id == new.id && entry.is_vector_valid(new.version))?;
        let record = VectorRecord { version: new.version, model: Arc::clone(&new.model), vector: new.vector.to_vec() };
        let batch = Batch::put(StoreTree::MemoryVectors, keys::vector(new.id), record.encode().unwrap());
        let NewVector { place, id, version, model, vector } = new;
        let space = place.space.clone();
        let change = Change::Vector { place, id, version };
        Some(self.change(batch, change, AppliedKind::Vector { space, id, version, model, vector }).await)
    }

    pub(crate) fn entries(&self) -> Vec<EntryRecord> {
        let store = self.store();
        store.records::<EntryRecord>([], PageRequest::default()).values().collect::<Result<_, _>>().unwrap()
    }

    /// Stores an entry and notifies the indexes.
    pub(crate) async fn store_and_index(&self, indexes: &Indexes, space: &Space, key: &str, value: &str) {
        let applied = self.put(space, key, value).await;
        assert_eq!(announced(indexes, applied).await, ApplyOutcome::Complete);
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

pub(crate) async fn announced(indexes: &Indexes, applied: Applied) -> ApplyOutcome {
    indexes.apply(vec![applied].into()).await
}

pub(crate) async fn ready(indexes: &Indexes) {
    while indexes.health() != IndexHealth::Ready {
        test_world::after(Duration::from_millis(1)).await;
    }
}

pub(crate) fn text_search(owner: &str, query: &str) -> IndexSearch {
    IndexSearch {
        owner: Owner::new(owner),
        namespace: None,
        query: Query { text: query.into(), mode: Mode::Text, limit: 100, ..Query::default() },
        now: test_world::START,
    }
}

/// Ids and versions found by words.
pub(crate) async fn found(indexes: &Indexes, owner: &str, query: &str) -> BTreeSet<(u128, u32)> {
    let candidates = indexes.search(text_search(owner, query)).await.unwrap();
    candidates.hits.iter().map(|found| (found.hit.id >> 80, found.hit.version)).collect()
}

/// The writer's part in storing vectors.
pub(crate) struct Writer {
    pub(crate) fixture: Arc<Fixture>,
    pub(crate) indexes: Indexes,
    /// Owners and keys of stored vectors, in order.
    pub(crate) stored: Mutex<Vec<(String, String)>>,
}

impl Writer {
    pub(crate) fn new(fixture: &Arc<Fixture>, indexes: &Indexes) -> Arc<Self> {
        Arc::new(Self { fixture: Arc::clone(fixture), indexes: indexes.clone(), stored: Mutex::default() })
    }

    pub(crate) fn stored(&self) -> Vec<(String, String)> {
        self.stored.lock().unwrap().clone()
    }
}

impl PutVectors for Writer {
    fn put_vectors(&self, vectors: Vec<NewVector>) -> BoxFuture<'static, Result<usize, Error>> {
        let (fixture, indexes) = (Arc::clone(&self.fixture), self.indexes.clone());
        let names = vectors.iter().map(|new| (new.place.space.owner.to_string(), new.place.key.to_string()));
        self.stored.lock().unwrap().extend(names);
        async move {
            let mut applied = Vec::new();
            for vector in vectors {
                applied.extend(fixture.vector(vector).await);
            }
            let count = applied.len();
            indexes.apply(applied.into()).await;
            Ok(count)
        }
        .boxed()
    }
}
