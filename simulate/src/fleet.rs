//! A fleet of simulated devices: started together, observed, changed and stopped.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use muster_auth::PublicKey;
use reqwest::Certificate;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::api::{Answer, Api, Call, Caller, Operator, SimulateError};
use super::device::{Device, DeviceOptions};
use super::faults::Faults;
use super::job::{Stage, Version};
use super::profile::Profile;
use super::register::{first_version, register};
use super::state::{Install, Machine, Power};
use super::state_file::{self, StateSaver, StoredDevice};
use super::summary::{DeviceSummary, Summary};

/// Options of a fleet.
#[derive(Debug, Clone)]
pub struct Options {
    /// URL of the server, such as `http://127.0.0.1:8080`.
    pub server: String,
    /// A user with the permission `devices:write`. Required to register devices.
    pub operator: Option<Operator>,
    /// Whether devices that the state file does not contain are registered.
    pub registers: bool,
    /// Number of devices.
    pub count: usize,
    /// Times and faults.
    pub profile: Profile,
    /// Seed of faults, positions and jitter.
    pub seed: u64,
    /// File that stores the devices, so that a later run continues with the same ones.
    pub state: Option<PathBuf>,
    /// Prefix of device names and serial numbers.
    pub name: String,
    /// Group that the devices are registered in.
    pub group: String,
    /// Vendor that the devices are registered with.
    pub vendor: String,
    /// Hardware class, as firmware names it.
    pub hw_class: String,
    /// Firmware version of new devices.
    pub version: Version,
    /// Longitude and latitude that the devices are placed around, in degrees.
    pub around: [f64; 2],
    /// Public key that the devices verify firmware with. Without one they do not check signatures.
    pub trusted: Option<PublicKey>,
    /// Largest number of concurrent calls, without long polls.
    pub concurrency: usize,
    /// Certificate authorities that the server is trusted by; `None`: those of this machine.
    pub authorities: Option<Vec<Certificate>>,
}

impl Options {
    /// Returns options with default values and without an operator.
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
            version: first_version(),
            around: [13.4, 52.5],
            trusted: None,
            concurrency: 64,
            authorities: None,
        }
    }
}

/// What a fleet has done so far, with a notification of each change.
#[derive(Debug)]
pub(super) struct FleetProgress {
    count: usize,
    changes: watch::Sender<u64>,
    outcomes: Mutex<BTreeMap<String, u64>>,
    last_rejection: Mutex<Option<String>>,
    api: Arc<Api>,
}

