//! Controls of published frameworks, and what the server itself can show for each.
//!
//! A control passes by evidence of acts within its window, and by nothing else: settings and probes can only contradict it.
//! A server on which nothing has happened passes none, and a pass ends when its evidence is older than the window.

mod control;
mod evaluate;
mod service;
#[cfg(test)]
mod tests;

pub use control::{Control, Evidence, EvidenceKind, controls};
pub use evaluate::{ControlState, Found, FoundEvidence, Status, evaluate};
pub use service::{Compliance, EvidenceSource};
