//! What engines need of the server, performed in the name of the caller.

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_engines::{Answer, Need};

use super::runner::EngineCaller;

/// Performs the needs of `model` and `state` engines within the caller's scopes, limits and budget. What the caller may
/// not have, or nobody provides, is refused: the engine then goes its own way and says so.
pub trait Effects: Send + Sync + std::fmt::Debug {
    /// Performs a need; never fails, but refuses.
    fn perform(&self, need: Need, caller: EngineCaller) -> BoxFuture<'static, Answer>;
}

/// Refuses every need.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEffects;

impl Effects for NoEffects {
    fn perform(&self, need: Need, _: EngineCaller) -> BoxFuture<'static, Answer> {
        let why = format!("this server does not provide {} to engines", need.name());
        std::future::ready(Answer::Refused { why }).boxed()
    }
}
