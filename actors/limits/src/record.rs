//! Storage of a bucket: a head with the lease, and the log in segments of 256 events, so that the cost of a write
//! depends on what changed and not on the size of the log.
//!
//! Keys: `<subject> NUL <category> NUL h` for the head, `… NUL s <number, big-endian>` for a segment. The head is read
//! first, so segments may be newer than the head but not older: events beyond its `next` are ignored (the head's lease
//! covers them), and events before its `first` have expired.

use std::collections::{BTreeSet, VecDeque};

use muster_store::{Batch, PageRequest, Rec, Record, Store, StoreError, Tree};
use serde::{Deserialize, Serialize};

use super::log::{Event, EventLog, SEGMENT, Spend};
use super::rule::Window;
use super::subject::BucketKey;

const HEAD: u8 = b'h';
const SEGMENT_KEY: u8 = b's';
/// Number of times that a bucket is read again if it changes meanwhile. At most one write can be in progress.
const READS: usize = 3;

/// The head of a stored bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    /// Milliseconds since the epoch, as all times here.
    pub(super) written_at: u64,
    /// Time from which nothing charged so far counts any more.
    pub(super) over_at: u64,
    /// Numbers of the first stored event, and of the one after the last.
    first: u64,
    next: u64,
    /// How much more may have been charged since.
    lease_requests: u64,
    lease_tokens: u64,
    minute: bool,
    hour: bool,
    day: bool,
}

impl Record for Head {
    const TREE: Tree = Tree::Limits;
    const SCHEMA: u16 = 1;
}

/// A segment: number and time of its first event, then each event as milliseconds since the previous one, requests,
/// tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Segment {
    first: u64,
    at: u64,
    events: Vec<(u64, u32, u32)>,
}

impl Record for Segment {
    const TREE: Tree = Tree::Limits;
    const SCHEMA: u16 = 1;
}

impl Head {
    pub(super) fn lease(&self) -> Spend {
        Spend { requests: self.lease_requests, tokens: self.lease_tokens }
    }

    pub(super) fn windows(&self) -> Vec<Window> {
        let all = [(self.minute, Window::Minute), (self.hour, Window::Hour), (self.day, Window::Day)];
        all.into_iter().filter_map(|(watched, window)| watched.then_some(window)).collect()
    }

    fn of(log: &EventLog, lease: Spend, now: u64) -> Self {
        let watches = |window| log.windows().any(|watched| watched == window);
        Self {
            written_at: now,
            over_at: log.over_at(),
            first: log.first(),
            next: log.next(),
            lease_requests: lease.requests,
            lease_tokens: lease.tokens,
            minute: watches(Window::Minute),
            hour: watches(Window::Hour),
            day: watches(Window::Day),
        }
    }
}

impl Segment {
    fn of(log: &EventLog, number: u64) -> Self {
        let (first, events) = log.segment(number);
        let mut segment = Self { first, at: 0, events: Vec::new() };
        let mut before = None;
        for event in events {
            let since = before.map_or(0, |at| event.at.saturating_sub(at));
            if before.is_none() {
                segment.at = event.at;
            }
            before = Some(event.at);
            segment.events.push((since, event.requests, event.tokens));
        }
        segment
    }

    fn events(&self) -> impl Iterator<Item = (u64, Event)> {
        let mut at = self.at;
        (self.first..).zip(&self.events).map(move |(number, &(since, requests, tokens))| {
            at = at.saturating_add(since);
            (number, Event { at, requests, tokens })
        })
    }
}

fn prefix(key: &BucketKey) -> Vec<u8> {
    [key.subject.as_str().as_bytes(), b"\0", key.category.name().as_bytes(), b"\0"].concat()
}

pub(super) fn head_key(key: &BucketKey) -> Vec<u8> {
    with(prefix(key), HEAD, &[])
}

fn segment_key(prefix: &[u8], number: u64) -> Vec<u8> {
    with(prefix.to_vec(), SEGMENT_KEY, &number.to_be_bytes())
}

fn with(mut prefix: Vec<u8>, kind: u8, rest: &[u8]) -> Vec<u8> {
    prefix.push(kind);
    prefix.extend_from_slice(rest);
    prefix
}

