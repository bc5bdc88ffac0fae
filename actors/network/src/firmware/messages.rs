//! Messages of the firmware actor.

use std::marker::PhantomData;
use std::sync::Arc;

use actix::Message;
use tokio::sync::oneshot;

use super::snapshot::SnapshotQuery;
use super::state::FirmwareState;
use super::transaction::FirmwareTransaction;
use muster_core::idempotency::Idempotency;
use muster_core::{Error, Millis};
use serde_json::Value;

/// Response to a request that creates something.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateResponse {
    /// The created resource as JSON.
    pub data: Value,
    /// Whether this repeats the response to an earlier request with the same idempotency key.
    pub replayed: bool,
}

/// Applies a change: decided at once, durable when it is answered.
pub(crate) struct ApplyChange<R, C>(pub C, PhantomData<fn() -> R>);

impl<R, C: FnOnce(&mut FirmwareState, &mut FirmwareTransaction, Millis) -> Result<R, Error>> ApplyChange<R, C> {
    pub fn new(change: C) -> Self {
        Self(change, PhantomData)
    }
}

impl<R: 'static, C> Message for ApplyChange<R, C> {
    type Result = Result<R, Error>;
}

/// Applies a change that creates something, once for each idempotency key.
pub(crate) struct CreateOnce<C> {
    pub change: C,
    pub request: Option<Idempotency>,
}

impl<C> Message for CreateOnce<C> {
    type Result = Result<CreateResponse, Error>;
}

/// Returns the first response to a request, if it was made before.
#[derive(Debug, Message)]
#[rtype(result = "Result<Option<CreateResponse>, Error>")]
pub(crate) struct FindReplay(pub Idempotency);

/// Reads the state; answered once the decisions that it shows are durable.
pub(crate) struct ReadState<R, F>(pub F, PhantomData<fn() -> R>);

impl<R, F: FnOnce(&FirmwareState) -> R> ReadState<R, F> {
    pub fn new(read: F) -> Self {
        Self(read, PhantomData)
    }
}

impl<R: 'static, F> Message for ReadState<R, F> {
    type Result = Result<R, Error>;
}

/// Returns a receiver that resolves when a device has a job.
#[derive(Debug, Message)]
#[rtype(result = "oneshot::Receiver<()>")]
pub(crate) struct WaitForJob(pub Arc<str>);

/// Takes a snapshot of the state behind a channel.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct TakeSnapshot(pub SnapshotQuery);
