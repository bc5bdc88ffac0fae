//! Reads of entries for their owners; entries that expire before the response are omitted. Blocking.

use std::sync::Arc;

use muster_store::{PageRequest, StoreError, StoreHandle, Tree};

use super::cursor;
use super::keys;
use super::messages::{ListParams, SpaceStats};
use super::names::MAX_KEY;
use super::record::{EntryId, EntryRecord, Owner, Place, Space, Usage};
use super::service::MemoryOptions;
use super::stored;
use super::usage_cache::owner_total;
use muster_core::page::Page;
use muster_core::{Error, Millis};
use muster_identity::By;

/// Maximum number of ids examined for a page of a list: a selective filter returns a short page with a cursor.
const MAX_EXAMINED: usize = 2_000;
/// Ids read per page.
const PAGE: usize = 200;
/// Maximum number of namespaces in statistics.
const MAX_SPACES: usize = 1_000;

/// Returns the entry that a caller names, expired or not. Keys are examined up in the namespace, ids among the caller's
/// own and shared entries.
///
/// # Errors
/// The store cannot be read.
pub(super) fn named(
    options: &MemoryOptions,
    namespace: Option<&str>,
    key_or_id: &str,
    by: &By,
) -> Result<Option<EntryRecord>, StoreError> {
    let (store, settings) = (&options.store, &options.settings);
    if (1..=MAX_KEY).contains(&key_or_id.len()) {
        let place = Place::new(settings.space(by, namespace), key_or_id);
        if let Some(entry) = stored::entry(store, &place)? {
            return Ok(Some(entry));
        }
    }
    let Ok(id) = key_or_id.parse::<EntryId>() else { return Ok(None) };
    let own = stored::entry_by_id(store, &Owner::new(by.id()), id)?;
    let entry = match own {
        Some(entry) => Some(entry),
        // Entries of a namespace that is no longer shared cannot be read.
        None => stored::entry_by_id(store, &Owner::shared(), id)?.filter(|entry| settings.is_shared(entry.namespace())),
    };
    Ok(entry.filter(|entry| namespace.is_none_or(|namespace| namespace == entry.namespace())))
}

/// Returns an entry's unexpired versions, newest first.
///
/// # Errors
/// The store cannot be read.
pub(super) fn versions(store: &StoreHandle, present: EntryRecord, now: Millis) -> Result<Vec<EntryRecord>, StoreError> {
    let kept: Vec<u32> = present.kept.iter().rev().map(|kept| kept.version).collect();
    let id = present.id;
    let mut versions = vec![present];
    for version in kept {
        // It may have been swept or evicted since.
        versions.extend(stored::version(store, id, version)?.filter(|version| !version.expired(now)));
    }
    Ok(versions)
}

/// Returns a page of entries, newest creation first.
///
/// # Errors
/// `Invalid` for a cursor of another list; the store cannot be read.
pub(super) fn list(options: &MemoryOptions, params: &ListParams, by: &By) -> Result<Page<EntryRecord>, Error> {
    let (owner, namespace) = resolve(options, params.namespace.as_deref(), by);
    let space = namespace.map(|namespace| Space { owner: owner.clone(), namespace });
    let request = (&owner, &params.namespace, &params.tags, &params.key_prefix, &params.thread);
    let before = params.page.after.as_deref().map(|cursor| cursor::read::<EntryId>(cursor, &request)).transpose()?;
    let prefix = space.as_ref().map_or_else(|| keys::ids_of_owner(&owner), keys::ids_of_space);
    let scan = IdScan { store: &options.store, prefix, space, before };
    let limit = params.page.limit.clamp(1, 200);
    let (mut items, mut last): (Vec<EntryRecord>, Option<EntryId>) = (Vec::new(), None);
    let more = scan.each(|place, id| {
        if items.len() == limit {
            return Ok(Flow::Stop);
        }
        last = Some(id);
        if params.key_prefix.as_ref().is_none_or(|prefix| place.key.starts_with(prefix.as_str())) {
            let entry = stored::entry(&options.store, &place)?;
            items.extend(entry.filter(|entry| entry.id == id && matches(params, entry, options.clock.now())));
        }
        Ok(Flow::Continue)
    })?;
    let next = last.filter(|_| more == Flow::Stop).map(|id| cursor::cursor(id, &request));
    Ok(Page { items, next })
}

fn matches(params: &ListParams, entry: &EntryRecord, now: Millis) -> bool {
    !entry.expired(now)
        && params.tags.iter().all(|tag| entry.tags.contains(tag))
        && params.thread.as_ref().is_none_or(|thread| entry.thread.as_ref() == Some(thread))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Continue,
    Stop,
}

/// Iteration over ids, newest first.
struct IdScan<'a> {
    store: &'a StoreHandle,
    prefix: Vec<u8>,
    /// The common space; otherwise each record has its own.
    space: Option<Space>,
    before: Option<EntryId>,
}

impl IdScan<'_> {
    /// Calls `visit` for each id. Returns `Stop` if more may follow: the visitor stopped, or the limit was reached.
    fn each(&self, mut visit: impl FnMut(Place, EntryId) -> Result<Flow, StoreError>) -> Result<Flow, StoreError> {
        let from = self.before.map(|id| [self.prefix.as_slice(), &id.0.to_be_bytes()].concat());
        let page = PageRequest::of(PAGE).starting_at(from).descending();
        let mut examined = 0;
        for entry in self.store.entries(Tree::MemoryIds, self.prefix.as_slice(), page) {
            let (key, rec) = entry?;
            let Some(id) = keys::read_id(&key).filter(|id| self.before.is_none_or(|before| *id < before)) else {
                continue;
            };
            if examined == MAX_EXAMINED {
                return Ok(Flow::Stop);
            }
            examined += 1;
            let place = match &self.space {
                Some(space) => Place { space: space.clone(), key: stored::read_key(rec.bytes)? },
                None => stored::read_place(&rec.bytes)?,
            };
            if visit(place, id)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}

/// Returns the usage of an owner and of its first namespaces.
///
/// # Errors
/// The store cannot be read.
pub(super) fn usages(store: &StoreHandle, owner: &Owner) -> Result<(Usage, Vec<SpaceStats>), StoreError> {
    let prefix = keys::usages(owner);
    let mut spaces = Vec::new();
    // The first record is the owner's own usage.
    for found in store.records::<Usage>(prefix.as_slice(), PageRequest::default()).take(MAX_SPACES + 1) {
        let (key, usage) = found?;
        let namespace = key.get(prefix.len()..).unwrap_or_default();
        if namespace.is_empty() || spaces.len() == MAX_SPACES {
            continue;
        }
        spaces.push(SpaceStats { namespace: Arc::from(String::from_utf8_lossy(namespace)), usage });
    }
    Ok((stored::usage(store, &owner_total(owner))?, spaces))
}

/// Resolves the owner and namespace of a search or list.
pub(super) fn resolve(options: &MemoryOptions, namespace: Option<&str>, by: &By) -> (Owner, Option<Arc<str>>) {
    match namespace {
        None => (Owner::new(by.id()), None),
        Some(namespace) => {
            let space = options.settings.space(by, Some(namespace));
            (space.owner, Some(space.namespace))
        }
    }
}
