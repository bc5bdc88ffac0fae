//! Records about the log in the store: which log it is, what was signed last, and how far it was set up.

use muster_core::Millis;
use muster_store::{Batch, Encoding, Op, Rec, Record, StoreError, StoreHandle, Tree};
use muster_tlog::Checkpoint;
use serde::{Deserialize, Serialize};

const LOG: &[u8] = b"log";
const SIGNED: &[u8] = b"signed";
const IMPORT: &[u8] = b"import";

/// Which log this is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogMark {
    /// Name of the server in the origin.
    pub(crate) name: String,
    /// Number of the generation, from 1.
    pub(crate) generation: u64,
    /// Identifies the restoration that this log knows of.
    pub(crate) restored: Option<Vec<u8>>,
}

impl LogMark {
    /// The origin of the log: the name that stands in its checkpoints.
    pub(crate) fn origin(&self) -> String {
        origin(&self.name, self.generation)
    }
}

/// Returns the origin of a generation.
pub(crate) fn origin(name: &str, generation: u64) -> String {
    format!("{name}/audit/{generation}")
}

/// Returns the generation of an origin.
pub(crate) fn generation_of(origin: &str) -> Option<u64> {
    origin.rsplit_once("/audit/")?.1.parse().ok()
}

impl Record for LogMark {
    const TREE: Tree = Tree::AuditMarks;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// What was signed last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SignedMark {
    pub(crate) at: Millis,
    /// The signed checkpoint.
    pub(crate) note: String,
}

impl Record for SignedMark {
    const TREE: Tree = Tree::AuditMarks;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// How far the entries of an earlier version were moved into the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ImportMark {
    /// Whether the leaf that announces them was appended.
    pub(crate) announced: bool,
    /// The last record whose state was appended.
    pub(crate) recorded: Option<String>,
    /// Whether all is done.
    pub(crate) done: bool,
}

impl Record for ImportMark {
    const TREE: Tree = Tree::AuditMarks;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

impl LogMark {
    pub(crate) fn read(store: &StoreHandle) -> Result<Option<Self>, StoreError> {
        store.record(LOG)
    }

    pub(crate) fn op(&self) -> Result<Op, StoreError> {
        Ok(Op::Put { tree: Self::TREE, key: LOG.to_vec(), rec: self.encode()? })
    }
}

impl SignedMark {
    pub(crate) fn read(store: &StoreHandle) -> Result<Option<Self>, StoreError> {
        store.record(SIGNED)
    }

    pub(crate) fn batch(&self) -> Result<Batch, StoreError> {
        Ok(Batch::put(Self::TREE, SIGNED, self.encode()?))
    }
}

impl ImportMark {
    pub(crate) fn read(store: &StoreHandle) -> Result<Self, StoreError> {
        Ok(store.record(IMPORT)?.unwrap_or_default())
    }

    pub(crate) fn op(&self) -> Result<Op, StoreError> {
        Ok(Op::Put { tree: Self::TREE, key: IMPORT.to_vec(), rec: self.encode()? })
    }
}

/// Returns the checkpoint that was signed last, as the store itself has it. `read` reads a record of the store.
///
/// # Errors
/// The error of `read`, or `Corrupt`.
pub fn newest_signed(
    read: impl FnOnce(Tree, &[u8]) -> Result<Option<Rec>, StoreError>,
) -> Result<Option<String>, StoreError> {
    let rec = read(SignedMark::TREE, SIGNED)?;
    Ok(rec.map(|rec| SignedMark::decode(&rec)).transpose()?.map(|mark| mark.note))
}

/// Reads the checkpoint of a note without verifying its signatures: whether it is true is shown by the entries, and
/// whether it was signed here by whoever has the key.
pub(crate) fn parse_note(note: &str) -> Option<Checkpoint> {
    muster_tlog::Note::parse(note.as_bytes()).ok()?.text().parse().ok()
}
