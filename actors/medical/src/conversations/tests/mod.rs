mod expiry;
mod ownership;
mod sealing;

use std::sync::Arc;
use std::time::Duration;

use muster_core::supervise::Tree;
use muster_core::{Clock, Kind, test_world};
use muster_seal::RecordSecret;
use muster_store::{MemStore, Scan, StoreHandle, Tree as StoreTree};

use super::*;

/// 32 bytes in base64, and others.
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const OTHER_KEY: &str = "BBECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const HOUR: Duration = Duration::from_secs(3600);

/// The actor on a store, with its settings.
struct World {
    store: StoreHandle,
    clock: Clock,
    tree: Tree,
    started: usize,
}

impl World {
    fn new(tree: &Tree) -> Self {
        Self {
            store: Arc::new(MemStore::default()),
            clock: Clock::tokio(test_world::START),
            tree: tree.clone(),
            started: 0,
        }
    }

    /// Starts another incarnation on the same store.
    async fn start(&mut self, keep_hours: u64, key: Option<&str>) -> Conversations {
        self.started += 1;
        let options = ConversationOptions {
            store: Arc::clone(&self.store),
            clock: self.clock.clone(),
            keep_hours,
            most_per_owner: 3,
            secret: key.map(|text| RecordSecret::parse(text).unwrap()),
        };
        let group = self.tree.group(&format!("medical-{}", self.started));
        let conversations = Conversations::start(&group, actix_rt::Arbiter::current(), options);
        conversations.up().await;
        conversations
    }

    /// All bytes of a tree of the store.
    fn bytes(&self, tree: StoreTree) -> Vec<u8> {
        let page = self.store.scan(tree, &Scan { limit: 1000, ..Scan::default() }).unwrap();
        page.items.into_iter().flat_map(|(key, rec)| [key, rec.bytes].concat()).collect()
    }

    /// The actions of the audit log.
    fn audited(&self) -> String {
        String::from_utf8_lossy(&self.bytes(StoreTree::AuditLog)).into_owned()
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

fn turn(owner: &str, conversation: Option<&str>, message: &str) -> NewTurn {
    let known = KnownFacts { present: [(message.to_owned(), false)].into(), ..KnownFacts::default() };
    NewTurn {
        owner: owner.to_owned(),
        conversation: conversation.map(str::to_owned),
        request_id: "req_1".to_owned(),
        message: message.to_owned(),
        response: "See a doctor.".to_owned(),
        level: Some("consultation".to_owned()),
        ruleset: "0123".to_owned(),
        known,
    }
}

fn owner(name: &str) -> Reader {
    Reader::Owner(name.to_owned())
}
