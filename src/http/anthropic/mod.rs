//! Interface B of the AI platform in the format of Anthropic: messages.

pub mod messages;
