//! Messages of the device actor: changes, which are durable when they are answered, and reads.

use std::marker::PhantomData;
use std::sync::Arc;

use actix::Message;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::command::Command;
use super::heartbeat::{HeartbeatResponse, RecordHeartbeat};
use super::state::Fleet;
use super::telemetry::Telemetry;
use super::transaction::DeviceTransaction;
use muster_core::Error;
use muster_feed::{Denied, SnapshotRequest};
use muster_identity::By;

/// A change of devices. Pure: it stages its whole change in the transaction, or fails and stages nothing.
pub(super) trait DeviceChange: Send + 'static {
    type Output: Send + 'static;

    fn apply(self, transaction: &mut DeviceTransaction<'_>) -> Result<Self::Output, Error>;
}

/// Applies a change.
#[derive(Debug)]
pub(super) struct ApplyChange<A>(pub(super) A);

impl<A: DeviceChange> Message for ApplyChange<A> {
    type Result = Result<A::Output, Error>;
}

/// Reads from the fleet.
pub(super) struct ReadFleet<R, F>(pub(super) F, PhantomData<fn() -> R>);

impl<R, F: FnOnce(&Fleet) -> R> ReadFleet<R, F> {
    pub(super) fn new(look: F) -> Self {
        Self(look, PhantomData)
    }
}

impl<R: 'static, F: FnOnce(&Fleet) -> R> Message for ReadFleet<R, F> {
    type Result = R;
}

/// Applies a heartbeat.
pub(super) struct HandleHeartbeat(pub(super) RecordHeartbeat);

impl Message for HandleHeartbeat {
    type Result = Result<HeartbeatResponse, Error>;
}

/// Merges new readings of a device and returns all of them.
pub(super) struct RecordReadings {
    pub(super) device: Arc<str>,
    pub(super) values: Map<String, Value>,
    pub(super) by: By,
}

impl Message for RecordReadings {
    type Result = Result<Telemetry, Error>;
}

/// Reads the readings of a device.
pub(super) struct GetReadings {
    pub(super) device: String,
}

impl Message for GetReadings {
    type Result = Result<Telemetry, Error>;
}

/// Delivers the next command of a device.
pub(super) struct NextCommand {
    pub(super) device: Arc<str>,
}

/// A command, or a receiver that resolves when there may be one.
#[derive(Debug)]
pub(super) enum NextCommandReply {
    Command(Box<Command>),
    Wait(oneshot::Receiver<()>),
}

impl Message for NextCommand {
    type Result = Result<NextCommandReply, Error>;
}

/// Takes a snapshot of the state behind a channel. If the message is dropped before it is answered, for example because
/// the actor is down, it answers `Unavailable`.
pub(super) struct TakeSnapshot(Option<SnapshotRequest>);

impl TakeSnapshot {
    pub(super) fn new(request: SnapshotRequest) -> Self {
        Self(Some(request))
    }

    pub(super) fn take(mut self) -> Option<SnapshotRequest> {
        self.0.take()
    }
}

impl Drop for TakeSnapshot {
    fn drop(&mut self) {
        if let Some(request) = self.0.take() {
            request.reply.send(Err(Denied::Unavailable));
        }
    }
}

impl Message for TakeSnapshot {
    type Result = ();
}
