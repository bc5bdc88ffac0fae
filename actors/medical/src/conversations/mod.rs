//! Kept conversations: sealed, of one key, ended on time. Nothing is kept where the operator keeps nothing, which is the
//! default.

mod actor;
mod content;
mod messages;
mod record;
mod service;
mod state;
#[cfg(test)]
mod tests;

pub use actor::ConversationOptions;
pub use content::{KnownFacts, Turn};
pub use messages::{ConversationView, KeptCounts, NewTurn, Notice, OpenedConversation, Reader, Receipt, Sending};
pub use service::Conversations;
