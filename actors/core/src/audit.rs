//! The audit log: security-relevant actions, each written in the same batch as the action itself, so that neither
//! exists without the other.

use muster_store::{Encoding, Op, PageRequest, Record, StoreError, StoreHandle, Tree};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{IdKind, new_id};
use crate::page::{Page, PageParams};
use crate::{Error, Kind, Millis};

/// Maximum number of entries examined for one page. A selective filter may yield a short page with a cursor.
const MAX_EXAMINED: usize = 5_000;
/// Number of entries read at a time.
const READ: usize = 200;

/// An entry of the audit log. Never contains a secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// `aud_…`; sorts by time.
    pub id: String,
    /// Time of the action.
    pub at: Millis,
    /// `usr_…`, `key_…`, `dev_…` or `system`.
    pub actor: String,
    /// Name of the action, such as `refresh_reuse_detected`.
    pub action: String,
    /// Identifier of the resource that the action affected.
    pub resource: String,
    /// Further details of the action.
    pub details: Value,
}

impl AuditEntry {
    /// Creates an entry for an action of the principal `actor`, who may have been deleted since.
    pub fn new(at: Millis, actor: &str, action: &str, resource: &str, details: Value) -> Self {
        let id = new_id(IdKind::Audit);
        Self { id, at, actor: actor.to_owned(), action: action.to_owned(), resource: resource.to_owned(), details }
    }

    /// Returns the write to add to the batch of the action.
    ///
    /// # Errors
    ///
    /// Fails if the entry is too large to be stored.
    pub fn op(&self) -> Result<Op, StoreError> {
        Ok(Op::Put { tree: Tree::Audit, key: self.id.clone().into_bytes(), rec: self.encode()? })
    }
}

impl Record for AuditEntry {
    const TREE: Tree = Tree::Audit;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// Conditions on entries; all given ones must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Principal that acted.
    pub actor: Option<String>,
    /// Name of the action, or its beginning and `*`.
    pub action: Option<String>,
    /// Identifier of the affected resource.
    pub resource: Option<String>,
    /// Earliest time, inclusive.
    pub from: Option<Millis>,
    /// Latest time, exclusive.
    pub to: Option<Millis>,
}

impl AuditFilter {
    /// Returns whether an entry meets the conditions.
    pub fn matches(&self, entry: &AuditEntry) -> bool {
        let action = |wanted: &String| match wanted.strip_suffix('*') {
            Some(beginning) => entry.action.starts_with(beginning),
            None => entry.action == *wanted,
        };
        self.actor.as_ref().is_none_or(|actor| entry.actor == *actor)
            && self.action.as_ref().is_none_or(action)
            && self.resource.as_ref().is_none_or(|resource| entry.resource == *resource)
            && self.from.is_none_or(|from| entry.at >= from)
            && self.to.is_none_or(|to| entry.at < to)
    }
}

/// The audit log, for reading.
#[derive(Clone)]
pub struct AuditLog {
    store: StoreHandle,
}

impl std::fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AuditLog")
    }
}

impl AuditLog {
    /// Returns the log of a store.
    pub fn new(store: StoreHandle) -> Self {
        Self { store }
    }

    /// Returns a page of the entries that match a filter, newest first. The page may be short, or even empty, and have a
    /// cursor, if few entries match.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn list(&self, filter: AuditFilter, page: PageParams) -> Result<Page<AuditEntry>, Error> {
        let store = self.store.clone();
        let read = tokio::task::spawn_blocking(move || read(&store, &filter, &page)).await;
        let read = read.map_err(|_| Error::new(Kind::Internal, "the audit log could not be read completely"))?;
        Ok(read?)
    }
}

/// Reads a page. Blocking.
fn read(store: &StoreHandle, filter: &AuditFilter, page: &PageParams) -> Result<Page<AuditEntry>, StoreError> {
    // An identifier begins with the time at which it was made, which is never before the entry's own time: an entry that
    // was made before `from` ends the search.
    let from = page.after.as_ref().map(|cursor| cursor.clone().into_bytes());
    let request = PageRequest::of(READ).starting_at(from).descending();
    let mut found = Page { items: Vec::new(), next: None };
    for (examined, entry) in store.records::<AuditEntry>("", request).values().enumerate() {
        let entry = entry?;
        if page.after.as_ref().is_some_and(|cursor| entry.id >= *cursor) {
            continue;
        }
        if found.items.len() >= page.limit || examined >= MAX_EXAMINED {
            return Ok(found);
        }
        if filter.from.is_some_and(|from| is_before(&entry.id, from)) {
            break;
        }
        found.next = Some(entry.id.clone());
        if filter.matches(&entry) {
            found.items.push(without_instruction(entry));
        }
    }
    Ok(Page { next: None, ..found })
}

