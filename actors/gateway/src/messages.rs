//! Requests and results of the chain.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use muster_providers::{
    ChatReply, ChatRequest, EmbedReply, EmbedRequest, ImageRequest, ModelRules, ProviderKind, ReplyImage, Usage,
};
use serde::Serialize;

use super::breaker::BreakerStatus;
use super::cache::{CachePolicy, CacheUse};
use muster_core::Error;

/// A chat request to the gateway.
#[derive(Debug, Clone, Default)]
pub struct GatewayChatRequest {
    /// Models or model families in the order of preference. Empty selects the chain's default; a single model is
    /// followed by what the settings allow in its place; of two or more, only the listed ones are tried, and one whose
    /// budget is exhausted is skipped.
    pub models: Vec<String>,
    /// The chat itself.
    pub request: Arc<ChatRequest>,
    /// Forwarded to the provider.
    pub request_id: String,
    /// W3C trace context, forwarded to the provider.
    pub traceparent: Option<String>,
    /// Overrides the chain's deadline; bounded by the HTTP layer.
    pub deadline: Option<Duration>,
    /// Overrides the chain's retry rounds; `max_attempts` still bounds the number of calls.
    pub retries: Option<u32>,
    /// Starts a hedge when a call has not answered within this time (a stream: no first delta, whether it is held back
    /// or not): the next provider is called in parallel, with at most two calls at a time. The first answer wins and
    /// the other call is cancelled; its provider may bill for work done until then, so a hedged request can be billed
    /// twice.
    pub hedge_after: Option<Duration>,
    /// Who pays; `None` writes no ledger entry.
    pub spend: Option<Spend>,
    /// What it may use of the cache; `None` is nothing.
    pub cache: Option<CachePolicy>,
}

/// The paying key of a request and its limits. Amounts are in billionths of a US dollar; `None` is unlimited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spend {
    /// Id of the API key that pays.
    pub key_id: String,
    /// Budget of the key per calendar month.
    pub key_limit: Option<u64>,
    /// Owner of the key, whose budget all of the owner's keys share.
    pub owner: Option<SharedBudget>,
    /// Team of the key, whose budget all of the team's keys share.
    pub team: Option<SharedBudget>,
    /// Tags that its usage is reported under.
    pub tags: Vec<String>,
    /// The models that the key and its team allow. Others are not called.
    pub models: ModelRules,
    /// Budget of this call.
    pub call_limit: Option<u64>,
    /// Upper estimate of the tokens this call uses, without images: their tokens depend on the provider. The answer's are
    /// used where neither the request nor the model bounds them.
    pub max_usage: Usage,
}

/// The owner or the team of a key, and its budget per calendar month, in billionths of a US dollar.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedBudget {
    /// Name of the owner, or identifier of the team.
    pub id: String,
    /// `None` is unlimited.
    pub limit: Option<u64>,
}

/// An embedding request to the gateway. Vectors of different models are not comparable, so only providers of this one
/// model are tried.
#[derive(Debug, Clone)]
pub struct GatewayEmbedRequest {
    /// Embedding model; `None` or `default` selects the embedded model.
    pub model: Option<String>,
    /// The texts to embed.
    pub request: Arc<EmbedRequest>,
    /// Forwarded to the provider.
    pub request_id: String,
    /// W3C trace context, forwarded to the provider.
    pub traceparent: Option<String>,
    /// Who pays; `None` writes no ledger entry.
    pub spend: Option<Spend>,
}

/// Embedding vectors, and the provider that computed them.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletedEmbedding {
    /// The vectors, in the order of the inputs.
    pub reply: EmbedReply,
    /// Usage reported by the provider, or counted here and marked `estimated`.
    pub usage: Usage,
    /// Model that answered.
    pub model_id: String,
    /// Provider that answered.
    pub provider_id: String,
    /// How they relate to what was requested.
    pub substitute: Substitute,
    /// Every attempt, the successful one last.
    pub attempts: Vec<Attempt>,
    /// Cost in billionths of a US dollar; `None` when the model's price is unknown.
    pub cost_nanos: Option<u64>,
    /// Duration of the whole request.
    pub latency: Duration,
}

/// A request for pictures to the gateway.
#[derive(Debug, Clone)]
pub struct GatewayImageRequest {
    /// Image model; `None`, `default` or `image` selects every configured one in order.
    pub model: Option<String>,
    /// The pictures.
    pub request: Arc<ImageRequest>,
    /// Checks what a provider returned: what it rejects is a malformed answer.
    pub check: Arc<dyn PictureCheck>,
    /// Forwarded to the provider.
    pub request_id: String,
    /// W3C trace context, forwarded to the provider.
    pub traceparent: Option<String>,
    /// Who pays; `None` writes no ledger entry.
    pub spend: Option<Spend>,
}

/// Checks pictures from a provider and brings them into their final form. Decoding is not the gateway's.
pub trait PictureCheck: Send + Sync + std::fmt::Debug {
    /// Returns the bytes of the pictures, in their order.
    fn check(&self, images: Vec<ReplyImage>) -> BoxFuture<'static, Result<Vec<CheckedPicture>, Unchecked>>;
}

/// Why pictures were not checked.
#[derive(Debug, Clone, PartialEq)]
pub enum Unchecked {
    /// A picture is not one: the provider's fault.
    Malformed(String),
    /// They could not be checked at present: not the provider's fault.
    Unavailable(Error),
}

/// A picture that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedPicture {
    /// The file, a PNG.
    pub png: Vec<u8>,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// What the model drew instead of the prompt, if it says so.
    pub revised_prompt: Option<String>,
}

