//! Inference in this process, behind small traits. Knows nobody: no actor, no HTTP.

mod chat;
mod local;
mod manifest;
mod select;
mod tool;

#[cfg(feature = "llm")]
mod engine;
#[cfg(not(feature = "llm"))]
#[path = "no_engine.rs"]
mod engine;
#[cfg(feature = "llm")]
mod hermes;
#[cfg(feature = "llm")]
mod memory;
#[cfg(feature = "llm")]
mod plan;
#[cfg(feature = "llm")]
mod resolve;
#[cfg(feature = "llm")]
mod restart;
#[cfg(feature = "llm")]
mod schema;
#[cfg(feature = "llm")]
mod speech;
#[cfg(feature = "llm")]
mod stop;
#[cfg(feature = "llm")]
mod utf8;
#[cfg(feature = "llm")]
mod verify;

pub use chat::{
    ChatModel, Finish, Format, GenerateEvent, GenerateRequest, Generation, ModelError, ModelInfo, ModelStats, Role,
    Status, TokenUsage, Turn,
};
pub use local::{LocalModel, Options};
pub use manifest::{HubSource, Manifest, ManifestError, ModelEntry, PackagePart};
pub use select::Selection;
pub use tool::{MAX_CALLS, Tool, ToolCall, ToolChoice, Toolbox};
