//! In-process inference behind small traits: chat models on llama.cpp, sentence embeddings, vision and translation.
//! Contains no actor and no HTTP.

#![warn(missing_docs)]

mod chat;
mod embed;
mod local;
mod manifest;
mod media;
mod select;
mod tool;
pub mod translate;

#[cfg(feature = "llm")]
mod answer_parser;
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
#[cfg(any(feature = "llm", feature = "embed"))]
mod restart;
#[cfg(feature = "llm")]
mod schema;
#[cfg(feature = "llm")]
mod stop;
#[cfg(feature = "llm")]
mod utf8;
mod verify;
mod vision;

pub use chat::{
    ChatModel, ChatTurn, Finish, Format, GenerateEvent, GenerateRequest, Generation, ModelError, ModelInfo, ModelStats,
    ModelStatus, Role, TokenUsage,
};
pub use embed::{EmbedError, EmbedFuture, EmbedInfo, EmbedModel, EmbedOptions, EmbedStats, Embeddings, LocalEmbedder};
pub use local::{LocalModel, ModelOptions};
pub use manifest::{EmbeddingEntry, FileRole, HubSource, Manifest, ManifestError, ModelEntry, ModelFile, PackagePart};
pub use media::{MediaFile, MediaManifest, MediaModel, MediaModelError, MediaSource};
pub use select::Selection;
pub use tool::{MAX_CALLS, Tool, ToolCall, ToolChoice, Toolbox};
pub use vision::{
    DetectOptions, DetectedObject, Detector, IsCancelled, MAX_IMAGE_SIDE, ModerationScores, Moderator, Ocr, OcrLine,
    OcrPage, PixelBox, RgbImage, Rotation, VisionError,
};
