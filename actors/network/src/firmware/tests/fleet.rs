//! A scripted fleet, and a fixture with the actor.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_rt::Arbiter;
use bytes::Bytes;
use futures::future::BoxFuture;
use muster_auth::{PrivateKey, manifest};
use muster_store::MemStore;
use sha2::{Digest, Sha256};
use tokio::sync::broadcast;

use super::*;
use crate::device::{DeviceSelection, FirmwareStateUpdate, FirmwareView, ReceivedHeartbeat};
use crate::firmware::state::artifacts::MANIFEST_TYP;
use crate::firmware::{Artifact, CreateResponse, DeviceJob, FirmwareOptions, Firmwares, Manifest, NewArtifact};
use muster_core::event::RecordingPublisher;
use muster_core::precondition::IfMatch;
use muster_core::supervise::Tree;
use muster_core::{Clock, Error, Kind};

/// Devices without a network.
#[derive(Debug)]
pub(super) struct ScriptedFleet {
    pub devices: Mutex<BTreeMap<Arc<str>, RolloutTarget>>,
    heartbeats: broadcast::Sender<ReceivedHeartbeat>,
}

impl ScriptedFleet {
    pub fn of(devices: usize) -> Arc<Self> {
        let devices = (0..devices).map(device).map(|device| (Arc::clone(&device.id), device)).collect();
        Arc::new(Self { devices: Mutex::new(devices), heartbeats: broadcast::channel(64).0 })
    }

    pub fn change(&self, id: &str, change: impl FnOnce(&mut RolloutTarget)) {
        change(self.devices.lock().unwrap().get_mut(id).unwrap());
    }

    pub fn runs(&self, id: &str) -> u64 {
        self.devices.lock().unwrap()[id].firmware.current.as_ref().unwrap().sequence
    }

    pub fn heartbeat(&self, id: &str, firmware: FirmwareVersion) {
        let (device, firmware) = (Arc::from(id), Some(firmware));
        let heartbeat = ReceivedHeartbeat { device, at: START, boot_id: None, firmware, status: Status::Online };
        self.heartbeats.send(heartbeat).unwrap();
    }
}

impl FirmwareView for ScriptedFleet {
    fn select(&self, select: DeviceSelection) -> BoxFuture<'static, Result<Vec<RolloutTarget>, Error>> {
        let devices = self.devices.lock().unwrap();
        let found = match select {
            DeviceSelection::Ids(ids) => ids.iter().filter_map(|id| devices.get(id)).cloned().collect(),
            DeviceSelection::Group(_) | DeviceSelection::Query(_) => devices.values().cloned().collect(),
        };
        Box::pin(std::future::ready(Ok(found)))
    }

    fn set_firmware(&self, id: Arc<str>, set: FirmwareStateUpdate) -> BoxFuture<'static, Result<(), Error>> {
        self.change(&id, |device| {
            let firmware = &mut device.firmware;
            firmware.current = set.current.or(firmware.current.take());
            firmware.desired = set.desired.unwrap_or(firmware.desired.take());
            firmware.previous = set.previous.or(firmware.previous.take());
            firmware.sync = set.sync.unwrap_or(firmware.sync);
        });
        Box::pin(std::future::ready(Ok(())))
    }

    fn heartbeats(&self) -> broadcast::Receiver<ReceivedHeartbeat> {
        self.heartbeats.subscribe()
    }
}

pub(super) const CONTENT: &[u8] = b"a siren's second firmware";

/// The firmware service with its store, feed, devices and signing key.
pub(super) struct FirmwareServer {
    pub firmwares: Firmwares,
    pub fleet: Arc<ScriptedFleet>,
    pub store: Arc<MemStore>,
    pub feed: Arc<RecordingPublisher>,
    pub key: PrivateKey,
    pub folder: tempfile::TempDir,
}

pub(super) fn creator() -> By {
    By::Person(person("usr_creator", UserRole::FirmwareManager))
}

impl FirmwareServer {
    pub async fn start(tree: &Tree, devices: usize) -> Self {
        let (fleet, store, feed) =
            (ScriptedFleet::of(devices), Arc::new(MemStore::default()), Arc::new(RecordingPublisher::default()));
        let (key, folder) = (PrivateKey::from_seed(&[7; 32]), tempfile::tempdir().unwrap());
        let options = FirmwareOptions {
            store: Arc::clone(&store) as _,
            clock: Clock::tokio(START),
            publisher: Arc::clone(&feed) as _,
            devices: Arc::clone(&fleet) as _,
            folder: folder.path().to_owned(),
            rules: FirmwareRules { approvals: 0, ..FirmwareRules::default() },
            standing: muster_core::guard::StandingReader::unconstituted(),
            independence: muster_identity::Independence::of_strangers(),
            critical: crate::incident::CriticalIncidents::default(),
            trusted_keys: vec![key.public().x()],
        };
        let firmwares = Firmwares::start(&tree.group("firmware"), Arbiter::current(), options).unwrap();
        firmwares.up().await;
        Self { firmwares, fleet, store, feed, key, folder }
    }

    pub fn manifest(&self, sequence: u64) -> Manifest {
        Manifest {
            name: "siren".into(),
            version: format!("1.{sequence}.0"),
            sequence,
            vendor: "acme".into(),
            hw_class: "siren-2".into(),
            hw_revisions: vec!["b".into()],
            size: CONTENT.len() as u64,
            sha256: Sha256::digest(CONTENT).iter().map(|byte| format!("{byte:02x}")).collect(),
            format: "raw".into(),
            expires_at: Some(START.plus(Duration::from_secs(86_400))),
            min_current_sequence: None,
        }
    }

