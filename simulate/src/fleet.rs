//! A fleet: its devices, started together, watched, changed from outside, stopped.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use muster_auth::PublicKey;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::api::{Answer, Api, Call, Operator, SimulateError, Who};
use super::device::{Device, Parts};
use super::faults::Faults;
use super::job::{Stage, Version};
use super::keep::{self, Kept};
use super::profile::Profile;
use super::register::{first_version, register};
use super::state::{Install, Machine, Power};
use super::summary::{Part, Summary};

/// What a fleet is to be.
#[derive(Debug, Clone)]
pub struct Options {
    /// Such as `http://127.0.0.1:8080`.
    pub server: String,
    /// Somebody with `devices:write`; needed where devices are registered.
    pub operator: Option<Operator>,
    /// Devices that the state file does not hold are registered.
    pub registers: bool,
    pub count: usize,
    pub profile: Profile,
    pub seed: u64,
    /// Where the devices are kept, to come back as the same ones.
    pub state: Option<PathBuf>,
    pub name: String,
    pub group: String,
    pub vendor: String,
    pub hw_class: String,
    /// What new devices run.
    pub runs: Version,
    /// Longitude and latitude.
    pub around: [f64; 2],
    /// The key that signs firmware, where the devices know it.
    pub trusted: Option<PublicKey>,
    /// Short calls at a time.
    pub concurrency: usize,
}

impl Options {
    pub fn new(server: &str, count: usize) -> Self {
        Self {
            server: server.to_owned(),
            operator: None,
            registers: true,
            count,
            profile: Profile::default(),
            seed: 1,
            state: None,
            name: "simulated".to_owned(),
            group: "simulated".to_owned(),
            vendor: "muster".to_owned(),
            hw_class: "sim-1".to_owned(),
            runs: first_version(),
            around: [13.4, 52.5],
            trusted: None,
            concurrency: 64,
        }
    }
}

/// What whoever watches a fleet sees change.
#[derive(Debug)]
pub(super) struct Board {
    count: usize,
    changes: watch::Sender<u64>,
    told: Mutex<BTreeMap<String, u64>>,
    refusal: Mutex<Option<String>>,
    api: Arc<Api>,
}

impl Board {
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn changed(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// A device came to a stage, and the server took it.
    pub(super) fn told(&self, stage: Stage) {
        let ended = matches!(stage, Stage::Succeeded | Stage::Failed | Stage::Rejected | Stage::RolledBack);
        if let (true, Ok(serde_json::Value::String(name))) = (ended, serde_json::to_value(stage)) {
            *self.told.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
        }
    }

    pub(super) fn refused(&self, what: &str, answer: &Answer) {
        self.api.counts.refused.up();
        let said = format!("{what}: {} {}", answer.status, answer.message);
        tracing::debug!(said, "a call was refused");
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
    }
}

/// A device as it is now.
#[derive(Debug, Clone)]
pub struct View {
    pub id: Arc<str>,
    pub power: Power,
    pub faults: Faults,
    /// What it really runs.
    pub runs: Version,
    pub previous: Option<Version>,
    pub installs: Vec<Install>,
    pub rollbacks: u32,
    pub restarts: u32,
}

/// Running devices; dropped, they stop.
#[derive(Debug)]
pub struct Fleet {
    devices: Vec<Arc<Device>>,
    places: HashMap<Arc<str>, usize>,
    api: Arc<Api>,
    board: Arc<Board>,
    tasks: JoinSet<()>,
    state: Option<PathBuf>,
}

impl Fleet {
    /// Finds the devices of the state file, registers those that are missing where there is a token, and starts all.
    ///
    /// # Errors
    /// The server does not answer, refuses, or the state file is of no use.
    pub async fn start(options: Options) -> Result<Self, SimulateError> {
        let api = Arc::new(Api::new(&options.server, options.concurrency)?);
        reach(&api).await?;
        let mut kept = match &options.state {
            Some(path) => keep::read(path)?,
            None => Vec::new(),
        };
        kept.truncate(options.count);
        let known = kept.len();
        if options.registers {
            kept.extend(register(&api, &options, known).await?);
        }
        // In the order in which a job's groups take them.
        kept.sort_by(|a, b| a.id.cmp(&b.id));
        if let Some(path) = options.state.as_ref().filter(|_| kept.len() > known) {
            keep::write(path, &kept)?;
        }
        let board = Arc::new(Board {
            count: kept.len(),
            changes: watch::Sender::new(0),
            told: Mutex::default(),
            refusal: Mutex::default(),
            api: Arc::clone(&api),
        });
        let devices = make(kept, &options, &api, &board)?;
        let places = devices.iter().enumerate().map(|(at, device)| (Arc::clone(&device.id), at)).collect();
        let mut tasks = JoinSet::new();
        for device in &devices {
            tasks.spawn(Arc::clone(device).live());
        }
        Ok(Self { devices, places, api, board, tasks, state: options.state })
    }

