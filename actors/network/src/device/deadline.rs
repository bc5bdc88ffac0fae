//! Deadlines of devices, ordered by time. Pure.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use muster_core::Millis;

/// A check that is due at some time; the record decides whether it changes anything.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// Checks whether a device is silent.
    Silent(Arc<str>),
    /// Checks whether a status change is still to be published.
    PublishStatus(Arc<str>),
    /// Checks whether commands of a device have expired.
    Expire(Arc<str>),
    /// Checks whether heartbeats of a device are to be stored.
    Save(Arc<str>),
    /// Checks whether a device runs another firmware than the desired one for too long.
    Drift(Arc<str>),
    /// Checks whether readings of a device are to be stored.
    Readings(Arc<str>),
}

/// Heap of deadlines: a tick costs as much as is due, independent of the number of devices.
#[derive(Debug, Default)]
pub(super) struct Deadlines(BinaryHeap<Reverse<(Millis, Due)>>);

impl Deadlines {
    pub(super) fn push(&mut self, at: Millis, due: Due) {
        self.0.push(Reverse((at, due)));
    }

    /// Removes and returns the next check that is due.
    pub(super) fn pop(&mut self, now: Millis) -> Option<Due> {
        if self.0.peek().is_none_or(|Reverse((at, _))| *at > now) {
            return None;
        }
        self.0.pop().map(|Reverse((_, due))| due)
    }
}

impl FromIterator<(Millis, Due)> for Deadlines {
    fn from_iter<I: IntoIterator<Item = (Millis, Due)>>(all: I) -> Self {
        Self(all.into_iter().map(Reverse).collect())
    }
}