/// Pictures, and the provider that drew them.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletedImages {
    /// The pictures: as many as were requested.
    pub pictures: Vec<CheckedPicture>,
    /// Usage reported by the provider, or counted here and marked `estimated`.
    pub usage: Usage,
    /// Model that answered.
    pub model_id: String,
    /// Provider that answered.
    pub provider_id: String,
    /// How they relate to what was requested.
    pub substitute: Substitute,
    /// Every attempt, the successful one last.
    pub attempts: Vec<Attempt>,
    /// Cost in billionths of a US dollar; `None` when the model's price is unknown.
    pub cost_nanos: Option<u64>,
    /// Duration of the whole request.
    pub latency: Duration,
}

/// How what answered relates to what was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Substitute {
    /// The provider and model that the request is for.
    None,
    /// Another provider of the same model, as the first one could not answer.
    Provider,
    /// Another model, as the request or the settings allow.
    Model,
}

impl Substitute {
    /// Returns its name in the header `X-Muster-Fallback`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Provider => "provider",
            Self::Model => "model",
        }
    }
}

/// How one attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// The provider answered.
    Ok,
    /// Connection failure, 408, 5xx, time-out, malformed answer, or end of the stream before its first delta.
    Transient,
    /// The provider returned 429.
    Throttled,
    /// The provider rejected our key or account.
    Hard,
    /// The provider rejected the request itself.
    Client,
    /// Not called: the adapter knows that the provider does not support the request.
    Unsupported,
    /// The provider does not know the model name, which the client invented.
    UnknownModel,
    /// The embedded model is absent, loading or full.
    NotReady,
    /// Cancelled because a parallel call answered first or rejected the request. The provider may bill for it.
    Cancelled,
    /// The deadline of the whole request passed.
    Deadline,
    /// Not called: a budget does not cover it.
    BudgetExhausted,
    /// Not called: its price is unknown, so that no budget can be kept.
    Unpriced,
    /// Not called: its breaker is open, or a probe is in progress.
    OpenCircuit,
    /// Not called: its breaker is restarting or overloaded.
    Unavailable,
}

impl AttemptOutcome {
    /// Returns the name used in responses and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Transient => "transient",
            Self::Throttled => "throttled",
            Self::Hard => "hard",
            Self::Client => "client",
            Self::Unsupported => "unsupported",
            Self::UnknownModel => "unknown_model",
            Self::NotReady => "not_ready",
            Self::Cancelled => "cancelled",
            Self::Deadline => "deadline",
            Self::BudgetExhausted => "budget_exhausted",
            Self::Unpriced => "unpriced",
            Self::OpenCircuit => "open_circuit",
            Self::Unavailable => "unavailable",
        }
    }
}

/// One attempt of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// Provider id.
    pub provider: String,
    /// Model id.
    pub model: String,
    /// How the attempt ended.
    pub outcome: AttemptOutcome,
    /// Milliseconds to the first delta of a stream, to the end of a complete answer, or to the failure.
    pub latency_ms: u64,
}

/// A complete chat answer. The last of its attempts is the one that succeeded.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletedChat {
    /// The provider's reply.
    pub reply: ChatReply,
    /// Usage reported by the provider, or counted here and marked `estimated`.
    pub usage: Usage,
    /// Model that answered.
    pub model_id: String,
    /// Provider that answered.
    pub provider_id: String,
    /// How they relate to what was requested.
    pub substitute: Substitute,
    /// Every attempt, the successful one last.
    pub attempts: Vec<Attempt>,
    /// Cost in billionths of a US dollar; `None` when the model's price is unknown.
    pub cost_nanos: Option<u64>,
    /// Duration of the whole request.
    pub latency: Duration,
    /// Whether the call was made although a circuit breaker was open, because nothing else could answer.
    pub despite_open: bool,
    /// How the cache was used. A cached answer has the usage of the first one and no attempts, and costs nothing.
    pub cache: CacheUse,
}

/// Error of a request that no provider answered, with its attempts.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct ChainError {
    /// Error to return to the caller.
    pub error: Error,
    /// Attempts made before it.
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
    /// Ran to its proper end.
    Done,
    /// Ended by a provider failure or a time limit, before or after its first delta.
    Failed,
    /// The client disconnected.
    ClientGone,
}

/// Final usage and cost of a stream, for limits and ledger. Delivered exactly once per requested stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// How the stream ended.
    pub end: StreamEnd,
    /// Usage of the delivered part: reported by the provider, or counted here and marked `estimated`. Zero before the
    /// first delta.
    pub usage: Usage,
    /// Cost in billionths of a US dollar; `None` when the model's price is unknown.
    pub cost_nanos: Option<u64>,
    /// Provider that answered; `None` before the first delta.
    pub provider_id: Option<String>,
    /// Model that answered; `None` before the first delta.
    pub model_id: Option<String>,
    /// Duration from the request to the end of the stream.
    pub latency: Duration,
}

/// Status of one provider, for status and health reports.
#[derive(Debug, Clone, Serialize)]
pub struct ProviderStatus {
    /// Provider id in the registry.
    pub id: String,
    /// Wire protocol of the provider.
    #[serde(serialize_with = "kind_as_str")]
    pub kind: ProviderKind,
    /// Position in the chain, from 0; `None` outside the chain.
    pub order: Option<usize>,
    /// Names of its configured models.
    pub models: Vec<String>,
    /// Environment variable of the key that it lacks; without the key it is not called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_key: Option<String>,
    /// Status of its circuit breaker.
    pub breaker: BreakerStatus,
}

fn kind_as_str<S: serde::Serializer>(kind: &ProviderKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}
