//! What the chain is asked, and what it answers.

use std::sync::Arc;
use std::time::Duration;

use muster_providers::{ChatReply, ChatRequest, EmbedReply, EmbedRequest, ProviderKind, Usage};
use serde::Serialize;

use super::breaker::BreakerStatus;
use muster_core::Error;

/// One chat for the chain.
#[derive(Debug, Clone)]
pub struct ChatAsk {
    /// Models or families in the order to be tried. None means the chain itself; after a single one comes the rest of
    /// the chain; two or more are a bound, and nothing but them is asked.
    pub models: Vec<String>,
    pub request: Arc<ChatRequest>,
    /// Passed on to the provider.
    pub request_id: String,
    pub traceparent: Option<String>,
    /// In place of the chain's own; the edge bounds it.
    pub deadline: Option<Duration>,
    /// In place of the chain's own; `max_attempts` bounds them all.
    pub retries: Option<u32>,
    /// Where a call has not answered after this (a stream: not with its first delta, held back or not), the next
    /// provider is called beside it, two at most at a time. The first answer wins, and the other call is cancelled: its
    /// provider may bill what it had done by then, so that a hedged request can be billed twice.
    pub hedge_after: Option<Duration>,
    /// Whose money it spends; `None` is entered in no ledger.
    pub spend: Option<Spend>,
}

/// Whose money a request spends, and how much at most. In billionths of a dollar; `None` is no bound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spend {
    pub key_id: String,
    /// Of the key, for a calendar month.
    pub key_limit: Option<u64>,
    /// Of this one call.
    pub call_limit: Option<u64>,
    /// The most tokens that it is thought to use.
    pub most: Usage,
}

/// Texts to be embedded. Vectors of different models do not compare, so only providers of the one model are asked.
#[derive(Debug, Clone)]
pub struct EmbedAsk {
    /// An embedding model; `None` or `default` for the embedded one.
    pub model: Option<String>,
    pub request: Arc<EmbedRequest>,
    /// Passed on to the provider.
    pub request_id: String,
    pub traceparent: Option<String>,
    /// Whose money it spends; `None` is entered in no ledger.
    pub spend: Option<Spend>,
}

/// Vectors, and who gave them.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    pub reply: EmbedReply,
    /// The provider's figures, or counted and marked `estimated`.
    pub usage: Usage,
    pub model_id: String,
    pub provider_id: String,
    pub attempts: Vec<Attempt>,
    /// Billionths of a dollar; `None` where the model's price is not known.
    pub cost_nanos: Option<u64>,
    /// Of the whole request.
    pub latency: Duration,
}

/// How one attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    Ok,
    /// Connect, 408, 5xx, a time-out, a malformed answer, an end before the first delta.
    Transient,
    /// 429.
    Throttled,
    /// Our key or account was refused.
    Hard,
    /// The request itself was refused.
    Client,
    /// It cannot do what was asked, as is known without asking it.
    Unsupported,
    /// It does not know the model, whose name the client made up.
    UnknownModel,
    /// The embedded model is absent, loading or full.
    NotReady,
    /// Another provider, called beside it, answered first or refused the request: it was given up, and may be billed.
    Cancelled,
    /// The deadline of the whole request came.
    Deadline,
    /// Not called: a budget has no room for it.
    BudgetExhausted,
    /// Not called: its breaker is open, or a probe is in flight.
    OpenCircuit,
    /// Not called: its breaker is restarting or overloaded.
    Unavailable,
}

/// One provider of the chain, as this request met it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attempt {
    pub provider: String,
    pub model: String,
    pub outcome: AttemptOutcome,
    /// To the first delta of a stream, to the end of a whole answer, or to the failure.
    pub latency_ms: u64,
}

/// A whole answer. The last of its attempts is the one that answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub reply: ChatReply,
    /// The provider's figures, or counted and marked `estimated`.
    pub usage: Usage,
    pub model_id: String,
    pub provider_id: String,
    pub attempts: Vec<Attempt>,
    /// Billionths of a dollar; `None` where the model's price is not known.
    pub cost_nanos: Option<u64>,
    /// Of the whole request.
    pub latency: Duration,
}

/// A refusal, and what was tried before it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct ChainError {
    pub error: Error,
    pub attempts: Vec<Attempt>,
}

impl From<ChainError> for Error {
    fn from(refused: ChainError) -> Self {
        refused.error
    }
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamEnd {
    Done,
    /// Broken by the provider or by a bound, before or after its first delta.
    Failed,
    /// Its reader went away.
    ClientGone,
}

/// What limits and ledger settle a stream on. Told exactly once for each stream that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    pub end: StreamEnd,
    /// Of what was delivered: the provider's figures, or counted and marked `estimated`. Nothing before the first delta.
    pub usage: Usage,
    /// Billionths of a dollar; `None` where the model's price is not known.
    pub cost_nanos: Option<u64>,
    /// The provider and model that answered; `None` before the first delta.
    pub provider_id: Option<String>,
    pub model_id: Option<String>,
    /// From the request to the end.
    pub latency: Duration,
}

/// One provider of the chain, for status and health.
#[derive(Debug, Clone, Serialize)]
pub struct ProviderStatus {
    pub id: String,
    #[serde(serialize_with = "kind_as_str")]
    pub kind: ProviderKind,
    /// Its place in the chain, from 0; `None` outside of it.
    pub order: Option<usize>,
    pub models: Vec<String>,
    pub breaker: BreakerStatus,
}

fn kind_as_str<S: serde::Serializer>(kind: &ProviderKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}
