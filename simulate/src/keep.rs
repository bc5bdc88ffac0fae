//! The devices of a fleet in a file, to come back as the same ones.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use muster_auth::PrivateKey;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::api::SimulateError;
use super::job::Version;
use super::state::Slot;

/// A device as it is kept. It holds its private key: the file is for its owner's eyes.
#[derive(Clone, Serialize, Deserialize)]
pub struct Kept {
    pub id: String,
    /// The private JWK.
    pub(super) key: Value,
    pub(super) runs: Version,
    pub(super) previous: Option<Version>,
    pub(super) slot: Slot,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").field("id", &self.id).field("runs", &self.runs).finish_non_exhaustive()
    }
}

impl Kept {
    pub(super) fn key(&self) -> Result<PrivateKey, SimulateError> {
        let wrong = |error| SimulateError::Setup(format!("the key of {} in the state file: {error}", self.id));
        PrivateKey::from_jwk(&self.key).map_err(wrong)
    }
}

/// Reads a state file; none is no devices.
///
/// # Errors
/// It cannot be read, or is no state file.
pub(super) fn read(path: &Path) -> Result<Vec<Kept>, SimulateError> {
    let wrong = |why: String| SimulateError::Setup(format!("{}: {why}", path.display()));
    match std::fs::read(path) {
        Ok(text) => serde_json::from_slice(&text)
            .map_err(|error| wrong(format!("is no state of a fleet ({error}): give another file, or remove it"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// Writes a state file anew, for its owner only.
///
/// # Errors
/// It cannot be written.
pub(super) fn write(path: &Path, devices: &[Kept]) -> Result<(), SimulateError> {
    let written = || -> std::io::Result<()> {
        let beside = path.with_extension("new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&beside)?;
        file.write_all(&serde_json::to_vec(devices)?)?;
        file.sync_all()?;
        std::fs::rename(&beside, path)
    };
    written().map_err(|error| SimulateError::Setup(format!("{} cannot be written: {error}", path.display())))
}
