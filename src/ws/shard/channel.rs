//! A channel in a shard: a ring of publications, and for each subscriber a cursor into it. Pure.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use muster_core::event::DropPolicy;
use muster_feed::{Position, Publication};
use slab::Slab;

use super::grid::Grid;
use crate::ws::protocol::Filter;

/// Number of filter boxes above which a grid selects those that an event may concern.
const MANY: usize = 64;

/// Number of entries behind, above which a reader skips publications that may be skipped.
const BEHIND: u64 = 256;

/// A publication, encoded once for all connections.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) frame: Bytes,
    pub(super) publication: Arc<Publication>,
}

/// The next item for a member.
#[derive(Debug)]
pub(super) enum NextItem<'a> {
    Entry(&'a Entry),
    /// Publications between these offsets, both included, were skipped: the position of the member is the last of them.
    LeftOut(u64, u64),
}

/// The newest value of a key that a member has not received yet.
#[derive(Debug, Clone)]
pub(super) struct Value {
    pub(super) key: Arc<str>,
    pub(super) offset: u64,
    pub(super) json: Bytes,
}

/// A subscriber.
#[derive(Debug)]
pub(super) struct Member {
    /// Index of its connection.
    pub(super) conn: usize,
    pub(super) filter: Option<Box<Filter>>,
    /// First entry that it has not received; `None` if it has received everything.
    pub(super) cursor: Option<u64>,
    /// Last position sent besides publications.
    pub(super) sent_position: Option<u64>,
    pub(super) values: Vec<Value>,
    /// Number of values that were replaced, or publications that were skipped, before its cursor.
    pub(super) skipped: Option<(u64, u64)>,
}

#[derive(Debug)]
pub(super) struct Channel {
    pub(super) name: Arc<str>,
    pub(super) epoch: Arc<str>,
    /// The last received offset.
    pub(super) head: u64,
    pub(super) latest: bool,
    entries: VecDeque<Entry>,
    bytes: usize,
    /// The number of the first entry.
    base: u64,
    pub(super) members: Slab<Member>,
    /// Members with a cursor.
    waiting: usize,
    grid: Grid,
    /// Members without a box.
    boxless: Vec<usize>,
}

impl Channel {
    pub(super) fn new(name: Arc<str>, position: &Position, latest: bool) -> Self {
        Self {
            name,
            epoch: Arc::clone(&position.epoch),
            head: position.offset,
            latest,
            entries: VecDeque::new(),
            bytes: 0,
            base: 0,
            members: Slab::new(),
            waiting: 0,
            grid: Grid::default(),
            boxless: Vec::new(),
        }
    }

    pub(super) fn join(&mut self, conn: usize, filter: Option<Box<Filter>>) -> usize {
        let place = filter.as_ref().and_then(|filter| filter.bbox);
        let member = Member { conn, filter, cursor: None, sent_position: None, values: Vec::new(), skipped: None };
        let index = self.members.insert(member);
        match place {
            Some(place) => self.grid.add(index, &place),
            None => self.boxless.push(index),
        }
        index
    }

    pub(super) fn leave(&mut self, member: usize) {
        let Some(left) = self.members.try_remove(member) else { return };
        match left.filter.and_then(|filter| filter.bbox) {
            Some(place) => self.grid.remove(member, &place),
            None => self.boxless.retain(|known| *known != member),
        }
        if left.cursor.is_some() {
            self.done();
        }
    }

    /// Adds a publication; `None` if it is already known. Returns who gets it and who had nothing waiting before.
    pub(super) fn take(&mut self, publication: Arc<Publication>, frame: Bytes, got: &mut Vec<(usize, Backlog)>) {
        let number = self.base + self.entries.len() as u64;
        self.head = publication.offset;
        let candidates = match publication.traits.bbox {
            _ if self.grid.len() <= MANY => None,
            None => Some(self.boxless.clone()),
            Some(place) => Some(self.boxless.iter().copied().chain(self.grid.near(&place)).collect()),
        };
        let mut waiting = self.waiting;
        let mut offer = |index: usize, member: &mut Member| {
            let passes = member.filter.as_ref().is_none_or(|it| it.passes(&publication.name, &publication.traits));
            if passes {
                let was = if member.cursor.is_some() { Backlog::Behind } else { Backlog::Level };
                waiting += usize::from(member.cursor.is_none());
                member.cursor.get_or_insert(number);
                got.push((index, was));
            }
        };
        match candidates {
            None => self.members.iter_mut().for_each(|(index, member)| offer(index, member)),
            Some(candidates) => {
                for index in candidates {
                    if let Some(member) = self.members.get_mut(index) {
                        offer(index, member);
                    }
                }
            }
        }
        self.waiting = waiting;
        if self.waiting > 0 {
            self.bytes += frame.len();
            self.entries.push_back(Entry { frame, publication });
        }
    }