/// Returns the prefix of the bucket whose head has this key; `None` if the key is not that of a head.
pub(super) fn prefix_of_head(key: &[u8]) -> Option<&[u8]> {
    let (last, prefix) = key.split_last()?;
    (*last == HEAD && prefix.ends_with(b"\0")).then_some(prefix)
}

/// A bucket as read from the store.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) head: Head,
    pub(super) events: VecDeque<Event>,
    /// Number of the first of the events.
    pub(super) first: u64,
    /// The stored segments.
    pub(super) segments: BTreeSet<u64>,
}

/// Reads a bucket. Blocking: a few short reads. A concurrent write (of an actor that has just died) may have removed
/// expired segments in between; the bucket is then read again.
pub(super) fn read(store: &dyn Store, key: &BucketKey) -> Result<Option<Stored>, StoreError> {
    let mut head = store.get(Tree::Limits, &head_key(key))?;
    for _ in 0..READS {
        let Some(rec) = head else { return Ok(None) };
        let stored = read_under(store, key, Head::decode(&rec)?)?;
        if stored.is_whole() {
            return Ok(Some(stored));
        }
        head = store.get(Tree::Limits, &head_key(key))?;
        if head.as_ref() == Some(&rec) {
            return Err(StoreError::Corrupt(format!("limits: {}: events are missing", key.category.name())));
        }
    }
    Err(StoreError::Busy)
}

fn read_under(store: &dyn Store, key: &BucketKey, head: Head) -> Result<Stored, StoreError> {
    let kept = head.first..head.next;
    let mut stored = Stored { first: kept.end, head, events: VecDeque::new(), segments: BTreeSet::new() };
    for (number, rec) in segments(store, &prefix(key))? {
        stored.segments.insert(number);
        for (number, event) in Segment::decode(&rec)?.events().filter(|(number, _)| kept.contains(number)) {
            stored.first = stored.first.min(number);
            stored.events.push_back(event);
        }
    }
    Ok(stored)
}

impl Stored {
    /// Returns whether every event named by the head is present. Segments do not overlap, so counting is sufficient.
    fn is_whole(&self) -> bool {
        self.first == self.head.first && self.events.len() as u64 == self.head.next.saturating_sub(self.head.first)
    }
}

/// Returns all segments under a bucket's prefix, in order.
fn segments(store: &dyn Store, prefix: &[u8]) -> Result<Vec<(u64, Rec)>, StoreError> {
    let prefix = with(prefix.to_vec(), SEGMENT_KEY, &[]);
    let entries = store.entries(Tree::Limits, prefix.as_slice(), PageRequest::default());
    let numbered = |entry: Result<(Vec<u8>, Rec), StoreError>| {
        let (key, rec) = entry?;
        let number = key.strip_prefix(prefix.as_slice()).and_then(|rest| <[u8; 8]>::try_from(rest).ok());
        let number = number.ok_or_else(|| StoreError::Corrupt("limits: an unknown key".to_owned()))?;
        Ok((u64::from_be_bytes(number), rec))
    };
    entries.map(numbered).collect()
}

/// Returns the batch that stores the log, with a lease beyond it. `changed` are the segments to write, `gone` those to
/// delete; an empty log without a lease leaves no record.
pub(super) fn batch(
    key: &BucketKey,
    log: &EventLog,
    lease: Spend,
    now: u64,
    changed: &BTreeSet<u64>,
    gone: &[u64],
) -> Result<Batch, StoreError> {
    let prefix = prefix(key);
    let mut batch = if log.is_empty() && lease == Spend::default() {
        Batch::delete(Tree::Limits, head_key(key))
    } else {
        Batch::put(Tree::Limits, head_key(key), Head::of(log, lease, now).encode()?)
    };
    for &number in changed {
        batch = batch.and_put(Tree::Limits, segment_key(&prefix, number), Segment::of(log, number).encode()?);
    }
    for &number in gone {
        batch = batch.and_delete(Tree::Limits, segment_key(&prefix, number));
    }
    Ok(batch)
}

/// Returns the number of the oldest segment with events; earlier ones are to be deleted.
pub(super) fn oldest_segment(log: &EventLog) -> u64 {
    if log.is_empty() { u64::MAX } else { log.first() / SEGMENT }
}