    pub fn sign(&self, manifest: &Manifest) -> String {
        manifest::sign(&self.key, MANIFEST_TYP, &serde_json::to_vec(manifest).unwrap()).unwrap()
    }

    /// Announces and uploads an artifact; returns its identifier.
    pub async fn upload(&self, manifest: Manifest, content: &'static [u8]) -> String {
        let new = NewArtifact {
            manifest,
            content_type: "application/octet-stream".into(),
            release_notes: String::new(),
            sbom_url: None,
        };
        let made = self.firmwares.create_artifact(new, creator(), None).await.unwrap();
        let id = made.data["id"].as_str().unwrap().to_owned();
        let body = futures::stream::iter([Ok(Bytes::from_static(content))]);
        self.firmwares.upload(&id, None, body).await.unwrap();
        id
    }

    /// Returns a ready artifact.
    pub async fn artifact(&self, sequence: u64) -> Artifact {
        let manifest = self.manifest(sequence);
        let id = self.upload(manifest.clone(), CONTENT).await;
        let artifact = self.firmwares.verify(id, self.sign(&manifest), creator()).await.unwrap();
        assert_eq!(artifact.state, crate::firmware::ArtifactState::Ready, "{:?}", artifact.reason);
        artifact
    }

    pub async fn job(&self, kind: JobKind, artifact: &str, policy: Policy) -> Result<CreateResponse, Error> {
        let target = JobTarget::Group("all".into());
        self.job_for(kind, artifact, policy, target).await
    }

    pub async fn job_for(
        &self,
        kind: JobKind,
        artifact: &str,
        policy: Policy,
        target: JobTarget,
    ) -> Result<CreateResponse, Error> {
        let artifact_id = Some(artifact.to_owned());
        let new = NewJob { name: "night".into(), artifact_id, kind, target, policy, start_at: None };
        self.firmwares.create_job(new, creator(), None, None).await
    }

    pub async fn apply_action(
        &self,
        job: &str,
        action: JobAction,
        by: Arc<Person>,
    ) -> Result<serde_json::Value, Error> {
        self.firmwares.apply_action(job.to_owned(), action, by, String::new(), IfMatch::Any, None).await
    }

    /// Waits until the job is in a state.
    pub async fn wait_for_job_state(&self, job: &str, state: JobState) -> serde_json::Value {
        for _ in 0..20_000 {
            match self.firmwares.job(job).await {
                Ok(view) if view["state"] == state.name() => return view,
                Ok(_) | Err(_) => test_world::after(Duration::from_millis(200)).await,
            }
        }
        panic!("the job is {:?}", self.firmwares.job(job).await);
    }

    /// Waits for the device's current job.
    pub async fn next(&self, device: &str) -> DeviceJob {
        self.firmwares.next(device.into(), Duration::from_secs(30)).await.unwrap().expect("a job")
    }

    pub async fn report(&self, device: &str, job: &DeviceJob, state: ExecState) -> Result<DeviceJob, Error> {
        let report =
            ExecutionReport { state: Some(state), exec_version: job.exec_version, ..ExecutionReport::default() };
        self.firmwares.report(device.into(), job.id.to_string(), report).await
    }

    /// Reports state after state up to `upto`.
    pub async fn advance_device(&self, device: &str, upto: ExecState) -> DeviceJob {
        let mut job = self.next(device).await;
        while job.state != upto {
            job = self.report(device, &job, following(job.state)).await.unwrap();
        }
        job
    }
}

/// Returns the state that a healthy device reports next.
pub(super) fn following(state: ExecState) -> ExecState {
    match state {
        ExecState::Notified => ExecState::Downloading,
        ExecState::Downloading => ExecState::Downloaded,
        ExecState::Downloaded => ExecState::Verified,
        ExecState::Verified => ExecState::Installing,
        ExecState::Installing => ExecState::Rebooting,
        ExecState::Rebooting => ExecState::Verifying,
        ExecState::Verifying => ExecState::Succeeded,
        ExecState::RollingBack => ExecState::RolledBack,
        ended => panic!("nothing follows {ended:?}"),
    }
}

/// Runs a device through its job until it has succeeded, whatever happens to the server. Returns every state that it
/// was in, by attempt, in order.
pub(super) async fn run_device(firmwares: Firmwares, device: Arc<str>) -> Vec<(u32, ExecState)> {
    let mut seen: Vec<(u32, ExecState)> = Vec::new();
    loop {
        let offered = firmwares.next(Arc::clone(&device), Duration::from_secs(5)).await;
        let Ok(Some(job)) = offered else {
            if seen.last().is_some_and(|(_, state)| *state == ExecState::Verifying) {
                let ended =
                    firmwares.executions_of(&device, muster_core::page::PageParams { limit: 1, after: None }).await;
                if ended.is_ok_and(|page| page.items.first().is_some_and(|it| it.state == ExecState::Succeeded)) {
                    return seen;
                }
            }
            test_world::after(Duration::from_millis(50)).await;
            continue;
        };
        note(&mut seen, &job);
        let state = Some(following(job.state));
        let report = ExecutionReport { state, exec_version: job.exec_version, ..ExecutionReport::default() };
        match firmwares.report(Arc::clone(&device), job.id.to_string(), report).await {
            Ok(job) if job.state == ExecState::Succeeded => return seen,
            Ok(job) => note(&mut seen, &job),
            Err(error) => assert!(matches!(error.kind, Kind::Unavailable | Kind::Conflict), "{error}"),
        }
    }
}

fn note(seen: &mut Vec<(u32, ExecState)>, job: &DeviceJob) {
    if seen.last() != Some(&(job.attempt, job.state)) {
        seen.push((job.attempt, job.state));
    }
}