    /// Returns the next item of a member and advances its cursor; `None` if it has received everything.
    pub(super) fn next(&mut self, member: usize) -> Option<NextItem<'_>> {
        let end = self.base + self.entries.len() as u64;
        let reader = self.members.get_mut(member)?;
        let mut number = reader.cursor?;
        loop {
            let at = usize::try_from(number.saturating_sub(self.base)).ok();
            let Some(entry) = at.and_then(|at| self.entries.get(at)) else {
                reader.cursor = None;
                let left_out = reader.skipped.take();
                self.done();
                return left_out.map(|(from, to)| NextItem::LeftOut(from, to));
            };
            let wanted = reader.wants(entry);
            if wanted && entry.may_be_left_out() && end - number > BEHIND {
                reader.skip(entry.publication.offset);
            } else if wanted {
                // Skipped publications before it are reported first.
                if let Some((from, to)) = reader.skipped.take() {
                    reader.cursor = Some(number);
                    return Some(NextItem::LeftOut(from, to));
                }
                reader.cursor = Some(number + 1);
                return at.and_then(|at| self.entries.get(at)).map(NextItem::Entry);
            }
            number += 1;
            reader.cursor = Some(number);
        }
    }

    /// Returns the offset up to which a member has processed everything.
    pub(super) fn position(&self, member: usize) -> Position {
        let cursor = self.members.get(member).and_then(|member| member.cursor);
        let entry = cursor
            .and_then(|number| usize::try_from(number.saturating_sub(self.base)).ok())
            .and_then(|at| self.entries.get(at));
        let offset = entry.map_or(self.head, |entry| entry.publication.offset.saturating_sub(1));
        Position { epoch: Arc::clone(&self.epoch), offset }
    }

    /// Removes entries that everyone has received, and the oldest entries above the limit. Returns members that lost
    /// their position.
    pub(super) fn trim(&mut self, frames: usize, bytes: usize) -> Vec<usize> {
        let slowest = self.members.iter().filter_map(|(_, member)| member.cursor).min();
        let keep_from = slowest.unwrap_or(u64::MAX);
        while !self.entries.is_empty() && (self.base < keep_from || self.entries.len() > frames || self.bytes > bytes) {
            let Some(entry) = self.entries.pop_front() else { break };
            self.bytes -= entry.frame.len();
            if entry.may_be_left_out() {
                self.pass_over(&entry);
            }
            self.base += 1;
        }
        let lost = |member: &Member| member.cursor.is_some_and(|cursor| cursor < self.base);
        self.members.iter().filter(|(_, member)| lost(member)).map(|(_, member)| member.conn).collect()
    }

    /// Moves members past a removed entry. A publication that must not be skipped is not passed over: a member that has
    /// not received it loses its position.
    fn pass_over(&mut self, entry: &Entry) {
        for (_, member) in &mut self.members {
            if member.cursor == Some(self.base) {
                if member.wants(entry) {
                    member.skip(entry.publication.offset);
                }
                member.cursor = Some(self.base + 1);
            }
        }
    }

    pub(super) fn is_over(&self, frames: usize, bytes: usize) -> bool {
        self.entries.len() > frames || self.bytes > bytes
    }

    /// Returns whether no member has anything waiting, so that there is nothing to remove.
    pub(super) fn is_level(&self) -> bool {
        self.waiting == 0
    }

    fn done(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
        if self.waiting == 0 {
            self.base += self.entries.len() as u64;
            self.entries = VecDeque::new();
            self.bytes = 0;
        }
    }
}

