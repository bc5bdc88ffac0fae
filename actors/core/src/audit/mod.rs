//! Entries of the audit log: security-relevant actions, each appended in the same batch as the action itself, so that
//! neither exists without the other.
//!
//! What is read of the log, and what is signed of it, is in the crate `muster-audit`.

mod entry;
mod record;

pub use entry::AuditEntry;
pub use muster_tlog::Outcome;
pub use record::{AuditRecord, OldAuditEntry};
