//! What the follower publishes: how far the tree is made, what is signed, and what was found wrong.

use muster_core::Millis;
use muster_tlog::{Edge, Hash, Note, NoteSignature};
use serde::Serialize;

use crate::marks::LogMark;

/// Differences that are kept; further ones are only logged.
pub(crate) const MOST_ALARMS: usize = 100;

/// A signed checkpoint, and the cosignatures of witnesses so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCheckpoint {
    /// Number of entries.
    pub size: u64,
    /// Root of the tree of these entries.
    pub root: Hash,
    /// Time at which it was signed.
    pub at: Millis,
    /// The note as the log signed it.
    pub note: String,
    /// Cosignatures of witnesses.
    pub(crate) cosignatures: Vec<NoteSignature>,
}

impl SignedCheckpoint {
    /// Returns the note with the cosignatures.
    #[must_use]
    pub fn cosigned(&self) -> String {
        let signed = Note::parse(self.note.as_bytes()).ok().and_then(|note| {
            let signatures = note.signatures().iter().chain(&self.cosignatures).cloned().collect();
            Note::new(note.text().to_owned(), signatures).ok()
        });
        signed.map_or_else(|| self.note.clone(), |note| note.to_string())
    }
}

/// A difference between the log and what was made or signed of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alarm {
    /// Time at which it was found.
    pub at: Millis,
    /// Number of the entry, if it is known.
    pub seq: Option<u64>,
    /// What differs.
    pub what: String,
}

/// What a witness has seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WitnessStatus {
    /// Name of the witness.
    pub name: String,
    /// Entries of the newest checkpoint that it cosigned.
    pub size: u64,
    /// Time at which it cosigned it.
    pub at: Option<Millis>,
    /// Why the last attempt failed.
    pub problem: Option<String>,
}

/// The state of the log.
#[derive(Debug, Clone)]
pub struct LogView {
    /// Identifies the log: the name in its checkpoints.
    pub origin: String,
    /// Edge of the tree.
    pub(crate) edge: Edge,
    /// What was signed last of this generation.
    pub signed: Option<SignedCheckpoint>,
    /// Time of the first entry that is not signed yet.
    pub unsigned_since: Option<Millis>,
    /// Differences that were found since the start.
    pub alarms: Vec<Alarm>,
    /// Whether the file of checkpoints was lost before this start.
    pub marks_lost: bool,
    /// Witnesses.
    pub witnesses: Vec<WitnessStatus>,
    /// Why the last checkpoint could not be written.
    pub problem: Option<String>,
}

impl LogView {
    pub(crate) fn new(mark: &LogMark, marks_lost: bool) -> Self {
        Self {
            origin: mark.origin(),
            edge: Edge::new(),
            signed: None,
            unsigned_since: None,
            alarms: Vec::new(),
            marks_lost,
            witnesses: Vec::new(),
            problem: None,
        }
    }

    /// Returns the number of entries in the tree.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.edge.size()
    }

    /// Returns the number of entries that are signed.
    #[must_use]
    pub fn signed_size(&self) -> u64 {
        self.signed.as_ref().map_or(0, |signed| signed.size)
    }

    /// Returns the number of entries that all witnesses have seen; `None` without witnesses.
    #[must_use]
    pub fn witnessed_size(&self) -> Option<u64> {
        self.witnesses.iter().map(|witness| witness.size).min()
    }
}
