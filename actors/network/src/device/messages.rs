//! Requests to the devices' actor: changes, which are durable when they are answered, and reads.

use std::marker::PhantomData;
use std::sync::Arc;

use actix::Message;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::beat::{Hear, HeartbeatAnswer};
use super::command::Command;
use super::state::Fleet;
use super::telemetry::Telemetry;
use super::turn::Turn;
use muster_core::Error;
use muster_feed::{Denied, SnapshotRequest};
use muster_identity::By;

/// A change. Pure: it leaves its whole change in the turn, or refuses and leaves none.
pub(super) trait Act: Send + 'static {
    type Answer: Send + 'static;

    fn act(self, turn: &mut Turn<'_>) -> Result<Self::Answer, Error>;
}

/// Asks for a change.
#[derive(Debug)]
pub(super) struct Do<A>(pub(super) A);

impl<A: Act> Message for Do<A> {
    type Result = Result<A::Answer, Error>;
}

/// Asks for something that is read.
pub(super) struct See<R, F>(pub(super) F, PhantomData<fn() -> R>);

impl<R, F: FnOnce(&Fleet) -> R> See<R, F> {
    pub(super) fn new(look: F) -> Self {
        Self(look, PhantomData)
    }
}

impl<R: 'static, F: FnOnce(&Fleet) -> R> Message for See<R, F> {
    type Result = R;
}

/// A heartbeat.
pub(super) struct Heartbeat(pub(super) Hear);

impl Message for Heartbeat {
    type Result = Result<HeartbeatAnswer, Error>;
}

/// New readings; gives them all.
pub(super) struct Measured {
    pub(super) device: Arc<str>,
    pub(super) values: Map<String, Value>,
    pub(super) by: By,
}

impl Message for Measured {
    type Result = Result<Telemetry, Error>;
}

/// A device's readings.
pub(super) struct Readings {
    pub(super) device: String,
}

impl Message for Readings {
    type Result = Result<Telemetry, Error>;
}

/// The next command of a device.
pub(super) struct Next {
    pub(super) device: Arc<str>,
}

/// A command, or word when there may be one.
#[derive(Debug)]
pub(super) enum Handed {
    Command(Box<Command>),
    Wait(oneshot::Receiver<()>),
}

impl Message for Next {
    type Result = Result<Handed, Error>;
}

/// The state behind a channel. Dropped before it was answered, as by an actor that is down, it answers `Unavailable`.
pub(super) struct Snapshot(Option<SnapshotRequest>);

impl Snapshot {
    pub(super) fn new(ask: SnapshotRequest) -> Self {
        Self(Some(ask))
    }

    pub(super) fn take(mut self) -> Option<SnapshotRequest> {
        self.0.take()
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if let Some(ask) = self.0.take() {
            ask.reply.send(Err(Denied::Unavailable));
        }
    }
}

impl Message for Snapshot {
    type Result = ();
}
