//! Interface B of the AI platform in the format of OpenAI: chat completions, responses, embeddings and models.

pub mod chat_completions;
pub mod embeddings;
pub mod models;
pub mod responses;
