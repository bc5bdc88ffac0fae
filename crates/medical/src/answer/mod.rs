//! What is answered: the same blocks for the three interfaces, each clinical
//! statement with the number of its citation.

pub mod cancer;
pub mod card;
pub mod chat;
pub mod cite;
pub mod common;
pub mod extracted;
pub mod protocol;
pub mod vitals;

pub use cite::{Citation, Cites};
pub use common::{Common, Engine, LanguageNote, ReviewNote, TriageBlock, common};
pub use extracted::Extracted;

/// Intended use, in every answer.
pub const INTENDED_USE: &str = "Research and decision support for health professionals. Not a medical device, not cleared \
     by any authority, not a diagnosis. No clinician has reviewed this knowledge base unless `review` says so.";
