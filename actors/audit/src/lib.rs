//! The audit log as a transparency log: who acted, in an order that nobody can change unseen.
//!
//! - [`LogKeys`]: the keys by which this server signs checkpoints, and the secret of its nonces.
//! - [`OpenedLog`]: the check at a start, and the entries of earlier versions. [`Audit`]: search, proofs, tiles, exports,
//!   erasure. A follower makes the tree of what is durable, signs checkpoints and compares the log with its tiles.
//! - [`verify_export`]: the other side, which needs nothing but an export and a key.
//!
//! An entry is appended by whoever acts, in the batch of the act ([`muster_core::audit::AuditEntry::op`]).

#![warn(missing_docs)]

mod checkpoint_file;
mod export;
mod follower;
mod import;
mod keys;
mod marks;
mod offline;
mod probe;
mod search;
mod service;
mod start;
mod summary;
#[cfg(test)]
mod tests;
mod tiles;
mod verify;
mod view;
mod wire;
mod witness;

pub use export::Export;
pub use import::RecordState;
pub use keys::{BytesSignature, LogKeyError, LogKeys, OVERLAP, OpenedKeys};
pub use marks::newest_signed;
pub use offline::{NewestStates, OfflineLog};
pub use probe::LogProbe;
pub use search::{AuditFilter, NumberedEntry};
pub use service::{Audit, AuditOptions, InclusionProof, LogResource, OpenedLog};
pub use start::LogRefusal;
pub use verify::{Verdict, VerifiedExport, VerifyOptions, verify_export};
pub use view::{Alarm, LogView, SignedCheckpoint, WitnessStatus};
pub use wire::ShownEntry;
pub use witness::{Witness, WitnessError, request_body};