/// Whether a member already had something waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backlog {
    Level,
    Behind,
}

impl Entry {
    fn may_be_left_out(&self) -> bool {
        self.publication.loss == DropPolicy::Conflated
    }
}

impl Member {
    fn wants(&self, entry: &Entry) -> bool {
        let (name, traits) = (&entry.publication.name, &entry.publication.traits);
        self.filter.as_ref().is_none_or(|filter| filter.passes(name, traits))
    }

    fn skip(&mut self, offset: u64) {
        let (from, to) = self.skipped.unwrap_or((offset, offset));
        self.skipped = Some((from.min(offset), to.max(offset)));
    }

    /// Adds the newest value of a key, which replaces an older one.
    pub(super) fn value(&mut self, value: Value) {
        if let Some(at) = self.values.iter().position(|known| known.key == value.key) {
            let old = self.values.remove(at).offset;
            self.skip(old);
        }
        self.values.push(value);
    }
}

#[cfg(test)]
mod tests {
    use muster_core::Millis;
    use muster_core::event::{DropPolicy, EventAttributes, Priority};
    use proptest::prelude::*;

    use super::*;

    fn publication(offset: u64, name: &str) -> Arc<Publication> {
        Arc::new(Publication {
            channel: "c".into(),
            offset,
            name: name.into(),
            traits: EventAttributes::default(),
            priority: Priority::Normal,
            loss: if name == "log" { DropPolicy::Conflated } else { DropPolicy::Never },
            at: Millis(0),
            json: Bytes::from_static(b"{}"),
        })
    }

    fn channel() -> Channel {
        Channel::new("c".into(), &Position { epoch: "e".into(), offset: 0 }, false)
    }

    fn only(name: &str) -> Option<Filter> {
        Some(Filter { types: Some(vec![name.to_owned()]), ..Filter::default() })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whenever members read, each receives what passes its filter, in order and once, and nothing is kept longer
        /// than needed.
        #[test]
        fn each_member_gets_its_events_in_order(steps in prop::collection::vec((0_usize..3, any::<bool>()), 1..120)) {
            let mut channel = channel();
            let members = [channel.join(0, None), channel.join(1, only("a").map(Box::new)), channel.join(2, only("b").map(Box::new))];
            let mut got = [Vec::new(), Vec::new(), Vec::new()];
            let mut published = Vec::new();
            for (who, publishes) in steps {
                if publishes {
                    let name = if who == 0 { "a" } else { "b" };
                    published.push(name);
                    channel.take(publication(published.len() as u64, name), Bytes::from_static(b"x"), &mut Vec::new());
                } else if let Some(NextItem::Entry(entry)) = channel.next(members[who]) {
                    got[who].push(entry.publication.offset);
                }
                prop_assert!(channel.trim(1000, 1000).is_empty());
            }
            for who in 0..3 {
                while let Some(NextItem::Entry(entry)) = channel.next(members[who]) {
                    got[who].push(entry.publication.offset);
                }
                let wanted: Vec<u64> = published.iter().enumerate()
                    .filter(|(_, name)| who == 0 || **name == ["", "a", "b"][who])
                    .map(|(at, _)| at as u64 + 1).collect();
                prop_assert_eq!(&got[who], &wanted);
                prop_assert_eq!(channel.position(members[who]).offset, published.len() as u64);
            }
            prop_assert!(channel.is_level() && channel.entries.is_empty() && channel.bytes == 0);
        }
    }

    #[test]
    fn only_a_member_that_lags_beyond_the_ring_loses_its_position() {
        let mut channel = channel();
        let (slow, quick) = (channel.join(7, None), channel.join(8, None));
        for offset in 1..=10 {
            channel.take(publication(offset, "a"), Bytes::from_static(b"x"), &mut Vec::new());
            while channel.next(quick).is_some() {}
        }
        assert_eq!(channel.position(slow).offset, 0);
        assert_eq!(channel.trim(4, 1000), vec![7]);
        channel.leave(slow);
        assert!(channel.is_level() && channel.entries.is_empty());
    }

