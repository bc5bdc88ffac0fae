//! Which conversations there are, whose, and until when. Pure: time is an argument, and the contents are elsewhere.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use muster_core::{Error, Kind, Millis};

use super::record::{ConversationRecord, NoticeRecord};

/// Most conversations that one sweep deletes.
const SWEPT: usize = 500;
/// Most notices that wait for one owner; of more the oldest are dropped, which the audit log keeps.
const MAX_NOTICES: usize = 100;

/// How long and how much is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Milliseconds after the last message.
    pub(super) keep_ms: u64,
    /// Conversations of one owner.
    pub(super) most: usize,
}

/// A conversation, without its content.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) owner: String,
    /// Time at which it ends.
    pub(super) ends: Millis,
    pub(super) sealed_by: [u8; 8],
    /// The number of the last change, and its record until that is durable.
    pub(super) change: u64,
    pub(super) undurable: Option<Arc<ConversationRecord>>,
}

/// All conversations and notices.
#[derive(Debug)]
pub(super) struct ConversationState {
    bounds: Bounds,
    entries: BTreeMap<String, Entry>,
    by_owner: BTreeMap<String, BTreeSet<String>>,
    notices: BTreeMap<String, VecDeque<NoticeRecord>>,
    changes: u64,
}

impl ConversationState {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { bounds, entries: BTreeMap::new(), by_owner: BTreeMap::new(), notices: BTreeMap::new(), changes: 0 }
    }

    /// Takes a stored record. One that was promised to end earlier, or that the present settings keep for a shorter time,
    /// ends then.
    pub(super) fn load(&mut self, record: &ConversationRecord) {
        let ends = record.ends.0.min(record.last.0.saturating_add(self.bounds.keep_ms));
        self.insert(record, Millis(ends), None);
    }

    pub(super) fn load_notice(&mut self, notice: NoticeRecord) {
        self.notices.entry(notice.owner.clone()).or_default().push_back(notice);
    }

    /// Time at which a conversation ends whose last message comes now.
    pub(super) fn ends(&self, now: Millis) -> Millis {
        Millis(now.0.saturating_add(self.bounds.keep_ms))
    }

    /// Finds a conversation of an owner.
    ///
    /// # Errors
    /// `NotFound` if there is none, it has ended, or it belongs to another.
    pub(super) fn of_owner(&self, id: &str, owner: &str, now: Millis) -> Result<&Entry, Error> {
        self.any(id, now).and_then(|entry| if entry.owner == owner { Ok(entry) } else { Err(missing()) })
    }

    /// Finds a conversation of anybody.
    ///
    /// # Errors
    /// `NotFound` if there is none, or it has ended.
    pub(super) fn any(&self, id: &str, now: Millis) -> Result<&Entry, Error> {
        self.entries.get(id).filter(|entry| now < entry.ends).ok_or_else(missing)
    }

    /// Checks that an owner may begin another conversation.
    ///
    /// # Errors
    /// `QuotaExceeded`.
    pub(super) fn may_begin(&self, owner: &str, now: Millis) -> Result<(), Error> {
        let of_owner = self.by_owner.get(owner);
        let lasting = |id: &&String| self.entries.get(*id).is_some_and(|entry| now < entry.ends);
        if of_owner.map_or(0, |ids| ids.iter().filter(lasting).count()) < self.bounds.most {
            return Ok(());
        }
        let message = format!(
            "this key keeps {} conversations, the most that it may: delete one (DELETE /api/medical/conversations/{{id}}), \
             wait until one ends, or send no conversationId",
            self.bounds.most
        );
        Err(Error::new(Kind::QuotaExceeded, message).coded("conversation_quota"))
    }

    /// Takes a new version of a conversation. Returns the number of the change.
    pub(super) fn put(&mut self, record: Arc<ConversationRecord>) -> u64 {
        let ends = record.ends;
        self.insert(&record.clone(), ends, Some(record))
    }

    fn insert(&mut self, record: &ConversationRecord, ends: Millis, undurable: Option<Arc<ConversationRecord>>) -> u64 {
        self.changes += 1;
        let (owner, change) = (record.owner.clone(), self.changes);
        self.by_owner.entry(owner.clone()).or_default().insert(record.id.clone());
        let entry = Entry { owner, ends, sealed_by: record.sealed_by, change, undurable };
        self.entries.insert(record.id.clone(), entry);
        change
    }

    /// Forgets the record of a change that is durable, unless a later one follows.
    pub(super) fn durable(&mut self, id: &str, change: u64) {
        if let Some(entry) = self.entries.get_mut(id)
            && entry.change == change
        {
            entry.undurable = None;
        }
    }

    pub(super) fn remove(&mut self, id: &str) {
        let Some(entry) = self.entries.remove(id) else { return };
        if let Some(ids) = self.by_owner.get_mut(&entry.owner) {
            ids.remove(id);
            if ids.is_empty() {
                self.by_owner.remove(&entry.owner);
            }
        }
    }

    /// Some of the conversations that have ended.
    pub(super) fn ended(&self, now: Millis) -> Vec<String> {
        let over = self.entries.iter().filter(|(_, entry)| entry.ends <= now);
        over.map(|(id, _)| id.clone()).take(SWEPT).collect()
    }

    /// Removes every conversation; returns which.
    pub(super) fn take_all(&mut self) -> Vec<String> {
        self.by_owner.clear();
        std::mem::take(&mut self.entries).into_keys().collect()
    }

    /// Adds a notice. Returns one that is dropped for it.
    pub(super) fn notify(&mut self, notice: NoticeRecord) -> Option<NoticeRecord> {
        let waiting = self.notices.entry(notice.owner.clone()).or_default();
        waiting.push_back(notice);
        if waiting.len() > MAX_NOTICES { waiting.pop_front() } else { None }
    }

    pub(super) fn has_notices(&self, owner: &str) -> bool {
        self.notices.contains_key(owner)
    }

    pub(super) fn take_notices(&mut self, owner: &str) -> Vec<NoticeRecord> {
        self.notices.remove(owner).map(Vec::from).unwrap_or_default()
    }

    /// Numbers of conversations that have not ended, and of those that are sealed with another key.
    pub(super) fn count(&self, key: Option<[u8; 8]>, now: Millis) -> (usize, usize) {
        let lasting = || self.entries.values().filter(|entry| now < entry.ends);
        (lasting().count(), lasting().filter(|entry| Some(entry.sealed_by) != key).count())
    }
}

fn missing() -> Error {
    let message = "there is no such conversation of this key: it has ended, was deleted or never was; begin one with \
                   `conversationId` \"new\"";
    Error::new(Kind::NotFound, message)
}
