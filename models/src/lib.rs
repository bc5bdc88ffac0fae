//! Inference in this process, behind small traits. Knows nobody: no actor, no HTTP.

mod chat;

pub use chat::{
    ChatModel, Finish, Format, GenerateEvent, GenerateRequest, Generation, ModelError, ModelInfo,
    ModelStats, Role, Status, TokenUsage, Turn,
};