    #[test]
    fn values_of_one_key_replace_one_another_and_skipped_offsets_are_reported() {
        let mut channel = channel();
        let index = channel.join(0, None);
        let member = channel.members.get_mut(index).unwrap();
        for (offset, key) in [(5, "t"), (6, "h"), (7, "t"), (8, "t")] {
            member.value(Value { key: key.into(), offset, json: Bytes::new() });
        }
        assert_eq!(member.values.iter().map(|value| value.offset).collect::<Vec<_>>(), [6, 8]);
        assert_eq!(member.skipped, Some((5, 7)));
    }

    /// Returns everything that a member receives until nothing is left: offsets and skipped ranges.
    fn drain(channel: &mut Channel, member: usize) -> Vec<(u64, u64)> {
        let mut given = Vec::new();
        while let Some(next) = channel.next(member) {
            given.push(match next {
                NextItem::Entry(entry) => (entry.publication.offset, 0),
                NextItem::LeftOut(from, to) => (from, to),
            });
        }
        given
    }

    #[test]
    fn a_slow_member_skips_only_logs_and_gets_the_skipped_offsets() {
        let mut channel = channel();
        let slow = channel.join(0, None);
        for offset in 1..=1_000 {
            let name = if offset % 100 == 0 { "task.state" } else { "log" };
            channel.take(publication(offset, name), Bytes::from_static(b"x"), &mut Vec::new());
        }
        let given = drain(&mut channel, slow);
        let expected: Vec<_> = (0..7).flat_map(|n| [(n * 100 + 1, n * 100 + 99), (n * 100 + 100, 0)]).collect();
        // The last 256 are delivered: the member is up to date.
        assert_eq!(given[..14], expected);
        assert_eq!(given[14], (701, 744));
        assert_eq!(given[15..], (745..=1_000).map(|offset| (offset, 0)).collect::<Vec<_>>());
        assert_eq!(channel.position(slow).offset, 1_000);
        assert!(channel.is_level() && channel.entries.is_empty());
    }

    #[test]
    fn a_ring_full_of_logs_evicts_no_member() {
        let mut channel = channel();
        let slow = channel.join(7, None);
        channel.take(publication(1, "log"), Bytes::from_static(b"x"), &mut Vec::new());
        for offset in 2..=50 {
            channel.take(publication(offset, "log"), Bytes::from_static(b"x"), &mut Vec::new());
            assert!(channel.trim(10, 1_000).is_empty());
        }
        assert_eq!(channel.position(slow).offset, 40, "what went is behind it");
        let given = drain(&mut channel, slow);
        assert_eq!((given[0], given[1..].len()), ((1, 40), 10));
        // Losing a state does cost it its position.
        channel.take(publication(51, "task.state"), Bytes::from_static(b"x"), &mut Vec::new());
        for offset in 52..=70 {
            channel.take(publication(offset, "log"), Bytes::from_static(b"x"), &mut Vec::new());
        }
        assert_eq!(channel.trim(10, 1_000), vec![7]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Delivered and skipped offsets together cover every offset once, in order, whenever the member reads.
        #[test]
        fn every_offset_is_delivered_or_reported_as_skipped(steps in prop::collection::vec((0..4_u8, 1..40_u64), 1..80)) {
            let mut channel = channel();
            let reader = channel.join(0, None);
            let (mut last, mut covered, mut lost) = (0, 0, false);
            for (what, count) in steps {
                for _ in 0..count {
                    if what == 3 {
                        break;
                    }
                    last += 1;
                    let name = if what == 0 && last % 7 == 0 { "task.state" } else { "log" };
                    channel.take(publication(last, name), Bytes::from_static(b"x"), &mut Vec::new());
                }
                lost |= !channel.trim(300, 10_000).is_empty();
                if lost {
                    break;
                }
                if what == 3 {
                    for (from, to) in drain(&mut channel, reader).into_iter().take(1_000) {
                        prop_assert_eq!(from, covered + 1);
                        covered = from.max(to);
                    }
                }
                prop_assert!(channel.position(reader).offset >= covered);
            }
            if !lost {
                for (from, to) in drain(&mut channel, reader) {
                    prop_assert_eq!(from, covered + 1);
                    covered = from.max(to);
                }
                prop_assert_eq!(covered, last);
            }
        }
    }
}
