//! Answers of earlier, identical requests. Off unless the paying key or its team has a time for it.
//!
//! A request is looked up by a digest of everything that its answer depends on: who may share it (a key or a team), the
//! models that it names and may use, its form, and the chat without what does not reach the model. The temperature makes no
//! exception: who turns the cache on wants the same answer to the same request, and `Cache-Control` requests another one.
//! Complete answers only are stored, never errors. A stream is stored with its events, and repeated with these.
//!
//! Identical requests that are in flight at the same time each call a provider: none waits for another one, whose failure
//! or slowness it would share.
//!
//! `state` is the pure store, bounded in bytes, with a share for each key or team; an actor owns it.

mod actor;
mod digest;
mod recorder;
mod state;

use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use muster_core::Clock;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_providers::{ChatEvent, ChatReply, Usage};

use actor::{CacheActor, Clear, Insert, Lookup};
pub(crate) use digest::{Digest, Form, digest};
pub(crate) use recorder::Recorder;

use crate::messages::{GatewayChatRequest, Substitute};

/// What a request may use of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachePolicy {
    /// Who shares the answers: the identifier of a key or of a team.
    pub scope: String,
    /// How long its answer may be used.
    pub keep_for: Duration,
    /// Largest age of an answer that it accepts; `None` is any.
    pub max_age: Option<Duration>,
    /// Whether a stored answer may be returned.
    pub read: bool,
    /// Whether its answer may be stored.
    pub write: bool,
}

/// How a request used the cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheUse {
    /// Not at all.
    #[default]
    Off,
    /// A provider was called.
    Miss,
    /// The answer was stored this long ago.
    Hit {
        /// Age of the answer.
        age: Duration,
    },
}

/// A stored answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CachedAnswer {
    pub(crate) provider_id: String,
    pub(crate) model_id: String,
    pub(crate) substitute: Substitute,
    pub(crate) usage: Usage,
    pub(crate) content: CachedContent,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CachedContent {
    Whole(Box<ChatReply>),
    Events(Vec<ChatEvent>),
}

/// The cache. Cheap to clone; survives a change of settings, which empties it.
#[derive(Debug, Clone)]
pub(crate) struct ResponseCache {
    handle: Handle<CacheActor>,
    /// Largest answer that is stored, in bytes.
    largest: usize,
}

/// A request's place in the cache.
#[derive(Debug, Clone)]
pub(crate) struct CachePlace {
    cache: ResponseCache,
    digest: Digest,
    policy: CachePolicy,
}

impl ResponseCache {
    /// Starts the actor, with room for so many bytes; 0 stores nothing.
    pub(crate) fn start(group: &Group, arbiter: ArbiterHandle, clock: &Clock, max_bytes: usize) -> Self {
        let clock = clock.clone();
        let spec = ChildSpec::new("cache", arbiter, move |_| {
            let actor = CacheActor::new(clock.clone(), max_bytes);
            async move { Ok(actor) }
        });
        Self { handle: group.start(spec), largest: state::share(max_bytes) / 4 }
    }

    /// Forgets everything: the providers or their models may have changed.
    pub(crate) fn clear(&self) {
        // A full queue keeps answers for their time.
        let _ = self.handle.try_send(Clear);
    }

    /// Returns the place of a request; `None` if it does not use the cache.
    pub(crate) fn place(&self, request: &GatewayChatRequest, form: Form) -> Option<CachePlace> {
        let policy = request.cache.clone()?;
        let wants = (policy.read || policy.write) && !policy.keep_for.is_zero() && self.largest > 0;
        wants.then(|| CachePlace { cache: self.clone(), digest: digest(&policy.scope, request, form), policy })
    }
}

impl CachePlace {
    /// Returns the stored answer and its age. A cache that does not respond has none.
    pub(crate) async fn find(&self) -> Option<(Arc<CachedAnswer>, Duration)> {
        if !self.policy.read {
            return None;
        }
        let lookup = Lookup { digest: self.digest, max_age: self.policy.max_age };
        self.cache.handle.ask(lookup).await.ok().flatten()
    }

    /// Stores an answer. Nobody waits for it.
    pub(crate) fn store(&self, answer: CachedAnswer, bytes: usize) {
        if self.policy.write && bytes <= self.cache.largest {
            let Self { digest, policy, .. } = self;
            let insert = Insert {
                digest: *digest,
                scope: policy.scope.clone(),
                keep_for: policy.keep_for,
                answer: Arc::new(answer),
                bytes,
            };
            let _ = self.cache.handle.try_send(insert);
        }
    }

    /// Returns a recorder of a stream's events.
    pub(crate) fn recorder(&self) -> Option<Recorder> {
        self.policy.write.then(|| Recorder::new(self.clone(), self.cache.largest))
    }
}

/// Returns the bytes of a reply, roughly.
pub(crate) fn size_of(reply: &ChatReply) -> usize {
    let choices = reply.choices().map(|choice| {
        let calls = choice.tool_calls.iter().map(|call| call.name.len() + call.arguments.len() + call.id.len() + 72);
        choice.content.len() + calls.sum::<usize>() + 64
    });
    choices.sum::<usize>() + reply.verbatim.as_ref().map_or(0, bytes_len) + reply.model.len() + 256
}

fn bytes_len(bytes: &impl AsRef<[u8]>) -> usize {
    bytes.as_ref().len()
}
