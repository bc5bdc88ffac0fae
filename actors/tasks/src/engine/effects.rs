//! What engines need of the server, performed in the name of the caller.

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_core::Error;
use muster_engines::{Answer, Need};
use serde_json::Value;

use super::runner::EngineCaller;
use crate::task::Usage;

/// The answer to a need, with what models used for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Provided {
    /// What the engine gets.
    pub answer: Answer,
    /// What the caller pays for.
    pub usage: Usage,
}

impl Provided {
    /// Creates the answer that something was provided.
    pub fn given(value: Value, usage: Usage) -> Self {
        Self { answer: Answer::Given(value), usage }
    }

    /// Creates the answer that it was not, and costs nothing.
    pub fn refused(why: impl Into<String>) -> Self {
        Self { answer: Answer::Refused { why: why.into() }, usage: Usage::default() }
    }
}

/// Performs the needs of `model` and `state` engines within the caller's scopes, limits and budget.
pub trait Effects: Send + Sync + std::fmt::Debug {
    /// Performs a need. What the caller may not have, or nobody provides, is refused: the engine then goes its own way
    /// and says so.
    ///
    /// # Errors
    /// Where the engine has no way of its own; the call ends with this error.
    fn perform(&self, need: Need, caller: EngineCaller) -> BoxFuture<'static, Result<Provided, Error>>;
}

/// Refuses every need.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEffects;

impl Effects for NoEffects {
    fn perform(&self, need: Need, _: EngineCaller) -> BoxFuture<'static, Result<Provided, Error>> {
        let why = format!("this server does not provide {} to engines", need.name());
        std::future::ready(Ok(Provided::refused(why))).boxed()
    }
}
