//! A connection as its shard keeps it.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use muster_core::Millis;
use muster_feed::ConnId;
use tokio::task::JoinHandle;

use super::{Framing, TransportHandle};
use crate::ws::Connected;
use crate::ws::protocol::Session;
use crate::ws::wire::Reader;

/// A subscription: the index of the channel, and that of the member in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SubscriptionRef {
    pub(super) channel: usize,
    pub(super) member: usize,
}

/// The order of collection: urgent first, newest values last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CollectOrder {
    Urgent,
    Normal,
    Latest,
}

pub(super) struct Conn {
    pub(super) id: ConnId,
    pub(super) session: Session,
    pub(super) link: Box<dyn TransportHandle>,
    pub(super) framing: Framing,
    pub(super) reader: Reader,
    /// URL of the handshake, which DPoP proofs name.
    pub(super) url: Rc<str>,
    /// Replies and other frames for this connection alone.
    pub(super) outbox: VecDeque<Bytes>,
    pub(super) places: HashMap<Arc<str>, SubscriptionRef>,
    urgent: VecDeque<SubscriptionRef>,
    normal: VecDeque<SubscriptionRef>,
    latest: VecDeque<SubscriptionRef>,
    pub(super) behind_frames: usize,
    pub(super) behind_bytes: usize,
    /// When the transport was requested to collect.
    pub(super) woken: Option<Millis>,
    /// Since when the connection is further behind than permitted.
    pub(super) over: Option<Millis>,
    /// Whether it is among the connections whose progress is checked.
    pub(super) watched: bool,
    /// When it comes out of the timer wheel.
    pub(super) due: Option<Millis>,
    pub(super) closing: Option<Closing>,
    pub(super) place: Option<Connected>,
    pub(super) watcher: Option<JoinHandle<()>>,
}

/// The state of a close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closing {
    pub(super) since: Millis,
    /// The other side is not awaited any more: the transport ends once everything is written.
    pub(super) over: bool,
}

impl Conn {
    pub(super) fn new(
        id: ConnId,
        session: Session,
        link: Box<dyn TransportHandle>,
        framing: Framing,
        limit: usize,
    ) -> Self {
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

    /// Marks a subscription as having something to collect.
    pub(super) fn ready(&mut self, place: SubscriptionRef, turn: CollectOrder) {
        let queue = match turn {
            CollectOrder::Urgent => &mut self.urgent,
            CollectOrder::Normal => &mut self.normal,
            CollectOrder::Latest => &mut self.latest,
        };
        if !queue.contains(&place) {
            queue.push_back(place);
        }
    }

    /// Returns the subscription whose turn it is.
    pub(super) fn turn(&self) -> Option<SubscriptionRef> {
        self.urgent.front().or(self.normal.front()).or(self.latest.front()).copied()
    }

    /// Marks that a subscription has nothing more.
    pub(super) fn took_all(&mut self, place: SubscriptionRef) {
        for queue in [&mut self.urgent, &mut self.normal, &mut self.latest] {
            queue.retain(|ready| *ready != place);
        }
    }

    /// Stops collecting anything but the outbox.
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
