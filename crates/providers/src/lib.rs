//! Language-model providers: a provider-independent chat form, an adapter for each wire protocol, the model catalogue
//! and the registry.
//!
//! Contains no actor and no server: failover and circuit breakers are in the gateway crate.

#![warn(missing_docs)]

mod adapter;
mod anthropic;
mod catalogue;
mod chat;
mod embedded;
mod embedded_vectors;
mod fault;
mod gemini;
mod http;
mod members;
mod openai;
mod registry;
mod retry_after;
mod secret;
mod sse;

pub use crate::http::{ConfigError, HttpConfig, install_tls};
pub use adapter::Adapter;
pub use anthropic::AnthropicAdapter;
pub use catalogue::{
    Catalogue, CatalogueError, EMBEDDED_EMBEDDING, EMBEDDED_MODEL, EMBEDDED_PROVIDER, EmbeddingEntry, Family,
    ModelEntry, Price, ProviderEntry, cost_nanos, cost_usd,
};
pub use chat::{
    Call, ChatEvent, ChatReply, ChatRequest, ChatStream, Choice, Content, ContentPart, Delta, EmbedCall, EmbedInput,
    EmbedReply, EmbedRequest, FinishReason, Image, ImageSource, Message, ResponseFormat, Role, Sampling, Timeouts,
    Tool, ToolCall, ToolChoice, ToolDelta, Usage, Verbatim,
};
pub use embedded::{EmbeddedAdapter, QUEUE_TIMEOUT};
pub use fault::{ClientFault, Fault, FaultClass, MAX_FAULT_MESSAGE_CHARS, Phase};
pub use gemini::GeminiAdapter;
pub use members::with_members;
pub use openai::OpenAiAdapter;
pub use registry::{
    Candidate, ListedEmbedding, ListedModel, NamedBy, ProviderKind, ProviderSettings, Registry, RegistryError,
    ResolveError,
};
pub use retry_after::{MAX_RETRY_AFTER, parse_retry_after, parse_retry_after_ms};
pub use secret::Secret;
pub use sse::{EventTooLarge, MAX_EVENT_BYTES, SseEvent, SseParser};
