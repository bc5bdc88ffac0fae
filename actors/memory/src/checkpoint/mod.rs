//! What the index shards keep on the disk, so that a start needs no new analysis of every text.
//!
//! Owners fall into 64 fixed slots (`partition`), whatever the number of shards. A slot has a list (`s3f.toc`) of the
//! files it is made of, and the change that they are through: small collections share packs, a large one has a file of
//! its own, and only what changed is written anew. Files are checked block by block (`blocks`) and carry the store that
//! they are of (`identity`): what is damaged, cut or of another store is set aside, and its slot is built from the store.
//!
//! A list is renamed into place behind its files, and files that no list names are removed after it: whatever interrupts
//! a checkpoint, the list before or the list after it stands. Nothing here is the only copy of anything.

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
