//! Tests of the writer and the service on paused time, with an index that records its changes.

mod crashes;
mod ends;
mod forgets;
mod lists;
mod script;
mod searches;
mod stores;
mod whole;

use std::sync::Arc;

use actix_rt::Arbiter;
use muster_store::{MemStore, Order, Record, Scan, Store as _, StoreHandle, Tree as Rows};

use self::script::Script;
use super::*;
use muster_core::supervise::Tree;
use muster_core::{Clock, test_world};
use muster_identity::By;
use muster_identity::keys::KeyRecord;

/// Environment of a test.
struct Bench {
    tree: Tree,
    memory: Memory,
    index: Arc<Script>,
    store: Arc<MemStore>,
    clock: Clock,
    settings: MemorySettings,
    me: By,
    other: By,
}

fn key(id: &str) -> By {
    By::Key(Arc::new(KeyRecord::without_secret(id, "a test's")))
}

impl Bench {
    async fn new(tree: &Tree) -> Self {
        Self::with(tree, MemorySettings { shared: vec!["team".to_owned()], ..MemorySettings::default() }).await
    }

    async fn with(tree: &Tree, settings: MemorySettings) -> Self {
        Self::on(tree, Arc::default(), Clock::tokio(test_world::START), settings).await
    }

    /// The server ends abruptly, and another starts on what is stored.
    async fn again(self) -> Self {
        self.tree.stop().await;
        let tree = Tree::new(Arbiter::current(), self.clock.clone());
        Self::on(&tree, self.store, self.clock, self.settings).await
    }

    async fn on(tree: &Tree, store: Arc<MemStore>, clock: Clock, settings: MemorySettings) -> Self {
        let index = Arc::new(Script::default());
        let handle: StoreHandle = Arc::<MemStore>::clone(&store);
        let options = MemoryOptions {
            store: handle,
            clock: clock.clone(),
            settings: settings.clone(),
            index: Arc::<Script>::clone(&index),
        };
        let memory = Memory::start(&tree.group("memory"), Arbiter::current(), options);
        memory.up().await;
        Self { tree: tree.clone(), memory, index, store, clock, settings, me: key("key_me"), other: key("key_other") }
    }

    async fn try_store(&self, new: NewEntry) -> Result<StoreReply, muster_core::Error> {
        self.memory.store(new, &self.me, Precondition::None, None).await
    }

    async fn put(&self, key: &str, value: &str) -> Arc<EntryRecord> {
        self.try_store(new(key, value)).await.unwrap().record
    }

    async fn put_for(&self, key: &str, value: &str, seconds: u64) -> Arc<EntryRecord> {
        self.try_store(NewEntry { ttl_seconds: Some(seconds), ..new(key, value) }).await.unwrap().record
    }

    fn get(&self, key: &str) -> Option<EntryRecord> {
        self.memory.get(None, key, &self.me).unwrap()
    }

    fn value(&self, key: &str) -> Option<String> {
        self.get(key).map(|entry| entry.value.to_string())
    }

    /// Contents of a tree.
    fn rows(&self, tree: Rows) -> Vec<(Vec<u8>, Vec<u8>)> {
        rows(&self.store, tree)
    }
}

fn rows(store: &MemStore, tree: Rows) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut all, mut from) = (Vec::new(), None);
    loop {
        let page = store.scan(tree, &Scan { prefix: vec![], from, limit: 1_000, order: Order::Ascending }).unwrap();
        all.extend(page.items.into_iter().map(|(key, rec)| (key, rec.bytes)));
        from = page.next;
        if from.is_none() {
            return all;
        }
    }
}

/// Entries as stored, expired ones included.
fn entries_in(store: &MemStore) -> Vec<EntryRecord> {
    let rec = |bytes| muster_store::Rec { schema: 1, bytes };
    rows(store, Rows::Memory).into_iter().map(|(_, bytes)| EntryRecord::decode(&rec(bytes)).unwrap()).collect()
}

fn new(key: &str, value: &str) -> NewEntry {
    NewEntry { key: key.to_owned(), value: value.to_owned(), ..NewEntry::default() }
}
