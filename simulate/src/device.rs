//! One simulated device: its machine, its name, and the three loops of its life.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::future::join4;
use tokio::sync::{Notify, watch};

use super::api::{Api, Who};
use super::fleet::Board;
use super::job::Job;
use super::profile::{Hears, Profile};
use super::random::Random;
use super::state::{Machine, Power};
use super::{beats, commands, work};

/// What the loops of a device share.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) id: Arc<str>,
    pub(super) position: usize,
    pub(super) who: Who,
    pub(super) api: Arc<Api>,
    pub(super) profile: Arc<Profile>,
    pub(super) hears: Hears,
    pub(super) seed: u64,
    /// Wakes whoever watches the fleet.
    pub(super) board: Arc<Board>,
    machine: Mutex<Machine>,
    power: watch::Sender<Power>,
    boot: watch::Sender<Arc<str>>,
    /// A heartbeat is wanted now.
    pub(super) beat: Notify,
}

/// What a device is made of.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) id: Arc<str>,
    pub(super) position: usize,
    pub(super) who: Who,
    pub(super) api: Arc<Api>,
    pub(super) profile: Arc<Profile>,
    pub(super) hears: Hears,
    pub(super) seed: u64,
    pub(super) board: Arc<Board>,
}

impl Device {
    pub(super) fn new(parts: Parts, machine: Machine) -> Self {
        let Parts { id, position, who, api, profile, hears, seed, board } = parts;
        let power = watch::Sender::new(machine.power);
        let machine = Mutex::new(machine);
        let boot = watch::Sender::new(boot_id(position));
        Self { id, position, who, api, profile, hears, seed, board, machine, power, boot, beat: Notify::new() }
    }

    /// The machine; held for a step, never across an await.
    pub(super) fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A sequence of its own for each use.
    pub(super) fn random(&self, of: u64) -> Random {
        Random::of(self.seed ^ (of << 48), self.position as u64)
    }

    pub(super) fn boot(&self) -> Arc<str> {
        Arc::clone(&self.boot.borrow())
    }

    /// Waits until it is on; for ever, where it is dead.
    pub(super) async fn on(&self) {
        let mut power = self.power.subscribe();
        // The sender is this device's own.
        let _ = power.wait_for(|power| *power == Power::On).await;
    }

    /// Waits until it goes off.
    pub(super) async fn off(&self) {
        let mut power = self.power.subscribe();
        let _ = power.wait_for(|power| *power != Power::On).await;
    }

    /// What `work` gives, unless it goes off before.
    pub(super) async fn while_on<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            () = self.off() => None,
        }
    }

    /// Goes silent, for a job or because a command says so, and comes back, or does not.
    pub(super) async fn restart(&self, job: Option<&Job>) {
        self.machine().down();
        self.power.send_replace(Power::Restarting);
        self.board.changed();
        let silent = Duration::from_millis(self.profile.reboot_ms);
        tokio::time::sleep(self.random(4).about(silent)).await;
        let power = {
            let mut machine = self.machine();
            machine.up(job);
            machine.power
        };
        self.boot.send_replace(boot_id(self.position));
        self.power.send_replace(power);
        if power == Power::On {
            self.api.counts.restarts.up();
            self.beat.notify_one();
        }
        self.board.changed();
    }

    /// Lives until it is dropped.
    pub(super) async fn live(self: Arc<Self>) {
        join4(beats::heartbeats(&self), beats::readings(&self), work::jobs(&self), commands::commands(&self)).await;
    }
}

/// Another at each start, also of a fleet that comes back from its file.
fn boot_id(position: usize) -> Arc<str> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{now:x}-{position}").into()
}
