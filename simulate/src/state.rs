//! The state machine of a simulated device: its firmware, its progress on the present job, and its next step. Pure.
//!
//! The server holds the state of the job, the device remembers what it did. After a lost report or a crash of the server
//! the device therefore reports again but does not act again: an image is installed at most once per attempt.

use muster_auth::PublicKey;

use super::check::{Content, ImagePolicy, check};
use super::faults::{Fault, Faults};
use super::job::{Job, JobError, JobReport, Stage, Version};

/// Whether a device is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Power {
    /// It works.
    On,
    /// It is off for a moment.
    Restarting,
    /// It did not come back after a restart.
    Dead,
}

/// The firmware slot that a device runs from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Slot {
    /// The first slot.
    A,
    /// The second slot.
    B,
}

impl Slot {
    const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// An image that was installed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Install {
    /// Job identifier.
    pub job: String,
    /// Attempt of the job, from 1.
    pub attempt: u32,
    /// Installed version.
    pub version: Version,
}

/// The next step of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Report(JobReport),
    /// Download the image up to this offset.
    Fetch(u64),
    Install,
    Restart,
    /// Wait for the server, sending heartbeats only.
    Wait,
    /// The job has ended for this device.
    Done,
}

/// Progress on one attempt of a job or on its rollback.
#[derive(Debug, Clone, Default, PartialEq)]
struct Attempt {
    job: String,
    attempt: u32,
    rolling_back: bool,
    bytes: u64,
    reported_bytes: u64,
    content: Option<Content>,
    installed: bool,
    /// Whether the installed image runs after the next restart.
    boots: bool,
    restarted: bool,
    result_reported: bool,
}

/// The state machine of a device.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    pub(super) faults: Faults,
    pub(super) power: Power,
    pub(super) slot: Slot,
    hw_class: String,
    trusted: Option<PublicKey>,
    current: Version,
    previous: Option<Version>,
    work: Attempt,
    installs: Vec<Install>,
    rollbacks: u32,
    restarts: u32,
}

impl Machine {
    pub(super) fn new(hw_class: &str, version: Version, trusted: Option<PublicKey>) -> Self {
        Self {
            faults: Faults::NONE,
            power: Power::On,
            slot: Slot::A,
            hw_class: hw_class.to_owned(),
            trusted,
            current: version,
            previous: None,
            work: Attempt::default(),
            installs: Vec::new(),
            rollbacks: 0,
            restarts: 0,
        }
    }

    /// Returns the version that the device actually runs.
    pub(super) fn version(&self) -> &Version {
        &self.current
    }

    pub(super) fn previous(&self) -> Option<&Version> {
        self.previous.as_ref()
    }

    /// Restores the slots of a device from the state file.
    pub(super) fn restore(&mut self, previous: Option<Version>, slot: Slot) {
        (self.previous, self.slot) = (previous, slot);
    }

    /// Returns the version that the device reports, which is outdated with [`Fault::StaleVersion`].
    pub(super) fn reported_version(&self) -> &Version {
        let stale = self.faults.has(Fault::StaleVersion) && self.work.restarted && !self.work.rolling_back;
        self.previous.as_ref().filter(|_| stale).unwrap_or(&self.current)
    }

    pub(super) fn installs(&self) -> &[Install] {
        &self.installs
    }

    pub(super) fn rollbacks(&self) -> u32 {
        self.rollbacks
    }

    pub(super) fn restarts(&self) -> u32 {
        self.restarts
    }

    /// Decides the next step on a job in the state that the server sent.
    pub(super) fn next(&mut self, job: &Job) -> Step {
        self.begin(job);
        let report = |state| {
            Step::Report(JobReport { state: Some(state), exec_version: job.exec_version, ..JobReport::default() })
        };
        let fail = |state, error| {
            let (state, error) = (Some(state), Some(error));
            Step::Report(JobReport { state, error, exec_version: job.exec_version, ..JobReport::default() })
        };
        match job.state {
            Stage::Notified if self.faults.has(Fault::Rejects) => {
                fail(Stage::Rejected, JobError::new("not_now", "the device refuses: it is in use"))
            }
            Stage::Notified if job.action == "reboot" => report(Stage::Rebooting),
            Stage::Notified => report(Stage::Downloading),
            Stage::Downloading => self.fetch(job),
            Stage::Downloaded => match self.check_image(job) {
                Ok(()) => report(Stage::Verified),
                Err(error) => fail(Stage::Failed, error),
            },
            Stage::Verified if job.mode == "download_only" => report(Stage::Succeeded),
            Stage::Verified => report(Stage::Installing),
            Stage::Installing if self.faults.has(Fault::FailsInstall) => {
                fail(Stage::Failed, JobError::new("install_failed", "the image could not be written"))
            }
            // The program was restarted in between, and the downloaded image is gone.
            Stage::Installing if job.artifact.is_some() && self.work.content.is_none() => {
                fail(Stage::Failed, JobError::new("content_lost", "the device does not have the image any more"))
            }
            Stage::Installing if !self.has_installed(job) => Step::Install,
            Stage::Installing if job.action == "configure" => report(Stage::Verifying),
            Stage::Installing => report(Stage::Rebooting),
            Stage::Rebooting if !self.work.restarted => Step::Restart,
            Stage::Rebooting => report(Stage::Verifying),
            Stage::Verifying
                if job.action == "install" && job.to.as_ref().is_some_and(|to| to.version != self.current.version) =>
            {
                fail(Stage::Failed, JobError::new("wrong_version", "the device still runs its previous version"))
            }
            Stage::Verifying => self.report_once(report(Stage::Succeeded)),
            Stage::RollingBack if !self.work.restarted => Step::Restart,
            Stage::RollingBack => self.report_once(report(Stage::RolledBack)),
            _ => Step::Done,
        }
    }

