//! A transparency log: what makes an append-only log verifiable by strangers, as functions of bytes.
//!
//! - [`struct@Hash`]: the Merkle tree hashes of RFC 6962, section 2.1.
//! - [`Edge`], [`Tile`], [`TileTree`]: a growing tree kept as tiles of 256 hashes (C2SP tlog-tiles), from which the root
//!   and proofs of every size that the log has had are made.
//! - [`verify_inclusion`], [`verify_consistency`]: the other side, which needs nothing but a root.
//! - [`Note`], [`VerifierKey`], [`NoteSigner`]: signed notes (C2SP signed-note) and cosignatures (C2SP tlog-cosignature,
//!   `cosignature/v1`).
//! - [`Checkpoint`] (C2SP tlog-checkpoint), [`TlogProof`] (C2SP tlog-proof), [`LogPath`] and bundles of entries (C2SP
//!   tlog-tiles).
//! - [`Leaf`] and [`canonical`]: entries of the audit log in canonical JSON (RFC 8785).
//!
//! The specifications are at `https://c2sp.org/<name>`. Nothing here reads a file, a clock or randomness. Every reader is
//! bounded and returns an error for whatever it is given; sizes and indexes are 64-bit.

#![warn(missing_docs)]

mod bundle;
pub mod canonical;
mod checkpoint;
mod edge;
mod hash;
mod key;
mod leaf;
mod log_path;
mod note;
mod proof;
mod prove;
mod shape;
mod tile;
mod tlog_proof;

pub use bundle::{BundleError, read_bundle, write_bundle};
pub use checkpoint::{Checkpoint, CheckpointError, OpenedCheckpoint};
pub use edge::{Edge, EdgeError};
pub use hash::Hash;
pub use key::{KeyError, NoteSigner, SignatureType, Signed, VerifierKey};
pub use leaf::{Leaf, LeafError, MAX_LEAF, Outcome, Salt, commitment, fingerprint};
pub use log_path::{LogPath, LogPathError};
pub use note::{MAX_NOTE, MAX_SIGNATURES, Note, NoteError, NoteSignature};
pub use proof::{MAX_PATH, ProofError, root_of_inclusion, verify_consistency, verify_inclusion};
pub use prove::{ProveError, TileReader, TileTree};
pub use tile::{TILE_BYTES, TILE_WIDTH, Tile, TileId, TileLength};
pub use tlog_proof::{MAX_EXTRA, TlogProof, TlogProofError};
