//! The public face of firmware.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use bytes::Bytes;
use futures::Stream;
use muster_store::StoreHandle;
use serde_json::Value;

use super::actor::{FirmwareActor, load};
use super::artifact::{Artifact, ArtifactState, Blocks, SigningKey};
use super::execution::{ExecState, Execution};
use super::image::{Images, Piece};
use super::job::{Act, JobState, JobTarget};
use super::messages::{Change, Create, Read, Replay, Snapshot, View, Wait};
use super::record;
use super::rollout::{Report, Rollout};
use super::state::{Deed, DeviceJob, Hashed, NewArtifact, NewJob, Rules, State, public};
use super::turn::{Turn, job_view};
use crate::device::{DeviceFilter, DeviceSelection, FirmwareView, RolloutTarget};
use crate::journal::Incarnations;
use muster_core::event::Publisher;
use muster_core::idempotency::Idempotency;
use muster_core::ids::{IdKind, new_id};
pub use muster_core::page::Page;
use muster_core::page::PageAsk;
use muster_core::precondition::IfMatch;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error, Kind, Millis};
use muster_feed::{SnapshotRequest, SnapshotSource};
use muster_identity::{By, Person};

/// What the actor needs.
#[derive(Clone)]
pub struct Options {
    pub store: StoreHandle,
    pub clock: Clock,
    pub publisher: Publisher,
    pub devices: Arc<dyn FirmwareView>,
    /// Where images are kept.
    pub folder: PathBuf,
    pub rules: Rules,
    /// Public keys (`x`, base64url) that may sign, besides those that people add.
    pub trusted_keys: Vec<String>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// An image to be served.
#[derive(Debug, Clone)]
pub struct Content {
    pub artifact: Artifact,
    blocks: Arc<Blocks>,
}

/// The way to artifacts, jobs and executions.
#[derive(Debug, Clone)]
pub struct Firmwares {
    handle: Handle<FirmwareActor>,
    images: Images,
    store: Arc<StoreBox>,
    clock: Clock,
    devices: Arc<dyn FirmwareView>,
}

struct StoreBox(StoreHandle);

impl std::fmt::Debug for StoreBox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}

/// A key of the settings; `None` where it is none.
pub(super) fn settings_key(x: &str) -> Option<SigningKey> {
    let kid = public(x)?.thumbprint();
    let (added_by, name) = ("settings".to_owned(), "settings".to_owned());
    Some(SigningKey { kid, x: x.to_owned(), name, added_by, added_at: Millis(0), revoked_at: None })
}

impl Firmwares {
    /// Starts the actor.
    ///
    /// # Errors
    /// The folder of images cannot be made, or a trusted key of the settings is none.
    pub fn start(group: &Group, arbiter: ArbiterHandle, options: Options) -> std::io::Result<Self> {
        if let Some(wrong) = options.trusted_keys.iter().find(|x| public(x).is_none()) {
            let message = format!("firmware.trusted_keys: `{wrong}` is no Ed25519 public key in base64url");
            return Err(std::io::Error::other(message));
        }
        let images = Images::open(&options.folder)?;
        let (store, clock) = (Arc::new(StoreBox(Arc::clone(&options.store))), options.clock.clone());
        let devices = Arc::clone(&options.devices);
        let incarnations = Incarnations::default();
        let handle = group.start(ChildSpec::new("firmware", arbiter, move |control| {
            load(options.clone(), control, incarnations.clone())
        }));
        Ok(Self { handle, images, store, clock, devices })
    }

    pub async fn up(&self) {
        self.handle.up().await;
    }

    /// Changes the state; durable when it resolves.
    async fn change<R, C>(&self, change: C) -> Result<R, Error>
    where
        R: Send + 'static,
        C: FnOnce(&mut State, &mut Turn, Millis) -> Result<R, Error> + Send + 'static,
    {
        self.handle.ask(Change::new(change)).await?
    }

    async fn read<R, F>(&self, read: F) -> Result<R, Error>
    where
        R: Send + 'static,
        F: FnOnce(&State) -> R + Send + 'static,
    {
        self.handle.ask(Read::new(read)).await?
    }

