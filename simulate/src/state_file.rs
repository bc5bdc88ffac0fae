//! The state file of a fleet: its devices with their keys, so that a later run continues with the same ones.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use muster_auth::PrivateKey;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use super::api::SimulateError;
use super::device::Device;
use super::fleet::stored;
use super::job::Version;
use super::state::Slot;

/// A device in the state file. It contains the private key, so only the owner may read the file.
#[derive(Clone, Serialize, Deserialize)]
pub struct StoredDevice {
    /// Device identifier.
    pub id: String,
    /// The private JWK.
    pub(super) key: Value,
    #[serde(rename = "runs")]
    pub(super) version: Version,
    pub(super) previous: Option<Version>,
    pub(super) slot: Slot,
}

impl std::fmt::Debug for StoredDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredDevice").field("id", &self.id).field("version", &self.version).finish_non_exhaustive()
    }
}

impl StoredDevice {
    pub(super) fn key(&self) -> Result<PrivateKey, SimulateError> {
        let wrong = |error| SimulateError::Setup(format!("the key of {} in the state file: {error}", self.id));
        PrivateKey::from_jwk(&self.key).map_err(wrong)
    }
}

/// Writes the state file when devices change. Devices that change meanwhile share the next write.
#[derive(Debug)]
pub(super) struct StateSaver {
    /// Whether there is a state file.
    enabled: bool,
    changed: watch::Sender<u64>,
    written: watch::Sender<u64>,
}

impl StateSaver {
    pub(super) fn new(path: Option<&Path>) -> Self {
        Self { enabled: path.is_some(), changed: watch::Sender::new(0), written: watch::Sender::new(0) }
    }

    /// Waits until the present state of the caller is in the file; returns at once if there is no file.
    pub(super) async fn saved(&self) {
        if !self.enabled {
            return;
        }
        let mut own = 0;
        self.changed.send_modify(|changes| {
            *changes += 1;
            own = *changes;
        });
        // Fails only if the sender is dropped, and this object owns it.
        let _ = self.written.subscribe().wait_for(|written| *written >= own).await;
    }

    /// Writes the file after changes, for ever. A failure is reported to `failed` and delays no device.
    pub(super) async fn run(
        self: Arc<Self>,
        path: std::path::PathBuf,
        devices: Vec<Arc<Device>>,
        failed: impl Fn(&SimulateError),
    ) {
        let mut changes = self.changed.subscribe();
        loop {
            let written = *self.written.borrow();
            let Ok(change) = changes.wait_for(|changes| *changes > written).await.map(|changes| *changes) else {
                return;
            };
            let present: Result<Vec<_>, _> = devices.iter().map(|device| stored(device)).collect();
            let path = path.clone();
            let saved = match present {
                Ok(present) => tokio::task::spawn_blocking(move || write(&path, &present)).await,
                Err(error) => Ok(Err(error)),
            };
            if let Ok(Err(error)) = saved {
                failed(&error);
            }
            self.written.send_replace(change);
        }
    }
}

/// Reads a state file. A missing file means no devices.
///
/// # Errors
/// The file cannot be read or is not a state file.
pub(super) fn read(path: &Path) -> Result<Vec<StoredDevice>, SimulateError> {
    let wrong = |why: String| SimulateError::Setup(format!("{}: {why}", path.display()));
    match std::fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| {
            wrong(format!("is not a state file of a fleet ({error}): name another file, or remove it"))
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// Replaces the state file. Only its owner can read it.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(path: &Path, devices: &[StoredDevice]) -> Result<(), SimulateError> {
    let written = || -> std::io::Result<()> {
        let temporary = path.with_extension("new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&temporary)?;
        file.write_all(&serde_json::to_vec(devices)?)?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)
    };
    written().map_err(|error| SimulateError::Setup(format!("{} cannot be written: {error}", path.display())))
}
