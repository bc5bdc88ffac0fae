//! Proofs of inclusion that are verified offline (C2SP tlog-proof).

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::checkpoint::decimal;
use crate::note::MAX_NOTE;
use crate::{Checkpoint, CheckpointError, Hash, MAX_PATH, Note, OpenedCheckpoint, ProofError, VerifierKey};

const HEADER: &str = "c2sp.org/tlog-proof@v1";
/// Maximum length of the extra data, in bytes.
pub const MAX_EXTRA: usize = 16 << 10;
/// Maximum length of a proof: header, index and path have less than 4 KiB.
const MAX: usize = MAX_NOTE + 2 * MAX_EXTRA + (4 << 10);

/// Why a proof is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TlogProofError {
    /// The bytes are no proof in this format.
    #[error("it is not in the format {HEADER}")]
    Form,
    /// The checkpoint is not accepted.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The path does not lead from the entry to the root of the checkpoint.
    #[error(transparent)]
    Proof(#[from] ProofError),
}

/// The proof that an entry is in a log: its index, the path to the root, and a signed checkpoint with that root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlogProof {
    /// Data that nothing authenticates.
    pub extra: Option<Vec<u8>>,
    /// Index of the entry, from 0.
    pub index: u64,
    /// Path of inclusion, from the sibling of the leaf to the child of the root.
    pub path: Vec<Hash>,
    /// The signed checkpoint.
    pub checkpoint: Note,
}

impl TlogProof {
    /// Parses a proof. Nothing is verified.
    ///
    /// # Errors
    /// [`TlogProofError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, TlogProofError> {
        if bytes.len() > MAX {
            return Err(TlogProofError::Form);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| TlogProofError::Form)?;
        let (proof, checkpoint) = text.split_once("\n\n").ok_or(TlogProofError::Form)?;
        let mut lines = proof.split('\n').peekable();
        if lines.next() != Some(HEADER) {
            return Err(TlogProofError::Form);
        }
        let extra = match lines.peek().and_then(|line| line.strip_prefix("extra ")) {
            Some(encoded) => {
                let extra = STANDARD.decode(encoded).map_err(|_| TlogProofError::Form)?;
                lines.next();
                Some(extra)
                    .filter(|extra| (1..=MAX_EXTRA).contains(&extra.len()))
                    .ok_or(TlogProofError::Form)
                    .map(Some)?
            }
            None => None,
        };
        let index = lines.next().and_then(|line| line.strip_prefix("index ")).and_then(decimal);
        let index = index.ok_or(TlogProofError::Form)?;
        let path: Option<Vec<Hash>> = lines.map(Hash::from_base64).take(MAX_PATH + 1).collect();
        let path = path.filter(|path| path.len() <= MAX_PATH).ok_or(TlogProofError::Form)?;
        let checkpoint = Note::parse(checkpoint.as_bytes()).map_err(CheckpointError::from)?;
        Ok(Self { extra, index, path, checkpoint })
    }

    /// Verifies that the log `origin`, with one of these keys, has the entry whose leaf hash is given. Cosignatures of
    /// keys of witnesses are verified as well.
    ///
    /// # Errors
    /// [`TlogProofError`].
    pub fn verify(&self, leaf: &Hash, origin: &str, keys: &[VerifierKey]) -> Result<OpenedCheckpoint, TlogProofError> {
        let opened = Checkpoint::open(self.checkpoint.to_string().as_bytes(), origin, keys)?;
        let Checkpoint { size, root, .. } = &opened.checkpoint;
        crate::verify_inclusion(leaf, self.index, *size, &self.path, root)?;
        Ok(opened)
    }
}

impl fmt::Display for TlogProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        if let Some(extra) = &self.extra {
            writeln!(f, "extra {}", STANDARD.encode(extra))?;
        }
        writeln!(f, "index {}", self.index)?;
        self.path.iter().try_for_each(|hash| writeln!(f, "{hash}"))?;
        write!(f, "\n{}", self.checkpoint)
    }
}