/// Returns whether an entry with this identifier, and every earlier one, was made before a time.
fn is_before(id: &str, time: Millis) -> bool {
    let earliest = ulid::Ulid::from_parts(time.0, 0).to_string();
    let first = format!("{}_{}", IdKind::Audit.prefix(), earliest.get(..10).unwrap_or_default());
    *id < *first
}

/// Removes the instruction of a redirected task, which entries of earlier versions contain.
fn without_instruction(mut entry: AuditEntry) -> AuditEntry {
    if let Some(control) = entry.details.pointer_mut("/control").and_then(Value::as_object_mut) {
        control.remove("instruction");
    }
    entry
}

#[cfg(test)]
mod tests {
    use muster_store::{Batch, MemStore, Store};
    use serde_json::json;

    use super::*;

    async fn log(entries: &[AuditEntry]) -> AuditLog {
        let store = std::sync::Arc::new(MemStore::default());
        let ops = entries.iter().map(|entry| entry.op().unwrap()).collect();
        store.commit(Batch { ops, ..Batch::default() }).await.unwrap();
        AuditLog::new(store)
    }

    fn entry(number: u64, actor: &str, action: &str) -> AuditEntry {
        let at = Millis(1_800_000_000_000 + number);
        let id = format!("aud_{}", ulid::Ulid::from_parts(at.0, u128::from(number)));
        AuditEntry { id, ..AuditEntry::new(at, actor, action, "dev_1", json!({ "number": number })) }
    }

    fn numbers(page: &Page<AuditEntry>) -> Vec<u64> {
        page.items.iter().map(|entry| entry.details["number"].as_u64().unwrap()).collect()
    }

    #[tokio::test]
    async fn pages_follow_one_another_newest_first() {
        let entries: Vec<_> = (0..7).map(|number| entry(number, "usr_1", "login")).collect();
        let log = log(&entries).await;
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = log.list(AuditFilter::default(), PageParams { limit: 3, after }).await.unwrap();
            seen.extend(numbers(&page));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, [6, 5, 4, 3, 2, 1, 0]);
    }

    #[tokio::test]
    async fn every_condition_selects() {
        let entries = [
            entry(0, "usr_1", "login"),
            entry(1, "usr_2", "task_kill"),
            entry(2, "usr_2", "task_pause"),
            entry(3, "usr_1", "task_kill"),
        ];
        let log = log(&entries).await;
        let of = async |filter: AuditFilter| numbers(&log.list(filter, PageParams::default()).await.unwrap());
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(of(AuditFilter { actor: text("usr_2"), ..AuditFilter::default() }).await, [2, 1]);
        assert_eq!(of(AuditFilter { action: text("task_kill"), ..AuditFilter::default() }).await, [3, 1]);
        assert_eq!(of(AuditFilter { action: text("task_*"), ..AuditFilter::default() }).await, [3, 2, 1]);
        assert_eq!(of(AuditFilter { action: text("task_"), ..AuditFilter::default() }).await, [0_u64; 0]);
        assert_eq!(of(AuditFilter { resource: text("dev_2"), ..AuditFilter::default() }).await, [0_u64; 0]);
        let (from, to) = (Some(entries[1].at), Some(entries[3].at));
        assert_eq!(of(AuditFilter { from, to, ..AuditFilter::default() }).await, [2, 1]);
    }

    #[tokio::test]
    async fn an_instruction_of_an_earlier_version_is_not_returned() {
        let control = json!({ "verb": "redirect", "mode": "steer", "instruction": "a secret plan", "agent": null });
        let mut old = entry(0, "usr_1", "task_redirect");
        old.details = json!({ "number": 0, "control": control });
        let page = log(&[old]).await.list(AuditFilter::default(), PageParams::default()).await.unwrap();
        let details = &page.items[0].details;
        assert!(!details.to_string().contains("secret plan"), "{details}");
        assert_eq!(details["control"]["mode"], "steer");
    }
}
