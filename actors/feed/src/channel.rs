//! A channel: its offsets and its history. Pure.

use std::collections::VecDeque;
use std::sync::Arc;

use super::histories::Pool;
use super::{Limits, Position, Publication, RecoveryFailure};

/// An ordered channel of publications.
///
/// Offsets are gapless: the history, unless empty, ends at the last published offset.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) name: Arc<str>,
    pub(super) pool: Pool,
    last: u64,
    /// Last offset assigned to a batch that is being written.
    staged: u64,
    /// Last offset known to the store.
    pub(super) saved: u64,
    ring: VecDeque<Arc<Publication>>,
    bytes: usize,
    /// Number of subscriptions.
    pub(super) pins: usize,
}

impl Channel {
    /// Creates a channel at offset `last`: the stored one, or one above every position in an earlier channel of the
    /// same name.
    pub(super) fn new(name: Arc<str>, pool: Pool, last: u64) -> Self {
        Self { name, pool, last, staged: last, saved: last, ring: VecDeque::new(), bytes: 0, pins: 0 }
    }

    /// Returns the last published offset.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn history(&self) -> usize {
        self.ring.len()
    }

    /// Returns whether the channel can be dropped without losing anything. Dropping a channel without durable history
    /// invalidates the positions in it, so of these only channels of single resources are dropped.
    pub(super) fn is_idle(&self) -> bool {
        let done = match self.pool {
            Pool::Durable => self.saved == self.last,
            Pool::Memory => false,
            Pool::Transient => true,
        };
        done && self.pins == 0 && self.ring.is_empty()
    }

    /// Creates a channel that is about to be restored from the journal, where `first` is the offset of its oldest
    /// publication and `saved` the one known to the store.
    pub(super) fn before(name: Arc<str>, first: u64, saved: u64) -> Self {
        Self { saved, ..Self::new(name, Pool::Durable, saved.min(first.saturating_sub(1))) }
    }

    /// Assigns the next offset to a batch that is being written.
    pub(super) fn stage(&mut self) -> u64 {
        self.staged += 1;
        self.staged
    }

    /// Reverts assigned offsets of a batch that was not written.
    pub(super) fn unstage(&mut self) {
        self.staged = self.last;
    }

    /// Appends a publication; returns the number and the bytes of the oldest publications dropped for it.
    pub(super) fn push(&mut self, publication: Arc<Publication>, limits: &Limits) -> (usize, usize) {
        self.last = publication.offset;
        self.staged = self.staged.max(self.last);
        self.bytes += weight(&publication);
        self.ring.push_back(publication);
        let mut dropped = (0, 0);
        // The newest publication is kept whatever its size: a subscriber that missed only that one can resume.
        while self.ring.len() > 1 && (self.ring.len() > limits.ring_frames || self.bytes > limits.ring_bytes) {
            dropped = (dropped.0 + 1, dropped.1 + self.drop_oldest());
        }
        dropped
    }

    /// Appends a publication read from the journal; returns false if it does not follow the known ones, in which case
    /// the history begins with it.
    pub(super) fn restore(&mut self, publication: Arc<Publication>, limits: &Limits) -> (bool, (usize, usize)) {
        let follows = publication.offset == self.last + 1;
        let mut dropped = (0, 0);
        if !follows {
            dropped = (self.ring.len(), self.bytes);
            self.ring.clear();
            self.bytes = 0;
        }
        let (count, bytes) = self.push(publication, limits);
        (follows, (dropped.0 + count, dropped.1 + bytes))
    }

    /// Ends restoring. Returns whether the journal reached the offset known to the store; if not, the channel continues
    /// at that offset without a history.
    pub(super) fn restored(&mut self) -> (bool, (usize, usize)) {
        if self.last >= self.saved {
            return (true, (0, 0));
        }
        let dropped = (self.ring.len(), self.bytes);
        self.ring.clear();
        self.bytes = 0;
        self.last = self.saved;
        self.staged = self.saved;
        (false, dropped)
    }

    /// Clears the history; returns the number and the bytes of the dropped publications.
    pub(super) fn clear(&mut self) -> (usize, usize) {
        let dropped = (self.ring.len(), self.bytes);
        (self.ring, self.bytes) = (VecDeque::new(), 0);
        dropped
    }

    /// Drops the oldest publication if its offset is at most `offset`; returns its bytes.
    pub(super) fn drop_through(&mut self, offset: u64) -> Option<usize> {
        let oldest = self.ring.front()?.offset;
        (oldest <= offset).then(|| self.drop_oldest())
    }

    fn drop_oldest(&mut self) -> usize {
        let bytes = self.ring.pop_front().map_or(0, |publication| weight(&publication));
        self.bytes -= bytes;
        bytes
    }

    /// Returns whether the history still contains an offset.
    pub(super) fn contains(&self, offset: u64) -> bool {
        self.ring.front().is_some_and(|oldest| oldest.offset <= offset)
    }

    /// Returns the publications after a position, if there are at most `most`.
    ///
    /// # Errors
    ///
    /// Returns why they cannot be returned: a different epoch; a history that does not reach back far enough, or an
    /// offset that was never assigned; more than `most`.
    pub(super) fn missed(
        &self,
        since: &Position,
        epoch: &str,
        most: usize,
    ) -> Result<Vec<Arc<Publication>>, RecoveryFailure> {
        let from = self.index_after(since, epoch)?;
        let count = self.ring.len() - from;
        if count > most { Err(RecoveryFailure::Limit) } else { Ok(self.ring.iter().skip(from).cloned().collect()) }
    }

    /// Returns at most `most` publications after a position, and whether there are more. Begins with the oldest if
    /// there is no position or it is not in the history.
    pub(super) fn page(&self, since: Option<&Position>, epoch: &str, most: usize) -> Page {
        let found = since.map_or(Ok(0), |since| self.index_after(since, epoch));
        let from = found.unwrap_or(0);
        let publications: Vec<_> = self.ring.iter().skip(from).take(most).cloned().collect();
        Page { recovered: found.map(drop), more: from + publications.len() < self.ring.len(), publications }
    }

    /// Returns the index in the history directly after a position.
    fn index_after(&self, since: &Position, epoch: &str) -> Result<usize, RecoveryFailure> {
        if &*since.epoch != epoch {
            return Err(RecoveryFailure::Epoch);
        }
        let missed = self.last.checked_sub(since.offset).ok_or(RecoveryFailure::Gap)?;
        let missed = usize::try_from(missed).map_err(|_| RecoveryFailure::Gap)?;
        self.ring.len().checked_sub(missed).ok_or(RecoveryFailure::Gap)
    }
}

/// A page of a history.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) recovered: Result<(), RecoveryFailure>,
    pub(super) publications: Vec<Arc<Publication>>,
    pub(super) more: bool,
}

impl Page {
    /// Restricts the page to publications of an owner.
    pub(super) fn of(mut self, owner: &Arc<str>, most: usize) -> Self {
        self.publications.retain(|publication| publication.traits.owner.as_ref() == Some(owner));
        self.more = self.publications.len() > most;
        self.publications.truncate(most);
        self
    }
}

/// Returns the memory used by a publication: its frame and an estimate of the overhead.
pub(super) fn weight(publication: &Publication) -> usize {
    publication.json.len() + 128
}
