//! The audit log as a transparency log: over HTTP, on the command line, after crashes and alterations.

#[path = "audit_log/offline.rs"]
mod offline;
#[path = "audit_log/online.rs"]
mod online;
