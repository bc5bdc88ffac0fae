//! Requests to the firmware actor.

use std::marker::PhantomData;
use std::sync::Arc;

use actix::Message;
use tokio::sync::oneshot;

use super::snapshot::Ask;
use super::state::State;
use super::turn::Turn;
use muster_core::idempotency::Idempotency;
use muster_core::{Error, Millis};
use serde_json::Value;

/// An answer to a request that creates something.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    pub data: Value,
    /// It was given before, for the same `Idempotency-Key`.
    pub replayed: bool,
}

/// A change: decided at once, durable when it is answered.
pub struct Change<R, C>(pub C, PhantomData<fn() -> R>);

impl<R, C: FnOnce(&mut State, &mut Turn, Millis) -> Result<R, Error>> Change<R, C> {
    pub fn new(change: C) -> Self {
        Self(change, PhantomData)
    }
}

impl<R: 'static, C> Message for Change<R, C> {
    type Result = Result<R, Error>;
}

/// A change that creates something, once for each `Idempotency-Key`.
pub struct Create<C> {
    pub change: C,
    pub request: Option<Idempotency>,
}

impl<C> Message for Create<C> {
    type Result = Result<View, Error>;
}

/// The first answer to a request, where it was made before.
#[derive(Debug, Message)]
#[rtype(result = "Result<Option<View>, Error>")]
pub struct Replay(pub Idempotency);

/// A read of the state, answered once what it shows is durable.
pub struct Read<R, F>(pub F, PhantomData<fn() -> R>);

impl<R, F: FnOnce(&State) -> R> Read<R, F> {
    pub fn new(read: F) -> Self {
        Self(read, PhantomData)
    }
}

impl<R: 'static, F> Message for Read<R, F> {
    type Result = Result<R, Error>;
}

/// A request of a device to be notified when it has something to take.
#[derive(Debug, Message)]
#[rtype(result = "oneshot::Receiver<()>")]
pub struct Wait(pub Arc<str>);

/// A request for the state of a channel.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Snapshot(pub Ask);
