//! The actor that owns the cache.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Context, Handler, Message, MessageResult};
use muster_core::Clock;

use super::CachedAnswer;
use super::digest::Digest;
use super::state::CacheState;

/// Requests a stored answer.
#[derive(Debug, Message)]
#[rtype(result = "Option<(Arc<CachedAnswer>, Duration)>")]
pub(super) struct Lookup {
    pub(super) digest: Digest,
    pub(super) max_age: Option<Duration>,
}

/// Stores an answer.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct Insert {
    pub(super) digest: Digest,
    pub(super) scope: String,
    pub(super) keep_for: Duration,
    pub(super) answer: Arc<CachedAnswer>,
    pub(super) bytes: usize,
}

/// Forgets everything.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct Clear;

/// Owns the stored answers. A panic loses them, which costs calls only.
#[derive(Debug)]
pub(super) struct CacheActor {
    clock: Clock,
    state: CacheState<Arc<CachedAnswer>>,
}

impl CacheActor {
    pub(super) fn new(clock: Clock, max_bytes: usize) -> Self {
        Self { clock, state: CacheState::new(max_bytes) }
    }
}

impl Actor for CacheActor {
    type Context = Context<Self>;
}

impl Handler<Lookup> for CacheActor {
    type Result = MessageResult<Lookup>;

    fn handle(&mut self, Lookup { digest, max_age }: Lookup, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.state.get(&digest, max_age, self.clock.now()))
    }
}

impl Handler<Insert> for CacheActor {
    type Result = ();

    fn handle(&mut self, insert: Insert, _: &mut Context<Self>) {
        let Insert { digest, scope, keep_for, answer, bytes } = insert;
        self.state.insert(digest, &scope, answer, bytes, keep_for, self.clock.now());
    }
}

impl Handler<Clear> for CacheActor {
    type Result = ();

    fn handle(&mut self, _: Clear, _: &mut Context<Self>) {
        self.state.clear();
    }
}
