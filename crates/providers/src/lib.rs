//! Language-model providers: a provider-independent chat form, an adapter for each wire protocol, the model catalogue
//! and the registry.
//!
//! Contains no actor and no server: failover and circuit breakers are in the gateway crate.

#![warn(missing_docs)]

mod adapter;
mod anthropic;
mod call;
mod catalogue;
mod chat;
mod embedded;
mod embedded_vectors;
mod fault;
mod gemini;
mod http;
mod image;
mod image_tokens;
mod members;
mod moderation;
mod openai;
mod prompt_size;
mod registry;
mod retry_after;
mod secret;
mod sse;
mod timeouts;

pub use crate::http::{ConfigError, HttpConfig, install_tls};
pub use adapter::Adapter;
pub use anthropic::AnthropicAdapter;
pub use call::{Call, EmbedCall, EmbedInput, EmbedReply, EmbedRequest};
pub use catalogue::{
    Catalogue, CatalogueError, EMBEDDED_EMBEDDING, EMBEDDED_MODEL, EMBEDDED_PROVIDER, EmbeddingEntry, Family,
    ImageEntry, ModelEntry, Price, ProviderEntry, cost_nanos, cost_usd,
};
pub use chat::{
    ChatDefaults, ChatEvent, ChatReply, ChatRequest, ChatStream, Choice, Content, ContentPart, Delta, FinishReason,
    Image, ImageSource, Message, ResponseFormat, Role, Sampling, Tool, ToolCall, ToolChoice, ToolDelta, Usage,
    Verbatim,
};
pub use embedded::{EmbeddedAdapter, QUEUE_TIMEOUT};
pub use fault::{ClientFault, Fault, FaultClass, FaultScope, MAX_FAULT_MESSAGE_CHARS, Phase};
pub use gemini::GeminiAdapter;
pub use image::{
    AspectRatio, Billed, CallPrice, ImageBackground, ImageCall, ImageData, ImagePrice, ImageQuality, ImageReply,
    ImageRequest, ImageShape, ImageShapes, ImageSize, MAX_IMAGES, ReplyImage,
};
pub use image_tokens::{image_tokens, image_tokens_at_most};
pub use members::{collapse_duplicates, with_members};
pub use moderation::{ModerationCall, ModerationReply};
pub use openai::{OpenAiAdapter, is_chat_extension};
pub use prompt_size::{PromptParts, PromptSize, json_bytes};
pub use registry::{
    Candidate, ImageProperties, ListedEmbedding, ListedImage, ListedModel, ModelRules, NamedBy, ProviderKind,
    ProviderSettings, Registry, RegistryError, ResolveError, RoutingSettings,
};
pub use retry_after::{MAX_RETRY_AFTER, parse_retry_after, parse_retry_after_ms};
pub use secret::Secret;
pub use sse::{EventTooLarge, MAX_EVENT_BYTES, SseEvent, SseParser};
pub use timeouts::{TimeoutOverrides, Timeouts};