impl FleetProgress {
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn notify(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Counts a stage that a device reported and the server accepted, if it ends a job.
    pub(super) fn record_stage(&self, stage: Stage) {
        let ended = matches!(stage, Stage::Succeeded | Stage::Failed | Stage::Rejected | Stage::RolledBack);
        if let (true, Ok(serde_json::Value::String(name))) = (ended, serde_json::to_value(stage)) {
            *self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
        }
    }

    pub(super) fn record_rejection(&self, call: &str, answer: &Answer) {
        self.api.counts.refused.increment();
        let rejection = format!("{call}: {} {}", answer.status, answer.message);
        tracing::debug!(rejection, "a call was rejected");
        self.record_failure(rejection);
    }

    /// Keeps a failure for the summary.
    fn record_failure(&self, rejection: String) {
        *self.last_rejection.lock().unwrap_or_else(PoisonError::into_inner) = Some(rejection);
    }
}

/// The present state of a device.
#[derive(Debug, Clone)]
pub struct DeviceView {
    /// Device identifier.
    pub id: Arc<str>,
    /// Whether it is on.
    pub power: Power,
    /// Faults that it has.
    pub faults: Faults,
    /// Version that it actually runs, which may differ from the one it reports.
    pub version: Version,
    /// Version in the other slot.
    pub previous: Option<Version>,
    /// Images installed so far.
    pub installs: Vec<Install>,
    /// Number of rollbacks.
    pub rollbacks: u32,
    /// Number of restarts.
    pub restarts: u32,
}

/// Running devices. They stop when the fleet is dropped.
#[derive(Debug)]
pub struct Fleet {
    devices: Vec<Arc<Device>>,
    positions: HashMap<Arc<str>, usize>,
    api: Arc<Api>,
    progress: Arc<FleetProgress>,
    tasks: JoinSet<()>,
    state: Option<PathBuf>,
}

impl Fleet {
    /// Reads the devices of the state file, registers missing ones if the options say so, and starts all.
    ///
    /// # Errors
    /// The server does not answer or rejects a registration, or the state file cannot be used.
    pub async fn start(options: Options) -> Result<Self, SimulateError> {
        let api = Arc::new(Api::new(&options.server, options.concurrency, options.authorities.as_deref())?);
        check_reachable(&api).await?;
        let mut stored = match &options.state {
            Some(path) => state_file::read(path)?,
            None => Vec::new(),
        };
        stored.truncate(options.count);
        let known = stored.len();
        if options.registers {
            stored.extend(register(&api, &options, known).await?);
        }
        // The order in which the groups of a rollout job select devices.
        stored.sort_by(|a, b| a.id.cmp(&b.id));
        if let Some(path) = options.state.as_ref().filter(|_| stored.len() > known) {
            state_file::write(path, &stored)?;
        }
        let progress = Arc::new(FleetProgress {
            count: stored.len(),
            changes: watch::Sender::new(0),
            outcomes: Mutex::default(),
            last_rejection: Mutex::default(),
            api: Arc::clone(&api),
        });
        let saver = Arc::new(StateSaver::new(options.state.as_deref()));
        let devices = build_devices(stored, &options, (&api, &progress, &saver))?;
        let positions = devices.iter().enumerate().map(|(at, device)| (Arc::clone(&device.id), at)).collect();
        let mut tasks = JoinSet::new();
        for device in &devices {
            tasks.spawn(Arc::clone(device).run());
        }
        if let Some(path) = options.state.clone() {
            let progress = Arc::clone(&progress);
            tasks.spawn(saver.run(path, devices.clone(), move |error| progress.record_failure(error.to_string())));
        }
        Ok(Self { devices, positions, api, progress, tasks, state: options.state })
    }

    /// Returns the identifiers of the devices, in ascending order.
    pub fn ids(&self) -> Vec<Arc<str>> {
        self.devices.iter().map(|device| Arc::clone(&device.id)).collect()
    }

    /// Returns the state of one device.
    pub fn view(&self, id: &str) -> Option<DeviceView> {
        self.positions.get(id).and_then(|at| self.devices.get(*at)).map(|device| view(device))
    }

    /// Returns the state of every device, in the order of [`Fleet::ids`].
    pub fn views(&self) -> Vec<DeviceView> {
        self.devices.iter().map(|device| view(device)).collect()
    }

    /// Sends a POST request as one of the devices, repeated after transient failures. Returns the status and the data.
    ///
    /// # Errors
    /// The fleet has no such device.
    pub async fn post_as(
        &self,
        id: &str,
        path: &str,
        body: serde_json::Value,
    ) -> Result<(u16, serde_json::Value), SimulateError> {
        let device = self.positions.get(id).and_then(|at| self.devices.get(*at));
        let device = device.ok_or_else(|| SimulateError::Setup(format!("the fleet has no device {id}")))?;
        let answer = self.api.send_until_final(&Call::post(path, body), &device.caller, &mut device.random(6)).await;
        Ok((answer.status, answer.data))
    }

    /// Replaces the faults of a device. Does nothing if the fleet has no such device.
    pub fn set_faults(&self, id: &str, faults: Faults) {
        if let Some(device) = self.positions.get(id).and_then(|at| self.devices.get(*at)) {
            device.machine().faults = faults;
        }
    }