    /// In the order of their identifiers.
    pub fn ids(&self) -> Vec<Arc<str>> {
        self.devices.iter().map(|device| Arc::clone(&device.id)).collect()
    }

    pub fn view(&self, id: &str) -> Option<View> {
        self.places.get(id).and_then(|at| self.devices.get(*at)).map(|device| view(device))
    }

    pub fn views(&self) -> Vec<View> {
        self.devices.iter().map(|device| view(device)).collect()
    }

    /// Posts something in a device's name, however often it takes: the status, and what was answered.
    ///
    /// # Errors
    /// There is no such device in this fleet.
    pub async fn says(
        &self,
        id: &str,
        path: &str,
        body: serde_json::Value,
    ) -> Result<(u16, serde_json::Value), SimulateError> {
        let device = self.places.get(id).and_then(|at| self.devices.get(*at));
        let device = device.ok_or_else(|| SimulateError::Setup(format!("{id} is not of this fleet")))?;
        let answer = self.api.insist(&Call::said(path, body), &device.who, &mut device.random(6)).await;
        Ok((answer.status, answer.data))
    }

    /// Gives a device other faults than it drew.
    pub fn script(&self, id: &str, faults: Faults) {
        if let Some(device) = self.places.get(id).and_then(|at| self.devices.get(*at)) {
            device.machine().faults = faults;
        }
    }

    /// The server is at another address from now on.
    pub fn moved(&self, server: &str) {
        self.api.moved(server);
    }

    /// Waits until the fleet is as `enough` says, looking at each change.
    pub async fn until(&self, mut enough: impl FnMut(&Self) -> bool) {
        let mut changes = self.board.changes.subscribe();
        while !enough(self) {
            // The sender is this fleet's own.
            let _ = changes.changed().await;
        }
    }

    pub fn summary(&self) -> Summary {
        let part = |device: &Arc<Device>| {
            let machine = device.machine();
            let faults = machine.faults.iter().collect();
            Part { power: machine.power, version: machine.runs().version.clone(), faults }
        };
        let mut summary = Summary::of(self.devices.iter().map(part), self.api.counts.totals());
        summary.outcomes = self.board.told.lock().unwrap_or_else(PoisonError::into_inner).clone();
        summary.last_refusal = self.board.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone();
        summary
    }

    /// Stops all devices and writes the state file.
    ///
    /// # Errors
    /// The state file cannot be written.
    pub async fn stop(mut self) -> Result<Summary, SimulateError> {
        self.tasks.shutdown().await;
        if let Some(path) = &self.state {
            let kept: Result<Vec<_>, _> = self.devices.iter().map(|device| keeps(device)).collect();
            keep::write(path, &kept?)?;
        }
        Ok(self.summary())
    }
}

/// Says at once where nobody listens: only a server that was there is waited for.
async fn reach(api: &Api) -> Result<(), SimulateError> {
    match api.once(&Call::health(), &Who::Nobody).await {
        Ok(_) => Ok(()),
        Err(error) => {
            let mut why: &dyn std::error::Error = &error;
            while let Some(deeper) = why.source() {
                why = deeper;
            }
            Err(SimulateError::Unreachable { server: api.base().to_string(), why: why.to_string() })
        }
    }
}

fn make(
    kept: Vec<Kept>,
    options: &Options,
    api: &Arc<Api>,
    board: &Arc<Board>,
) -> Result<Vec<Arc<Device>>, SimulateError> {
    let profile = Arc::new(options.profile.clone());
    let count = kept.len();
    let one = |(position, kept): (usize, Kept)| {
        let (faults, hears) = options.profile.draw(options.seed, position, count);
        let key = kept.key()?;
        let mut machine = Machine::new(&options.hw_class, kept.runs, options.trusted.clone());
        machine.faults = faults;
        machine.restore(kept.previous, kept.slot);
        let parts = Parts {
            id: Arc::from(&*kept.id),
            position,
            who: Who::device(kept.id, key),
            api: Arc::clone(api),
            profile: Arc::clone(&profile),
            hears,
            seed: options.seed,
            board: Arc::clone(board),
        };
        Ok(Arc::new(Device::new(parts, machine)))
    };
    kept.into_iter().enumerate().map(one).collect()
}

fn keeps(device: &Device) -> Result<Kept, SimulateError> {
    let Who::Device { id, key, .. } = &device.who else {
        return Err(SimulateError::Setup("a device has no key".to_owned()));
    };
    let machine = device.machine();
    let (runs, previous, slot) = (machine.runs().clone(), machine.previous().cloned(), machine.slot);
    Ok(Kept { id: id.clone(), key: key.to_jwk().expose().clone(), runs, previous, slot })
}

fn view(device: &Device) -> View {
    let machine = device.machine();
    View {
        id: Arc::clone(&device.id),
        power: machine.power,
        faults: machine.faults,
        runs: machine.runs().clone(),
        previous: machine.previous().cloned(),
        installs: machine.installs().to_vec(),
        rollbacks: machine.rollbacks(),
        restarts: machine.restarts(),
    }
}
