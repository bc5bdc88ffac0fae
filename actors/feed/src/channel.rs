//! One channel: its offsets and its history. Pure.

use std::collections::VecDeque;
use std::sync::Arc;

use super::histories::Pool;
use super::{Limits, Position, Publication, Why};

/// A channel of publications in order.
///
/// Offsets are gapless: the history, where there is one, ends at the last that was told.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) name: Arc<str>,
    pub(super) pool: Pool,
    last: u64,
    /// Given out to a batch that is being written.
    staged: u64,
    /// The last offset that the store knows.
    pub(super) saved: u64,
    ring: VecDeque<Arc<Publication>>,
    bytes: usize,
    /// Subscriptions to it.
    pub(super) pins: usize,
}

impl Channel {
    /// A channel that stands at `last`: as the store has it, or where no position of an earlier one of its name reaches.
    pub(super) fn new(name: Arc<str>, pool: Pool, last: u64) -> Self {
        Self { name, pool, last, staged: last, saved: last, ring: VecDeque::new(), bytes: 0, pins: 0 }
    }

    /// The last offset that was told.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn history(&self) -> usize {
        self.ring.len()
    }

    /// Nothing would be lost with it. Where a channel that is not read back is dropped no position in it is good any more,
    /// so of these only those of single things are.
    pub(super) fn is_idle(&self) -> bool {
        let done = match self.pool {
            Pool::Durable => self.saved == self.last,
            Pool::Memory => false,
            Pool::Passing => true,
        };
        done && self.pins == 0 && self.ring.is_empty()
    }

    /// A channel to be read back, the oldest of whose publications has that offset. What stands before it the store knows.
    pub(super) fn before(name: Arc<str>, first: u64, saved: u64) -> Self {
        Self { saved, ..Self::new(name, Pool::Durable, saved.min(first.saturating_sub(1))) }
    }

    /// The next offset, for a batch that is being written.
    pub(super) fn stage(&mut self) -> u64 {
        self.staged += 1;
        self.staged
    }

    /// The batch was not written.
    pub(super) fn unstage(&mut self) {
        self.staged = self.last;
    }

    /// Takes the next publication; answers how many of the oldest went for it, and their bytes.
    pub(super) fn push(&mut self, publication: Arc<Publication>, limits: &Limits) -> (usize, usize) {
        self.last = publication.offset;
        self.staged = self.staged.max(self.last);
        self.bytes += weight(&publication);
        self.ring.push_back(publication);
        let mut gone = (0, 0);
        // The newest stays, however large it is: who missed only that is served.
        while self.ring.len() > 1 && (self.ring.len() > limits.ring_frames || self.bytes > limits.ring_bytes) {
            gone = (gone.0 + 1, gone.1 + self.drop_oldest());
        }
        gone
    }

    /// Takes a publication that was read back; false where it does not follow what is known. The history then begins with
    /// it.
    pub(super) fn restore(&mut self, publication: Arc<Publication>, limits: &Limits) -> (bool, (usize, usize)) {
        let follows = publication.offset == self.last + 1;
        let mut gone = (0, 0);
        if !follows {
            gone = (self.ring.len(), self.bytes);
            self.ring.clear();
            self.bytes = 0;
        }
        let (count, bytes) = self.push(publication, limits);
        (follows, (gone.0 + count, gone.1 + bytes))
    }

    /// Whether the journal reached as far as the store knows; else the channel stands where the store says, without a
    /// history.
    pub(super) fn restored(&mut self) -> (bool, (usize, usize)) {
        if self.last >= self.saved {
            return (true, (0, 0));
        }
        let gone = (self.ring.len(), self.bytes);
        self.ring.clear();
        self.bytes = 0;
        self.last = self.saved;
        self.staged = self.saved;
        (false, gone)
    }

    /// Forgets its history; answers how many publications went, and their bytes.
    pub(super) fn clear(&mut self) -> (usize, usize) {
        let gone = (self.ring.len(), self.bytes);
        (self.ring, self.bytes) = (VecDeque::new(), 0);
        gone
    }

    /// Drops the oldest publication if it is that one; answers its bytes.
    pub(super) fn drop_through(&mut self, offset: u64) -> Option<usize> {
        let oldest = self.ring.front()?.offset;
        (oldest <= offset).then(|| self.drop_oldest())
    }

    fn drop_oldest(&mut self) -> usize {
        let bytes = self.ring.pop_front().map_or(0, |publication| weight(&publication));
        self.bytes -= bytes;
        bytes
    }

    /// Whether the history still has that offset.
    pub(super) fn keeps(&self, offset: u64) -> bool {
        self.ring.front().is_some_and(|oldest| oldest.offset <= offset)
    }

    /// What was missed since a position: at most `most` publications.
    ///
    /// # Errors
    /// Why it cannot be told: another epoch; a history that does not reach back so far, or an offset that was never
    /// given out; more than `most`.
    pub(super) fn missed(&self, since: &Position, epoch: &str, most: usize) -> Result<Vec<Arc<Publication>>, Why> {
        let from = self.behind(since, epoch)?;
        let count = self.ring.len() - from;
        if count > most { Err(Why::Limit) } else { Ok(self.ring.iter().skip(from).cloned().collect()) }
    }

    /// At most `most` publications behind a position, and whether there are more; from the oldest where there is no
    /// position, or where it cannot be found.
    pub(super) fn page(&self, since: Option<&Position>, epoch: &str, most: usize) -> Page {
        let found = since.map_or(Ok(0), |since| self.behind(since, epoch));
        let from = found.unwrap_or(0);
        let publications: Vec<_> = self.ring.iter().skip(from).take(most).cloned().collect();
        Page { recovered: found.map(drop), more: from + publications.len() < self.ring.len(), publications }
    }

    /// The place in the history right behind a position.
    fn behind(&self, since: &Position, epoch: &str) -> Result<usize, Why> {
        if &*since.epoch != epoch {
            return Err(Why::Epoch);
        }
        let missed = self.last.checked_sub(since.offset).ok_or(Why::Gap)?;
        let missed = usize::try_from(missed).map_err(|_| Why::Gap)?;
        self.ring.len().checked_sub(missed).ok_or(Why::Gap)
    }
}

/// A part of a history.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) recovered: Result<(), Why>,
    pub(super) publications: Vec<Arc<Publication>>,
    pub(super) more: bool,
}

impl Page {
    /// What of it is that owner's.
    pub(super) fn of(mut self, owner: &Arc<str>, most: usize) -> Self {
        self.publications.retain(|publication| publication.traits.owner.as_ref() == Some(owner));
        self.more = self.publications.len() > most;
        self.publications.truncate(most);
        self
    }
}

/// Bytes that a publication takes: its frame, and about as much as it takes besides.
pub(super) fn weight(publication: &Publication) -> usize {
    publication.json.len() + 128
}