    /// Sends all further calls to another address.
    pub fn set_server(&self, server: &str) {
        self.api.set_server(server);
    }

    /// Waits until `enough` returns true. It is called once and after each change.
    pub async fn wait_until(&self, mut enough: impl FnMut(&Self) -> bool) {
        let mut changes = self.progress.changes.subscribe();
        while !enough(self) {
            // Fails only if the sender is dropped, and this fleet owns it.
            let _ = changes.changed().await;
        }
    }

    /// Returns what the fleet has done so far.
    pub fn summary(&self) -> Summary {
        let device_summary = |device: &Arc<Device>| {
            let machine = device.machine();
            let faults = machine.faults.iter().collect();
            DeviceSummary { power: machine.power, version: machine.version().version.clone(), faults }
        };
        let mut summary = Summary::of(self.devices.iter().map(device_summary), self.api.counts.totals());
        summary.outcomes = self.progress.outcomes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        summary.last_refusal = self.progress.last_rejection.lock().unwrap_or_else(PoisonError::into_inner).clone();
        summary
    }

    /// Stops all devices and writes the state file.
    ///
    /// # Errors
    /// The state file cannot be written.
    pub async fn stop(mut self) -> Result<Summary, SimulateError> {
        self.tasks.shutdown().await;
        if let Some(path) = &self.state {
            let stored: Result<Vec<_>, _> = self.devices.iter().map(|device| stored(device)).collect();
            state_file::write(path, &stored?)?;
        }
        Ok(self.summary())
    }
}

/// Fails if the server does not answer. After the start a server that is unreachable is waited for instead.
async fn check_reachable(api: &Api) -> Result<(), SimulateError> {
    match api.send(&Call::health(), &Caller::Anonymous).await {
        Ok(_) => Ok(()),
        Err(error) => Err(SimulateError::Unreachable { server: api.base().to_string(), error }),
    }
}

fn build_devices(
    stored: Vec<StoredDevice>,
    options: &Options,
    (api, progress, saver): (&Arc<Api>, &Arc<FleetProgress>, &Arc<StateSaver>),
) -> Result<Vec<Arc<Device>>, SimulateError> {
    let profile = Arc::new(options.profile.clone());
    let count = stored.len();
    let one = |(position, stored): (usize, StoredDevice)| {
        let (faults, command_channel) = options.profile.draw(options.seed, position, count);
        let key = stored.key()?;
        let mut machine = Machine::new(&options.hw_class, stored.version, options.trusted.clone());
        machine.faults = faults;
        machine.restore(stored.previous, stored.slot);
        let device = DeviceOptions {
            id: Arc::from(&*stored.id),
            position,
            caller: Caller::device(stored.id, key),
            api: Arc::clone(api),
            profile: Arc::clone(&profile),
            command_channel,
            seed: options.seed,
            progress: Arc::clone(progress),
            saver: Arc::clone(saver),
        };
        Ok(Arc::new(Device::new(device, machine)))
    };
    stored.into_iter().enumerate().map(one).collect()
}

/// Returns a device as the state file contains it.
pub(super) fn stored(device: &Device) -> Result<StoredDevice, SimulateError> {
    let Caller::Device { id, key, .. } = &device.caller else {
        return Err(SimulateError::Setup("a device has no key".to_owned()));
    };
    let machine = device.machine();
    let (version, previous, slot) = (machine.version().clone(), machine.previous().cloned(), machine.slot);
    Ok(StoredDevice { id: id.clone(), key: key.to_jwk().expose().clone(), version, previous, slot })
}

fn view(device: &Device) -> DeviceView {
    let machine = device.machine();
    DeviceView {
        id: Arc::clone(&device.id),
        power: machine.power,
        faults: machine.faults,
        version: machine.version().clone(),
        previous: machine.previous().cloned(),
        installs: machine.installs().to_vec(),
        rollbacks: machine.rollbacks(),
        restarts: machine.restarts(),
    }
}
