//! Checkpoints: the size and root of a log as the text of a signed note (C2SP tlog-checkpoint).

use std::fmt;
use std::str::FromStr;

use crate::{Hash, Note, NoteError, NoteSigner, SignatureType, Signed, VerifierKey};

/// Why a checkpoint is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// The text is not an origin, a size, a root and optional further lines.
    #[error("a checkpoint is the lines origin, size and root, and further ones that are not empty")]
    Form,
    /// The checkpoint is of another log.
    #[error("the checkpoint is of another log: its origin differs")]
    Origin,
    /// The note is not accepted.
    #[error(transparent)]
    Note(#[from] NoteError),
}

/// The state of a log: how many entries it has, and the root over them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Identifies the log: a line that is not empty.
    pub origin: String,
    /// Number of entries.
    pub size: u64,
    /// Root of the tree of these entries.
    pub root: Hash,
    /// Further lines, which no standard interprets. A log should have none.
    pub extensions: Vec<String>,
}

impl Checkpoint {
    /// Makes a checkpoint without extension lines.
    #[must_use]
    pub const fn new(origin: String, size: u64, root: Hash) -> Self {
        Self { origin, size, root, extensions: Vec::new() }
    }

    /// Signs the checkpoint with the keys of its log.
    ///
    /// # Errors
    /// [`CheckpointError`]: the origin or an extension line is empty or contains a control character, or there is no
    /// signer.
    pub fn sign(&self, signers: &[&NoteSigner]) -> Result<Note, CheckpointError> {
        let text = self.to_string();
        if text.parse::<Self>()? != *self {
            return Err(CheckpointError::Form);
        }
        let signatures = signers.iter().map(|signer| signer.sign(&text, 0)).collect();
        Ok(Note::new(text, signatures)?)
    }

    /// Reads a signed checkpoint of the log `origin`: one of `keys`, the keys of the log, must have signed it. Keys of
    /// witnesses are given too, if their cosignatures are of interest: they are verified, and none of them is enough.
    ///
    /// # Errors
    /// [`CheckpointError`].
    pub fn open(note: &[u8], origin: &str, keys: &[VerifierKey]) -> Result<OpenedCheckpoint, CheckpointError> {
        let note = Note::parse(note)?;
        let verified = note.verify(keys)?;
        if verified.iter().all(|(key, _)| key.kind() != SignatureType::Ed25519) {
            return Err(NoteError::Unsigned.into());
        }
        let checkpoint: Self = note.text().parse()?;
        if checkpoint.origin != origin {
            return Err(CheckpointError::Origin);
        }
        let signatures = verified.into_iter().map(|(key, signed)| (key.to_string(), signed)).collect();
        Ok(OpenedCheckpoint { checkpoint, signatures })
    }
}

/// A checkpoint whose signatures were verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedCheckpoint {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The keys whose signatures were verified, as vkeys, and what they state.
    pub signatures: Vec<(String, Signed)>,
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}\n{}", self.origin, self.size, self.root)?;
        self.extensions.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl FromStr for Checkpoint {
    type Err = CheckpointError;

    fn from_str(text: &str) -> Result<Self, CheckpointError> {
        let mut lines = text.strip_suffix('\n').ok_or(CheckpointError::Form)?.split('\n');
        let mut next = || lines.next().filter(|line| !line.is_empty());
        let origin = next().ok_or(CheckpointError::Form)?.to_owned();
        let size = next().and_then(decimal).ok_or(CheckpointError::Form)?;
        let root = next().and_then(Hash::from_base64).ok_or(CheckpointError::Form)?;
        let extensions: Vec<String> = lines.map(str::to_owned).collect();
        if extensions.iter().any(String::is_empty) {
            return Err(CheckpointError::Form);
        }
        Ok(Self { origin, size, root, extensions })
    }
}

/// Reads a decimal number without sign and leading zeros.
pub(crate) fn decimal(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let canonical = digits && (text == "0" || !text.starts_with('0'));
    canonical.then(|| text.parse().ok()).flatten()
}
