//! The service of firmware: start, state access and signing keys. Artifacts are in `artifact_service`, jobs in
//! `job_service`.

use std::path::PathBuf;
use std::sync::Arc;

use actix_rt::ArbiterHandle;
use muster_store::StoreHandle;

use super::actor::{FirmwareActor, load};
use super::artifact::SigningKey;
use super::image::Images;
use super::messages::{ApplyChange, ReadState, TakeSnapshot};
use super::state::{FirmwareRules, FirmwareState, public};
use super::transaction::FirmwareTransaction;
use crate::device::FirmwareView;
use crate::incident::CriticalIncidents;
use crate::journal::Incarnations;
use muster_core::event::Publisher;
use muster_core::guard::{GuardedAction, Need, Permit, Requester, StandingReader};
pub use muster_core::page::Page;
use muster_core::principal::UserRole;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error, Millis};
use muster_feed::{SnapshotRequest, SnapshotSource};
use muster_identity::{By, Independence};

/// Dependencies and settings of [`Firmwares`].
#[derive(Clone)]
pub struct FirmwareOptions {
    /// Store of the records.
    pub store: StoreHandle,
    /// Clock of the server.
    pub clock: Clock,
    /// Publisher of the events.
    pub publisher: Publisher,
    /// Access to devices.
    pub devices: Arc<dyn FirmwareView>,
    /// Folder of the images.
    pub folder: PathBuf,
    /// Bounds and rules.
    pub rules: FirmwareRules,
    /// By which guarded commands are decided.
    pub standing: StandingReader,
    /// Whether a second person is independent of the first.
    pub independence: Independence,
    /// What critical incidents are about: a rollout to such devices is judged as one amid an incident.
    pub critical: CriticalIncidents,
    /// Public keys (`x`, base64url) that are trusted in addition to those that people add.
    pub trusted_keys: Vec<String>,
}

impl std::fmt::Debug for FirmwareOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Service of artifacts, jobs and executions. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Firmwares {
    pub(super) handle: Handle<FirmwareActor>,
    pub(super) images: Images,
    pub(super) store: Arc<DebugStore>,
    pub(super) clock: Clock,
    pub(super) devices: Arc<dyn FirmwareView>,
    pub(super) standing: StandingReader,
    pub(super) independence: Independence,
    pub(super) critical: CriticalIncidents,
}

/// A store handle that can be formatted for debugging.
pub(super) struct DebugStore(pub(super) StoreHandle);

impl std::fmt::Debug for DebugStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}

/// Returns the signing key of a configured public key; `None` if it is malformed.
pub(super) fn configured_key(x: &str) -> Option<SigningKey> {
    let kid = public(x)?.thumbprint();
    let (added_by, name) = ("settings".to_owned(), "settings".to_owned());
    Some(SigningKey { kid, x: x.to_owned(), name, added_by, added_at: Millis(0), revoked_at: None })
}

impl Firmwares {
    /// Starts the actor.
    ///
    /// # Errors
    /// The folder of images cannot be created, or a configured key is malformed.
    pub fn start(group: &Group, arbiter: ArbiterHandle, options: FirmwareOptions) -> std::io::Result<Self> {
        if let Some(wrong) = options.trusted_keys.iter().find(|x| public(x).is_none()) {
            let message = format!("firmware.trusted_keys: `{wrong}` is no Ed25519 public key in base64url");
            return Err(std::io::Error::other(message));
        }
        let images = Images::open(&options.folder)?;
        let (store, clock) = (Arc::new(DebugStore(Arc::clone(&options.store))), options.clock.clone());
        let (devices, standing) = (Arc::clone(&options.devices), options.standing.clone());
        let (independence, critical) = (options.independence.clone(), options.critical.clone());
        let incarnations = Incarnations::default();
        let handle = group.start(ChildSpec::new("firmware", arbiter, move |control| {
            load(options.clone(), control, incarnations.clone())
        }));
        Ok(Self { handle, images, store, clock, devices, standing, independence, critical })
    }

    /// Waits until the actor has read its records and answers.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    /// Changes the state; durable when this returns.
    pub(super) async fn change<R, C>(&self, change: C) -> Result<R, Error>
    where
        R: Send + 'static,
        C: FnOnce(&mut FirmwareState, &mut FirmwareTransaction, Millis) -> Result<R, Error> + Send + 'static,
    {
        self.handle.ask(ApplyChange::new(change)).await?
    }

    /// Reads from the state; the result rests on durable decisions only.
    pub(super) async fn read<R, F>(&self, read: F) -> Result<R, Error>
    where
        R: Send + 'static,
        F: FnOnce(&FirmwareState) -> R + Send + 'static,
    {
        self.handle.ask(ReadState::new(read)).await?
    }

    /// Adds a trusted signing key by its Ed25519 public key `x` in base64url.
    ///
    /// # Errors
    /// `Invalid` for a malformed key; `Conflict` if it is known or was revoked; `Unavailable`.
    pub async fn add_key(&self, x: String, name: String, by: By) -> Result<SigningKey, Error> {
        self.add_key_permitted(x, name, by, None).await
    }

    /// Adds a trusted signing key with the permit of an approval.
    ///
    /// # Errors
    /// Those of [`Self::add_key`]; `Forbidden` (`approval_required`); `Conflict` (`approval_mismatch`).
    pub async fn add_key_permitted(
        &self,
        x: String,
        name: String,
        by: By,
        permit: Option<Permit>,
    ) -> Result<SigningKey, Error> {
        let standing = self.standing.clone();
        self.change(move |state, transaction, now| {
            let need = Need::new(GuardedAction::TrustAdd, state.addable_key(&x)?);
            let is_super_admin = matches!(&by, By::Person(person) if person.role == UserRole::SuperAdmin);
            let requester = Requester { id: by.id(), is_super_admin };
            let cleared = standing.get().clear(Some(need), requester, permit, now)?;
            state.add_key(&x, &name, &by, cleared, transaction, now)
        })
        .await
    }

    /// Revokes a signing key: artifacts that it signed are no longer rolled out, and their jobs are aborted.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable`.
    pub async fn revoke_key(&self, kid: String, by: By) -> Result<SigningKey, Error> {
        self.change(move |state, transaction, now| state.revoke_key(&kid, &by, transaction, now)).await
    }

    /// Returns all signing keys, including revoked ones.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn keys(&self) -> Result<Vec<SigningKey>, Error> {
        self.read(|state| state.keys.values().cloned().collect()).await
    }
}

impl SnapshotSource for Firmwares {
    fn request(&self, request: SnapshotRequest) {
        // A rejected message answers when it is dropped.
        let _ = self.handle.try_send(TakeSnapshot(request.into()));
    }
}
