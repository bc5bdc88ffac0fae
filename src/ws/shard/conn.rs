//! A connection as its shard keeps it.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use muster_core::Millis;
use muster_feed::ConnId;
use tokio::task::JoinHandle;

use super::{Framing, Link};
use crate::ws::Connected;
use crate::ws::protocol::Session;
use crate::ws::wire::Reader;

/// A subscriber's place: the channel's, and its own among the members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) channel: usize,
    pub(super) member: usize,
}

/// What is collected first: urgent before everything, the newest values last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Urgent,
    Normal,
    Latest,
}

pub(super) struct Conn {
    pub(super) id: ConnId,
    pub(super) session: Session,
    pub(super) link: Box<dyn Link>,
    pub(super) framing: Framing,
    pub(super) reader: Reader,
    /// The handshake's address, which a proof of possession names.
    pub(super) url: Rc<str>,
    /// Replies and whatever else is for this connection alone.
    pub(super) outbox: VecDeque<Bytes>,
    pub(super) places: HashMap<Arc<str>, Place>,
    urgent: VecDeque<Place>,
    normal: VecDeque<Place>,
    latest: VecDeque<Place>,
    pub(super) behind_frames: usize,
    pub(super) behind_bytes: usize,
    /// Since when the lane was asked to take something.
    pub(super) woken: Option<Millis>,
    /// Since when it is further behind than it may be.
    pub(super) over: Option<Millis>,
    /// It is among those whose progress is looked at.
    pub(super) watched: bool,
    /// When it comes out of the wheel.
    pub(super) due: Option<Millis>,
    pub(super) closing: Option<Closing>,
    pub(super) place: Option<Connected>,
    pub(super) watcher: Option<JoinHandle<()>>,
}

/// How far a close is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closing {
    pub(super) since: Millis,
    /// Nobody waits for the other side any more: the transport ends once everything is written.
    pub(super) over: bool,
}

impl Conn {
    pub(super) fn new(id: ConnId, session: Session, link: Box<dyn Link>, framing: Framing, limit: usize) -> Self {
        Self {
            id,
            session,
            link,
            framing,
            reader: Reader::new(limit),
            url: Rc::from(""),
            outbox: VecDeque::new(),
            places: HashMap::new(),
            urgent: VecDeque::new(),
            normal: VecDeque::new(),
            latest: VecDeque::new(),
            behind_frames: 0,
            behind_bytes: 0,
            woken: None,
            over: None,
            watched: false,
            due: None,
            closing: None,
            place: None,
            watcher: None,
        }
    }

    /// Something of that place waits to be collected.
    pub(super) fn ready(&mut self, place: Place, turn: Turn) {
        let queue = match turn {
            Turn::Urgent => &mut self.urgent,
            Turn::Normal => &mut self.normal,
            Turn::Latest => &mut self.latest,
        };
        if !queue.contains(&place) {
            queue.push_back(place);
        }
    }

    /// The place whose turn it is.
    pub(super) fn turn(&self) -> Option<Place> {
        self.urgent.front().or(self.normal.front()).or(self.latest.front()).copied()
    }

    /// That place has nothing more.
    pub(super) fn took_all(&mut self, place: Place) {
        for queue in [&mut self.urgent, &mut self.normal, &mut self.latest] {
            queue.retain(|ready| *ready != place);
        }
    }

    /// Nothing more is collected but what stands in the outbox.
    pub(super) fn forget_ready(&mut self) {
        self.urgent = VecDeque::new();
        self.normal = VecDeque::new();
        self.latest = VecDeque::new();
        (self.behind_frames, self.behind_bytes) = (0, 0);
    }

    pub(super) fn has_something(&self) -> bool {
        !self.outbox.is_empty() || (!self.session.holds() && self.turn().is_some())
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        if let Some(watcher) = &self.watcher {
            watcher.abort();
        }
    }
}
