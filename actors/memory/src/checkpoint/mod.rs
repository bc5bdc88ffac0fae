//! Checkpoints of the index shards, so that a start need not analyse every text again.
//!
//! Owners are hashed to 64 fixed slots (`partition`), whatever the number of shards. A slot has a list (`s3f.toc`) of
//! its files and the last change contained in them. Small collections share pack files, a large one has a file of its
//! own, and only changed files are rewritten. Files are verified block by block (`blocks`) and carry the identity of
//! their store (`identity`): damaged, truncated and foreign files are quarantined, and their slot is rebuilt from the
//! store.
//!
//! A list is renamed into place after its files are written, and unlisted files are removed after that: an interrupted
//! checkpoint leaves the previous or the new list valid. Checkpoints are never the only copy of data.

mod blocks;
mod folder;
mod identity;
mod part;
mod partition;
#[cfg(test)]
mod tests;

pub(super) use folder::{Checkpoints, Restored, SlotSave};
pub(super) use identity::identity;
pub(super) use part::{FileEntry, PartKey};
pub(super) use partition::SlotNumber;