    /// Announces an image.
    pub async fn create_artifact(&self, new: NewArtifact, by: By, named: Option<Idempotency>) -> Result<View, Error> {
        let request = named.clone();
        let change = move |state: &mut State, turn: &mut Turn, now| {
            Ok(serde_json::json!(state.create_artifact(new, &by, named.as_ref(), turn, now)?))
        };
        self.handle.ask(Create { change, request }).await?
    }

    /// Takes a piece of an image; tells how many bytes are here. See [`Images::append`].
    pub async fn upload<S, E>(&self, id: &str, piece: Option<Piece>, body: S) -> Result<u64, Error>
    where
        S: Stream<Item = Result<Bytes, E>> + Unpin,
        E: std::fmt::Display,
    {
        let artifact = self.artifact(id).await?;
        if artifact.state != ArtifactState::Uploading {
            let message = format!("an artifact that is {} takes no content", artifact.state.name());
            return Err(Error::new(Kind::Conflict, message).coded("illegal_transition"));
        }
        let size = artifact.manifest.size;
        self.images.append(id, size, piece.unwrap_or(Piece { start: 0, total: size }), body).await
    }

    /// How many bytes of an image are here.
    pub async fn received(&self, id: &str) -> u64 {
        self.images.received(id).await
    }

    /// Compares content, manifest and signature. Goes on where the caller leaves.
    pub async fn verify(&self, id: String, manifest_jws: String, by: By) -> Result<Artifact, Error> {
        let firmwares = self.clone();
        let verified = tokio::spawn(async move { firmwares.verify_to_end(id, manifest_jws, by).await });
        verified.await.map_err(|_| gone())?
    }

    async fn verify_to_end(&self, id: String, jws: String, by: By) -> Result<Artifact, Error> {
        let received = self.images.received(&id).await;
        let begun = id.clone();
        self.change(move |state, turn, now| state.begin_verify(&begun, received, turn, now)).await?;
        let (images, hashed) = (self.images.clone(), id.clone());
        let hashed = tokio::task::spawn_blocking(move || images.hash(&hashed)).await;
        let hashed = match hashed {
            Ok(Ok((sha256, blocks, size))) => Ok(Hashed { sha256, size, blocks }),
            Ok(Err(error)) => Err(format!("the content cannot be read: {error}")),
            Err(_) => return Err(gone()),
        };
        self.change(move |state, turn, now| state.finish_verify(&id, &jws, hashed, &by, turn, now)).await
    }

