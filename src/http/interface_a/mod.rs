//! Interface A of the AI platform: chat and models in a format of its own.

pub mod chat;
pub mod models;
