//! One simulated device: its state machine, its identity and the loops that drive it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::future::join4;
use tokio::sync::{Notify, watch};

use super::api::{Api, Caller};
use super::fleet::FleetProgress;
use super::job::Job;
use super::profile::{CommandChannel, Profile};
use super::random::Random;
use super::state::{Machine, Power};
use super::state_file::StateSaver;
use super::{commands, heartbeats, work};

/// A device, shared by its loops.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) id: Arc<str>,
    pub(super) position: usize,
    pub(super) caller: Caller,
    pub(super) api: Arc<Api>,
    pub(super) profile: Arc<Profile>,
    pub(super) command_channel: CommandChannel,
    pub(super) seed: u64,
    /// Counts of the whole fleet.
    pub(super) progress: Arc<FleetProgress>,
    saver: Arc<StateSaver>,
    machine: Mutex<Machine>,
    power: watch::Sender<Power>,
    boot: watch::Sender<Arc<str>>,
    /// Requests a heartbeat ahead of time.
    pub(super) heartbeat_now: Notify,
}

/// What a device is built from.
#[derive(Debug)]
pub(super) struct DeviceOptions {
    pub(super) id: Arc<str>,
    pub(super) position: usize,
    pub(super) caller: Caller,
    pub(super) api: Arc<Api>,
    pub(super) profile: Arc<Profile>,
    pub(super) command_channel: CommandChannel,
    pub(super) seed: u64,
    pub(super) progress: Arc<FleetProgress>,
    pub(super) saver: Arc<StateSaver>,
}

impl Device {
    pub(super) fn new(options: DeviceOptions, machine: Machine) -> Self {
        let DeviceOptions { id, position, caller, api, profile, command_channel, seed, progress, saver } = options;
        let power = watch::Sender::new(machine.power);
        let machine = Mutex::new(machine);
        let boot = watch::Sender::new(boot_id(position));
        Self {
            id,
            position,
            caller,
            api,
            profile,
            command_channel,
            seed,
            progress,
            saver,
            machine,
            power,
            boot,
            heartbeat_now: Notify::new(),
        }
    }

    /// Locks the state machine. The lock must not be held across an `await`.
    pub(super) fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the random sequence of this device for one purpose.
    pub(super) fn random(&self, purpose: u64) -> Random {
        Random::for_device(self.seed ^ (purpose << 48), self.position as u64)
    }

    pub(super) fn boot(&self) -> Arc<str> {
        Arc::clone(&self.boot.borrow())
    }

    /// Waits until the device is on; for ever if it is dead.
    pub(super) async fn wait_until_on(&self) {
        let mut power = self.power.subscribe();
        // Fails only if the sender is dropped, and this device owns it.
        let _ = power.wait_for(|power| *power == Power::On).await;
    }

    /// Waits until the device is switched off.
    pub(super) async fn wait_until_off(&self) {
        let mut power = self.power.subscribe();
        let _ = power.wait_for(|power| *power != Power::On).await;
    }

    /// Runs `work` to its end, or returns `None` if the device is switched off before.
    pub(super) async fn while_on<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            () = self.wait_until_off() => None,
        }
    }

    /// Restarts the device, for a job or a command. With the fault [`Fault::NeverComesBack`](super::faults::Fault) it
    /// stays off.
    pub(super) async fn restart(&self, job: Option<&Job>) {
        self.machine().shut_down();
        self.power.send_replace(Power::Restarting);
        self.progress.notify();
        let pause = Duration::from_millis(self.profile.reboot_ms);
        tokio::time::sleep(self.random(4).jitter(pause)).await;
        let power = {
            let mut machine = self.machine();
            machine.start_up(job);
            machine.power
        };
        // Before the server learns of a new version, so that the device still runs it if this program is killed.
        self.saver.saved().await;
        self.boot.send_replace(boot_id(self.position));
        self.power.send_replace(power);
        if power == Power::On {
            self.api.counts.restarts.increment();
            self.heartbeat_now.notify_one();
        }
        self.progress.notify();
    }

    /// Runs all loops until the future is dropped.
    pub(super) async fn run(self: Arc<Self>) {
        join4(
            heartbeats::heartbeats(&self),
            heartbeats::telemetry(&self),
            work::jobs(&self),
            commands::commands(&self),
        )
        .await;
    }
}

/// Returns a boot identifier that differs at each start, also across runs of the program.
fn boot_id(position: usize) -> Arc<str> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{now:x}-{position}").into()
}