    /// The artifacts that are ready and whose image is not here.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn lacking(&self) -> Result<Vec<String>, Error> {
        let ready = |artifact: &&Artifact| artifact.state == ArtifactState::Ready;
        let sizes = |artifact: &Artifact| (artifact.id.clone(), artifact.manifest.size);
        let all: Vec<_> = self.read(move |state| state.artifacts.values().filter(ready).map(sizes).collect()).await?;
        let mut lacking = Vec::new();
        for (id, size) in all {
            if self.images.received(&id).await != size {
                lacking.push(id);
            }
        }
        Ok(lacking)
    }

    pub async fn artifact(&self, id: &str) -> Result<Artifact, Error> {
        let id = id.to_owned();
        self.read(move |state| state.artifact(&id).cloned()).await?
    }

    /// Newest first.
    pub async fn artifacts(&self, page: PageAsk) -> Result<Page<Artifact>, Error> {
        self.read(move |state| {
            let after = |id: &str| page.after.as_deref().is_none_or(|last| id < last);
            let from = state.artifacts.values().rev().filter(|artifact| after(&artifact.id)).cloned();
            Page::of(from, page.limit, |artifact| artifact.id.clone())
        })
        .await
    }

    pub async fn revoke_artifact(&self, id: String, reason: String, by: By, at: IfMatch) -> Result<Artifact, Error> {
        self.change(move |state, turn, now| state.revoke_artifact(&id, &reason, &by, at, turn, now)).await
    }

    /// An image that may be served: verified and not revoked. A device gets what it has in hand only.
    pub async fn content(&self, id: &str, by: &By) -> Result<Content, Error> {
        let (wanted, by) = (id.to_owned(), by.clone());
        let artifact = self
            .read(move |state| {
                if let By::Device(device) = &by
                    && !state.may_fetch(device, &wanted)
                {
                    return Err(Error::new(Kind::NotFound, "this device has no job with this artifact"));
                }
                let artifact = state.artifact(&wanted)?;
                if artifact.state == ArtifactState::Ready {
                    return Ok(artifact.clone());
                }
                let message = format!("an artifact that is {} is not served", artifact.state.name());
                Err(Error::new(Kind::Conflict, message).coded("artifact_not_ready"))
            })
            .await??;
        self.images.require(id, artifact.manifest.size).await?;
        let blocks = record::read_blocks(&self.store.0, id)?.unwrap_or_default();
        Ok(Content { artifact, blocks: Arc::new(blocks) })
    }

    /// The bytes `from..=to` of an image. Of one that was exchanged nothing is given, and it is rejected.
    pub fn bytes(&self, content: &Content, from: u64, to: u64) -> impl Stream<Item = Result<Bytes, Error>> + use<> {
        use futures::StreamExt;
        let (firmwares, id) = (self.clone(), content.artifact.id.clone());
        let read = self.images.read(&id, Arc::clone(&content.blocks), from, to);
        read.then(move |piece| {
            let (firmwares, id) = (firmwares.clone(), id.clone());
            async move {
                if piece.as_ref().is_err_and(|error| error.code == Some("image_replaced")) {
                    let told = firmwares.change(move |state, turn, now| {
                        state.replaced(&id, turn, now);
                        Ok(())
                    });
                    if let Err(error) = told.await {
                        tracing::error!(%error, "an exchanged image could not be rejected");
                    }
                }
                piece
            }
        })
    }

    pub async fn add_key(&self, x: String, name: String, by: By) -> Result<SigningKey, Error> {
        self.change(move |state, turn, now| state.add_key(&x, &name, &by, turn, now)).await
    }

    pub async fn revoke_key(&self, kid: String, by: By) -> Result<SigningKey, Error> {
        self.change(move |state, turn, now| state.revoke_key(&kid, &by, turn, now)).await
    }

    pub async fn keys(&self) -> Result<Vec<SigningKey>, Error> {
        self.read(|state| state.keys.values().cloned().collect()).await
    }

    /// Makes a job: its devices are chosen now.
    pub async fn create_job(&self, new: NewJob, by: By, named: Option<Idempotency>) -> Result<View, Error> {
        if let Some(request) = named.clone()
            && let Some(first) = self.handle.ask(Replay(request)).await??
        {
            return Ok(first);
        }
        let found = self.resolve(&new.target).await?;
        let id: Arc<str> = new_id(IdKind::Job).into();
        let (now, planner) = (self.clock.now(), by.clone());
        let plan = self.read(move |state| state.plan(id, new, &found, &planner, now)).await??;
        if let Some(image) = &plan.job.image {
            self.images.require(&image.id, image.size).await?;
        }
        // Without their job they are nothing: a server that dies in between deletes them.
        let executions = record::writes(&plan.executions)?;
        let request = named.clone();
        let change = move |state: &mut State, turn: &mut Turn, now| {
            let made = state.create_job(plan, &by, named.as_ref(), turn, now)?;
            turn.earlier = executions;
            Ok(made)
        };
        self.handle.ask(Create { change, request }).await?
    }

    async fn resolve(&self, target: &JobTarget) -> Result<Vec<RolloutTarget>, Error> {
        let select = match target {
            JobTarget::DeviceIds(ids) => DeviceSelection::Ids(ids.clone()),
            JobTarget::Group(group) => DeviceSelection::Group(group.clone()),
            JobTarget::Query(query) => DeviceSelection::Query(DeviceFilter {
                tag: query.tag.clone(),
                group: query.group.clone(),
                hw_class: query.hw_class.clone(),
                kind: query.kind,
                ..DeviceFilter::default()
            }),
        };
        let mut found = self.devices.select(select).await?;
        found.sort_by(|a, b| a.id.cmp(&b.id));
        found.dedup_by(|a, b| a.id == b.id);
        Ok(found)
    }

    pub async fn job(&self, id: &str) -> Result<Value, Error> {
        let id = id.to_owned();
        self.read(move |state| state.job(&id).map(job_view)).await?
    }

    /// Newest first.
    pub async fn jobs(&self, state: Option<JobState>, page: PageAsk) -> Result<Page<Value>, Error> {
        self.read(move |all| {
            let after = |id: &str| page.after.as_deref().is_none_or(|last| id < last);
            let wanted = |rollout: &&Rollout| state.is_none_or(|state| rollout.job.state == state);
            let from = all.jobs.values().rev().filter(|rollout| after(&rollout.job.id)).filter(wanted);
            Page::of(from, page.limit, |rollout| rollout.job.id.to_string()).map(job_view)
        })
        .await
    }

    pub async fn act(&self, id: String, act: Act, by: Arc<Person>, note: String, at: IfMatch) -> Result<Value, Error> {
        let deed = Deed { act, note, at };
        self.change(move |state, turn, now| state.act(&id, &deed, &by, turn, now)).await
    }

    /// By device.
    pub async fn executions(
        &self,
        job: &str,
        state: Option<ExecState>,
        page: PageAsk,
    ) -> Result<Page<Execution>, Error> {
        let job = job.to_owned();
        self.read(move |all| {
            let after = |execution: &&Execution| {
                page.after.as_deref().is_none_or(|last| (execution.group, &*execution.device_id) > place(last))
            };
            let wanted = |execution: &&Execution| state.is_none_or(|state| execution.state == state);
            let from = all.job(&job)?.executions().iter().filter(after).filter(wanted).cloned();
            let cursor = |execution: &Execution| format!("{}.{}", execution.group, execution.device_id);
            Ok(Page::of(from, page.limit, cursor))
        })
        .await?
    }

    /// Of a device, newest job first.
    pub async fn executions_of(&self, device: &str, page: PageAsk) -> Result<Page<Execution>, Error> {
        let device = device.to_owned();
        self.read(move |state| {
            let after = |id: &str| page.after.as_deref().is_none_or(|last| id < last);
            let jobs = state.jobs_of(&device).filter(|rollout| after(&rollout.job.id));
            let from = jobs.filter_map(|rollout| rollout.execution(&device)).cloned();
            Page::of(from, page.limit, |execution| execution.job_id.to_string())
        })
        .await
    }

    /// What a device is to do; waits for it at most so long.
    pub async fn next(&self, device: Arc<str>, wait: Duration) -> Result<Option<DeviceJob>, Error> {
        let asked = Arc::clone(&device);
        if let Some(job) = self.read(move |state| state.next(&asked)).await? {
            return Ok(Some(job));
        }
        if wait.is_zero() {
            return Ok(None);
        }
        let told = self.handle.ask(Wait(Arc::clone(&device))).await?;
        match tokio::time::timeout(wait, told).await {
            Ok(Ok(())) => self.read(move |state| state.next(&device)).await,
            // Nothing came, or another poll of the same device took its place.
            Ok(Err(_)) | Err(_) => Ok(None),
        }
    }

    pub async fn report(&self, device: Arc<str>, job: String, report: Report) -> Result<DeviceJob, Error> {
        self.change(move |state, turn, now| state.report(&device, &job, report, turn, now)).await
    }
}

/// Group and device of a cursor.
fn place(cursor: &str) -> (u32, &str) {
    let (group, device) = cursor.split_once('.').unwrap_or(("0", cursor));
    (group.parse().unwrap_or(0), device)
}

fn gone() -> Error {
    let message = "firmware is restarting: what was asked may or may not have been done";
    Error::new(Kind::Unavailable, message).retry_in(Duration::from_secs(1))
}

impl SnapshotSource for Firmwares {
    fn request(&self, ask: SnapshotRequest) {
        // A refused ask answers by its drop.
        let _ = self.handle.try_send(Snapshot(ask.into()));
    }
}