    /// Resets the progress if the job, the attempt or the direction is another one.
    fn begin(&mut self, job: &Job) {
        let rolling_back = job.state == Stage::RollingBack;
        let same =
            self.work.job == job.id && self.work.attempt == job.attempt && self.work.rolling_back == rolling_back;
        if !same {
            self.work = Attempt { job: job.id.clone(), attempt: job.attempt, rolling_back, ..Attempt::default() };
        }
    }

    fn report_once(&mut self, step: Step) -> Step {
        if std::mem::replace(&mut self.work.result_reported, true) { Step::Wait } else { step }
    }

    /// Decides how much of the image to download next. A slow device downloads quarters and reports after each.
    fn fetch(&mut self, job: &Job) -> Step {
        let size = job.artifact.as_ref().map_or(0, |image| image.size);
        let report = |state, bytes: u64| {
            let pct = u8::try_from(bytes.saturating_mul(100) / size.max(1)).unwrap_or(100).min(100);
            let (progress_pct, bytes_done) = (Some(pct), Some(bytes));
            Step::Report(JobReport { state, progress_pct, bytes_done, error: None, exec_version: job.exec_version })
        };
        if self.work.content.is_some() {
            return report(Some(Stage::Downloaded), size);
        }
        let slow = self.faults.has(Fault::Slow);
        if slow && self.work.bytes > self.work.reported_bytes {
            self.work.reported_bytes = self.work.bytes;
            return report(None, self.work.bytes);
        }
        let quarter = size.div_ceil(4).max(1);
        Step::Fetch(if slow { (self.work.bytes + quarter).min(size) } else { size })
    }

    /// Records that a part of the image was downloaded.
    pub(super) fn received(&mut self, bytes: u64) {
        self.work.bytes = bytes;
    }

    /// Records that the whole image was downloaded.
    pub(super) fn fetched(&mut self, content: Content) {
        self.work.bytes = content.size;
        self.work.content = Some(content);
    }

    fn check_image(&self, job: &Job) -> Result<(), JobError> {
        let Some(content) = &self.work.content else {
            return Err(JobError::new("content_lost", "the device does not have the image any more"));
        };
        let policy =
            ImagePolicy { hw_class: &self.hw_class, sequence: self.current.sequence, trusted: self.trusted.as_ref() };
        check(job, content, policy)
    }

    fn has_installed(&self, job: &Job) -> bool {
        self.installs.iter().any(|install| install.job == job.id && install.attempt == job.attempt)
    }

    /// Records that the image is installed in the other slot. It runs after the next restart.
    pub(super) fn installed(&mut self, job: &Job) {
        self.work.installed = true;
        self.work.boots = job.action != "configure";
        let version = job.to.clone().unwrap_or_else(|| self.current.clone());
        self.installs.push(Install { job: job.id.clone(), attempt: job.attempt, version });
    }

    /// Switches the device off for a restart.
    pub(super) fn shut_down(&mut self) {
        self.power = Power::Restarting;
    }

    /// Completes a restart: the device runs the installed or restored version, or stays off.
    pub(super) fn start_up(&mut self, job: Option<&Job>) {
        let Some(job) = job else {
            // A restart by a command boots what a job has installed.
            if self.work.boots {
                self.work.restarted = true;
                self.boot_installed();
            }
            (self.power, self.restarts) = (Power::On, self.restarts + 1);
            return;
        };
        self.work.restarted = true;
        if self.work.rolling_back {
            self.roll_back_to(job.to.as_ref());
        } else {
            self.boot_installed();
        }
        let dead = self.faults.has(Fault::NeverComesBack) && !self.work.rolling_back;
        self.power = if dead { Power::Dead } else { Power::On };
        self.restarts += u32::from(!dead);
    }

    /// Boots the installed image, once.
    fn boot_installed(&mut self) {
        if std::mem::take(&mut self.work.boots)
            && let Some(installed) = self.installs.last().map(|install| install.version.clone())
        {
            self.swap(installed);
        }
    }

    fn swap(&mut self, to: Version) {
        self.previous = Some(std::mem::replace(&mut self.current, to));
        self.slot = self.slot.other();
    }

    /// Returns to the version in the other slot, unless the device runs the right version already.
    fn roll_back_to(&mut self, to: Option<&Version>) {
        self.rollbacks += 1;
        let there = |to: &&Version| self.current.version != to.version;
        if let Some(to) = to.filter(there).or(self.previous.as_ref().filter(|_| to.is_none())).cloned() {
            self.swap(to);
        }
    }
}
