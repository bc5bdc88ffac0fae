//! A scripted fleet, and a house with the actor in it.

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
use crate::firmware::{Artifact, DeviceJob, Firmwares, MANIFEST_TYP, Manifest, NewArtifact, Options, View};
use muster_core::event::RecordingPublisher;
use muster_core::precondition::IfMatch;
use muster_core::supervise::Tree;
use muster_core::{Clock, Error, Kind};

/// Devices without a network.
#[derive(Debug)]
pub(super) struct Fleet {
    pub devices: Mutex<BTreeMap<Arc<str>, RolloutTarget>>,
    beats: broadcast::Sender<ReceivedHeartbeat>,
}

impl Fleet {
    pub fn of(devices: usize) -> Arc<Self> {
        let devices = (0..devices).map(device).map(|device| (Arc::clone(&device.id), device)).collect();
        Arc::new(Self { devices: Mutex::new(devices), beats: broadcast::channel(64).0 })
    }

    pub fn change(&self, id: &str, change: impl FnOnce(&mut RolloutTarget)) {
        change(self.devices.lock().unwrap().get_mut(id).unwrap());
    }

    pub fn runs(&self, id: &str) -> u64 {
        self.devices.lock().unwrap()[id].firmware.current.as_ref().unwrap().sequence
    }

    pub fn beat(&self, id: &str, firmware: FirmwareVersion) {
        let (device, firmware) = (Arc::from(id), Some(firmware));
        let beat = ReceivedHeartbeat { device, at: START, boot_id: None, firmware, status: Status::Online };
        self.beats.send(beat).unwrap();
    }
}

impl FirmwareView for Fleet {
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
        self.beats.subscribe()
    }
}

pub(super) const CONTENT: &[u8] = b"a siren's second firmware";

/// The actor, its neighbours, and a key that signs.
pub(super) struct House {
    pub firmwares: Firmwares,
    pub fleet: Arc<Fleet>,
    pub store: Arc<MemStore>,
    pub feed: Arc<RecordingPublisher>,
    pub key: PrivateKey,
    pub folder: tempfile::TempDir,
}

pub(super) fn maker() -> By {
    By::Person(person("usr_maker", UserRole::FirmwareManager))
}

impl House {
    pub async fn start(tree: &Tree, devices: usize) -> Self {
        let (fleet, store, feed) =
            (Fleet::of(devices), Arc::new(MemStore::default()), Arc::new(RecordingPublisher::default()));
        let (key, folder) = (PrivateKey::from_seed(&[7; 32]), tempfile::tempdir().unwrap());
        let options = Options {
            store: Arc::clone(&store) as _,
            clock: Clock::tokio(START),
            publisher: Arc::clone(&feed) as _,
            devices: Arc::clone(&fleet) as _,
            folder: folder.path().to_owned(),
            rules: Rules { approvals: 0, ..Rules::default() },
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

    /// Announces and uploads.
    pub async fn upload(&self, manifest: Manifest, content: &'static [u8]) -> String {
        let new = NewArtifact {
            manifest,
            content_type: "application/octet-stream".into(),
            release_notes: String::new(),
            sbom_url: None,
        };
        let made = self.firmwares.create_artifact(new, maker(), None).await.unwrap();
        let id = made.data["id"].as_str().unwrap().to_owned();
        let body = futures::stream::iter([Ok::<_, String>(Bytes::from_static(content))]);
        self.firmwares.upload(&id, None, body).await.unwrap();
        id
    }

    /// An artifact that is ready.
    pub async fn artifact(&self, sequence: u64) -> Artifact {
        let manifest = self.manifest(sequence);
        let id = self.upload(manifest.clone(), CONTENT).await;
        let artifact = self.firmwares.verify(id, self.sign(&manifest), maker()).await.unwrap();
        assert_eq!(artifact.state, crate::firmware::ArtifactState::Ready, "{:?}", artifact.reason);
        artifact
    }

    pub async fn job(&self, kind: JobKind, artifact: &str, policy: Policy) -> Result<View, Error> {
        let target = JobTarget::Group("all".into());
        self.job_for(kind, artifact, policy, target).await
    }

    pub async fn job_for(
        &self,
        kind: JobKind,
        artifact: &str,
        policy: Policy,
        target: JobTarget,
    ) -> Result<View, Error> {
        let artifact_id = Some(artifact.to_owned());
        let new = NewJob { name: "night".into(), artifact_id, kind, target, policy, start_at: None };
        self.firmwares.create_job(new, maker(), None).await
    }

    pub async fn act(&self, job: &str, act: Act, by: Arc<Person>) -> Result<serde_json::Value, Error> {
        self.firmwares.act(job.to_owned(), act, by, String::new(), IfMatch::Any).await
    }

    /// Waits until the job is in that state.
    pub async fn job_comes_to(&self, job: &str, state: JobState) -> serde_json::Value {
        for _ in 0..20_000 {
            match self.firmwares.job(job).await {
                Ok(view) if view["state"] == state.name() => return view,
                Ok(_) | Err(_) => test_world::after(Duration::from_millis(200)).await,
            }
        }
        panic!("the job is {:?}", self.firmwares.job(job).await);
    }

    /// What the device has to do, once there is something.
    pub async fn next(&self, device: &str) -> DeviceJob {
        self.firmwares.next(device.into(), Duration::from_secs(30)).await.unwrap().expect("a job")
    }

    pub async fn report(&self, device: &str, job: &DeviceJob, state: ExecState) -> Result<DeviceJob, Error> {
        let report = Report { state: Some(state), exec_version: job.exec_version, ..Report::default() };
        self.firmwares.report(device.into(), job.id.to_string(), report).await
    }

    /// The device goes up to a state.
    pub async fn go(&self, device: &str, upto: ExecState) -> DeviceJob {
        let mut job = self.next(device).await;
        while job.state != upto {
            job = self.report(device, &job, following(job.state)).await.unwrap();
        }
        job
    }
}

/// What a device that does well reports next.
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

/// A device that does what it is told until it has succeeded, whatever happens to the server. Gives every state that it
/// was in, by attempt, in order.
pub(super) async fn live(firmwares: Firmwares, device: Arc<str>) -> Vec<(u32, ExecState)> {
    let mut seen: Vec<(u32, ExecState)> = Vec::new();
    loop {
        let told = firmwares.next(Arc::clone(&device), Duration::from_secs(5)).await;
        let Ok(Some(job)) = told else {
            if seen.last().is_some_and(|(_, state)| *state == ExecState::Verifying) {
                let ended =
                    firmwares.executions_of(&device, muster_core::page::PageAsk { limit: 1, after: None }).await;
                if ended.is_ok_and(|page| page.items.first().is_some_and(|it| it.state == ExecState::Succeeded)) {
                    return seen;
                }
            }
            test_world::after(Duration::from_millis(50)).await;
            continue;
        };
        note(&mut seen, &job);
        let state = Some(following(job.state));
        let report = Report { state, exec_version: job.exec_version, ..Report::default() };
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
