//! What is to be looked at, and when. Pure.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use muster_core::Millis;

/// Something to be looked at. Whether anything is to be done then, the record says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// Whether a device has fallen silent.
    Silent(Arc<str>),
    /// Whether a change of status is still to be told.
    Tell(Arc<str>),
    /// Whether a device's oldest commands have expired.
    Expire(Arc<str>),
    /// Whether a device's heartbeats are to be written.
    Save(Arc<str>),
    /// Whether a device's readings are to be written.
    Readings(Arc<str>),
}

/// A heap of them: a tick costs what is due, however many devices there are.
#[derive(Debug, Default)]
pub(super) struct Deadlines(BinaryHeap<Reverse<(Millis, Due)>>);

impl Deadlines {
    pub(super) fn push(&mut self, at: Millis, due: Due) {
        self.0.push(Reverse((at, due)));
    }

    /// The next that is due, at most.
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
