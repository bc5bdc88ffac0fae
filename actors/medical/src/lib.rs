//! The state of the medical interface: the knowledge base with its checksum and self-tests, the minutes in which it was
//! available, and kept conversations, which there are only where the operator keeps them.

#![warn(missing_docs)]

mod conversations;
mod knowledge;
mod latency;
mod uptime;

pub use conversations::{
    ConversationOptions, ConversationView, Conversations, KeptCounts, KnownFacts, NewTurn, Notice, OpenedConversation,
    Reader, Receipt, Sending, Turn,
};
pub use knowledge::{Capabilities, Defect, Knowledge, Problem};
pub use latency::{Latencies, LatencySummary};
pub use uptime::{Availability, Uptime, UptimeOptions};
