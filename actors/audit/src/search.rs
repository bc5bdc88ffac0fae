//! Search: conditions on entries, and pages of those that meet them, newest first.

use muster_core::Millis;
use muster_core::audit::{AuditEntry, AuditRecord, Outcome};
use muster_core::page::{Page, PageParams};
use muster_core::{Error, Kind};
use muster_store::{Order, Scan, StoreError, Tree};
use serde_json::Value;

use crate::summary::{self, Summary};
use crate::tiles::{LogReader, WIDTH};

/// Tiles whose entries are read for one page.
const MOST_TILES: usize = 64;
/// Summaries that are read for one page.
const MOST_SUMMARIES: usize = 20_000;
/// Summaries that are read at a time.
const SUMMARIES: usize = 512;

/// Conditions on entries; all given ones must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Principal that acted.
    pub actor: Option<String>,
    /// Name of the action, or its beginning and `*`.
    pub action: Option<String>,
    /// Identifier of the affected resource.
    pub resource: Option<String>,
    /// Approval under which it was done.
    pub approval: Option<String>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Earliest time, inclusive.
    pub from: Option<Millis>,
    /// Latest time, exclusive.
    pub to: Option<Millis>,
}

/// Returns whether an action is the wanted one, or begins as it does.
pub(crate) fn is_action(wanted: &str, action: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(beginning) => action.starts_with(beginning),
        None => action == wanted,
    }
}

impl AuditFilter {
    /// Returns whether an entry meets the conditions.
    #[must_use]
    pub fn matches(&self, entry: &AuditEntry) -> bool {
        self.actor.as_ref().is_none_or(|actor| entry.actor == *actor)
            && self.action.as_ref().is_none_or(|wanted| is_action(wanted, &entry.action))
            && self.resource.as_ref().is_none_or(|resource| entry.resource == *resource)
            && self.approval.as_ref().is_none_or(|approval| entry.approval.as_ref() == Some(approval))
            && self.outcome.is_none_or(|outcome| entry.outcome == outcome)
            && self.from.is_none_or(|from| entry.at >= from)
            && self.to.is_none_or(|to| entry.at < to)
    }
}

/// An entry with its number, as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberedEntry {
    /// Number of the entry, from 0.
    pub seq: u64,
    /// The parsed entry.
    pub entry: AuditEntry,
    /// Its record.
    pub record: AuditRecord,
}

impl NumberedEntry {
    pub(crate) fn of(seq: u64, record: AuditRecord) -> Result<Self, StoreError> {
        Ok(Self { seq, entry: record.entry()?, record })
    }
}

/// Reads a page of the entries that meet the conditions, newest first. Blocking. The page may be short, or even empty, and
/// have a cursor, if few entries match. The cursor is the number of the last entry that was looked at.
pub(crate) fn list(log: &LogReader, filter: &AuditFilter, page: &PageParams) -> Result<Page<NumberedEntry>, Error> {
    let mut next = match &page.after {
        Some(cursor) => cursor.parse().map_err(|_| {
            Error::field(
                Kind::Invalid,
                &["query", "cursor"],
                "is no cursor of this list",
                Value::String(cursor.clone()),
            )
        })?,
        None => log.length(),
    };
    next = next.min(log.length());
    let mut found = Vec::new();
    let mut tiles = Candidates::new(log, next);
    for _ in 0..MOST_TILES {
        // The next tile that may have a match, at or below `next`.
        let Some(index) = tiles.next_below(next, filter)? else {
            return Ok(Page { items: found, next: None });
        };
        if index.beyond_bounds {
            next = (index.tile + 1) * WIDTH;
            break;
        }
        let (first, end) = (index.tile * WIDTH, next.min((index.tile + 1) * WIDTH));
        let count = usize::try_from(end.saturating_sub(first)).unwrap_or_default();
        for (place, record) in log.exactly(first, count)?.into_iter().enumerate().rev() {
            let seq = first + place as u64;
            let candidate = NumberedEntry::of(seq, record)?;
            if filter.matches(&candidate.entry) {
                if found.len() >= page.limit {
                    return Ok(Page { items: found, next: Some((seq + 1).to_string()) });
                }
                found.push(candidate);
            }
        }
        next = first;
        if next == 0 {
            return Ok(Page { items: found, next: None });
        }
    }
    Ok(Page { items: found, next: Some(next.to_string()) })
}

/// A tile to read, or the place at which a page ends because too many were ruled out.
struct Candidate {
    tile: u64,
    beyond_bounds: bool,
}

/// Goes through the summaries from the last tile to the first.
struct Candidates<'a> {
    log: &'a LogReader,
    /// Summaries that were read, the highest tile last.
    read: Vec<(u64, Option<Summary>)>,
    /// Where reading goes on; `None` at the end.
    from: Option<u64>,
    examined: usize,
}

impl<'a> Candidates<'a> {
    fn new(log: &'a LogReader, next: u64) -> Self {
        Self { log, read: Vec::new(), from: next.checked_sub(1).map(|last| last / WIDTH), examined: 0 }
    }

    fn next_below(&mut self, next: u64, filter: &AuditFilter) -> Result<Option<Candidate>, StoreError> {
        let Some(highest) = next.checked_sub(1).map(|last| last / WIDTH) else { return Ok(None) };
        let mut tile = highest;
        loop {
            let may_match = match self.summary(tile)? {
                // The newest entries, and those whose summary is lost, are read.
                None => true,
                Some(summary) => *filter == AuditFilter::default() || summary.may_match(filter),
            };
            if may_match {
                return Ok(Some(Candidate { tile, beyond_bounds: false }));
            }
            self.examined += 1;
            if self.examined >= MOST_SUMMARIES && tile > 0 {
                return Ok(Some(Candidate { tile: tile - 1, beyond_bounds: true }));
            }
            match tile.checked_sub(1) {
                Some(below) => tile = below,
                None => return Ok(None),
            }
        }
    }

    fn summary(&mut self, tile: u64) -> Result<Option<&Summary>, StoreError> {
        while self.read.last().is_some_and(|(read, _)| *read > tile) {
            self.read.pop();
        }
        if self.read.is_empty() && self.from.is_some_and(|from| from >= tile) {
            self.fill(tile)?;
        }
        let found = self.read.last().filter(|(read, _)| *read == tile);
        Ok(found.and_then(|(_, summary)| summary.as_ref()))
    }

    fn fill(&mut self, tile: u64) -> Result<(), StoreError> {
        let from = Some(Summary::key(tile));
        let scan = Scan { prefix: Summary::prefix(), from, limit: SUMMARIES, order: Order::Descending };
        let page = self.log.store().scan(Tree::AuditTiles, &scan)?;
        self.from = page.next.as_deref().and_then(Summary::index);
        let read = page.items.iter().filter_map(|(key, rec)| Some((Summary::index(key)?, summary::decode(rec).ok())));
        self.read = read.collect();
        self.read.reverse();
        Ok(())
    }
}
