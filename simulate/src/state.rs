//! A simulated device, pure: what it runs, what it has done of the job in its hands, and what it does next.
//!
//! The server says where the job stands; the device remembers what it did. So a report that was lost, or a server that
//! was killed, makes it tell again, never do again: an image is installed at most once for each attempt.

use muster_auth::PublicKey;

use super::check::{Bar, Content, check};
use super::faults::{Fault, Faults};
use super::job::{Job, Report, Stage, Trouble, Version};

/// Whether it can be heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Power {
    On,
    Restarting,
    /// It did not come back.
    Dead,
}

/// The half that it runs from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Slot {
    A,
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
    pub job: String,
    pub attempt: u32,
    pub version: Version,
}

/// What it does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Tell(Report),
    /// Fetch the image up to so many bytes.
    Fetch(u64),
    Install,
    Restart,
    /// Nothing but being heard of.
    Wait,
    /// The job is out of its hands.
    Done,
}

/// What was done of one attempt of a job, or of the way back.
#[derive(Debug, Clone, Default, PartialEq)]
struct Work {
    job: String,
    attempt: u32,
    back: bool,
    bytes: u64,
    told_bytes: u64,
    content: Option<Content>,
    installed: bool,
    restarted: bool,
    told: bool,
}

/// A device.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    pub(super) faults: Faults,
    pub(super) power: Power,
    pub(super) slot: Slot,
    hw_class: String,
    trusted: Option<PublicKey>,
    current: Version,
    previous: Option<Version>,
    work: Work,
    installs: Vec<Install>,
    rollbacks: u32,
    restarts: u32,
}

impl Machine {
    pub(super) fn new(hw_class: &str, runs: Version, trusted: Option<PublicKey>) -> Self {
        Self {
            faults: Faults::NONE,
            power: Power::On,
            slot: Slot::A,
            hw_class: hw_class.to_owned(),
            trusted,
            current: runs,
            previous: None,
            work: Work::default(),
            installs: Vec::new(),
            rollbacks: 0,
            restarts: 0,
        }
    }

    /// What it really runs.
    pub(super) fn runs(&self) -> &Version {
        &self.current
    }

    pub(super) fn previous(&self) -> Option<&Version> {
        self.previous.as_ref()
    }

    /// A device that was here before comes back with what it ran.
    pub(super) fn restore(&mut self, previous: Option<Version>, slot: Slot) {
        (self.previous, self.slot) = (previous, slot);
    }

    /// What it says that it runs.
    pub(super) fn tells(&self) -> &Version {
        let stale = self.faults.has(Fault::StaleVersion) && self.work.restarted && !self.work.back;
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

    /// What it does with the job as the server tells it.
    pub(super) fn next(&mut self, job: &Job) -> Step {
        self.take(job);
        let tell =
            |state| Step::Tell(Report { state: Some(state), exec_version: job.exec_version, ..Report::default() });
        let fail = |state, trouble| {
            let (state, error) = (Some(state), Some(trouble));
            Step::Tell(Report { state, error, exec_version: job.exec_version, ..Report::default() })
        };
        match job.state {
            Stage::Notified if self.faults.has(Fault::Rejects) => {
                fail(Stage::Rejected, Trouble::new("not_now", "the device refuses: it is in use"))
            }
            Stage::Notified if job.action == "reboot" => tell(Stage::Rebooting),
            Stage::Notified => tell(Stage::Downloading),
            Stage::Downloading => self.fetch(job),
            Stage::Downloaded => match self.judge(job) {
                Ok(()) => tell(Stage::Verified),
                Err(trouble) => fail(Stage::Failed, trouble),
            },
            Stage::Verified if job.mode == "download_only" => tell(Stage::Succeeded),
            Stage::Verified => tell(Stage::Installing),
            Stage::Installing if self.faults.has(Fault::FailsInstall) => {
                fail(Stage::Failed, Trouble::new("install_failed", "the image could not be written"))
            }
            // It was started anew in between: nothing is there to install.
            Stage::Installing if job.artifact.is_some() && self.work.content.is_none() => {
                fail(Stage::Failed, Trouble::new("content_lost", "the device does not have the image any more"))
            }
            Stage::Installing if !self.has_installed(job) => Step::Install,
            Stage::Installing if job.action == "configure" => tell(Stage::Verifying),
            Stage::Installing => tell(Stage::Rebooting),
            Stage::Rebooting if !self.work.restarted => Step::Restart,
            Stage::Rebooting => tell(Stage::Verifying),
            Stage::Verifying
                if job.action == "install" && job.to.as_ref().is_some_and(|to| to.version != self.current.version) =>
            {
                fail(Stage::Failed, Trouble::new("wrong_version", "the device came back with what it ran before"))
            }
            Stage::Verifying => self.tell_once(tell(Stage::Succeeded)),
            Stage::RollingBack if !self.work.restarted => Step::Restart,
            Stage::RollingBack => self.tell_once(tell(Stage::RolledBack)),
            _ => Step::Done,
        }
    }

    /// Another job, another attempt or the way back begins with nothing done.
    fn take(&mut self, job: &Job) {
        let back = job.state == Stage::RollingBack;
        let same = self.work.job == job.id && self.work.attempt == job.attempt && self.work.back == back;
        if !same {
            self.work = Work { job: job.id.clone(), attempt: job.attempt, back, ..Work::default() };
        }
    }

    fn tell_once(&mut self, step: Step) -> Step {
        if std::mem::replace(&mut self.work.told, true) { Step::Wait } else { step }
    }

    /// Fetches, a slow one in quarters with a word after each.
    fn fetch(&mut self, job: &Job) -> Step {
        let size = job.artifact.as_ref().map_or(0, |image| image.size);
        let word = |state, bytes: u64| {
            let pct = u8::try_from(bytes.saturating_mul(100) / size.max(1)).unwrap_or(100).min(100);
            let (progress_pct, bytes_done) = (Some(pct), Some(bytes));
            Step::Tell(Report { state, progress_pct, bytes_done, error: None, exec_version: job.exec_version })
        };
        if self.work.content.is_some() {
            return word(Some(Stage::Downloaded), size);
        }
        let slow = self.faults.has(Fault::Slow);
        if slow && self.work.bytes > self.work.told_bytes {
            self.work.told_bytes = self.work.bytes;
            return word(None, self.work.bytes);
        }
        let quarter = size.div_ceil(4).max(1);
        Step::Fetch(if slow { (self.work.bytes + quarter).min(size) } else { size })
    }

    /// A part of the image is here.
    pub(super) fn got(&mut self, bytes: u64) {
        self.work.bytes = bytes;
    }

    /// The whole image is here.
    pub(super) fn fetched(&mut self, content: Content) {
        self.work.bytes = content.size;
        self.work.content = Some(content);
    }

    fn judge(&self, job: &Job) -> Result<(), Trouble> {
        let Some(content) = &self.work.content else {
            return Err(Trouble::new("content_lost", "the device does not have the image any more"));
        };
        let bar = Bar { hw_class: &self.hw_class, sequence: self.current.sequence, trusted: self.trusted.as_ref() };
        check(job, content, bar)
    }

    fn has_installed(&self, job: &Job) -> bool {
        self.installs.iter().any(|install| install.job == job.id && install.attempt == job.attempt)
    }

    /// The image is in the other slot; the restart runs it.
    pub(super) fn installed(&mut self, job: &Job) {
        self.work.installed = true;
        let version = job.to.clone().unwrap_or_else(|| self.current.clone());
        self.installs.push(Install { job: job.id.clone(), attempt: job.attempt, version });
    }

    /// It goes silent.
    pub(super) fn down(&mut self) {
        self.power = Power::Restarting;
    }

    /// It comes back, or does not.
    pub(super) fn up(&mut self, job: Option<&Job>) {
        let Some(job) = job else {
            (self.power, self.restarts) = (Power::On, self.restarts + 1);
            return;
        };
        self.work.restarted = true;
        if self.work.back {
            self.return_to(job.to.as_ref());
        } else if self.work.installed && job.action != "configure" {
            let installed = self.installs.last().map(|install| install.version.clone());
            self.swap(installed.unwrap_or_else(|| self.current.clone()));
        }
        let dead = self.faults.has(Fault::NeverComesBack) && !self.work.back;
        self.power = if dead { Power::Dead } else { Power::On };
        self.restarts += u32::from(!dead);
    }

    fn swap(&mut self, to: Version) {
        self.previous = Some(std::mem::replace(&mut self.current, to));
        self.slot = self.slot.other();
    }

    /// What it ran before is in the other slot still.
    fn return_to(&mut self, to: Option<&Version>) {
        self.rollbacks += 1;
        let there = |to: &&Version| self.current.version != to.version;
        if let Some(to) = to.filter(there).or(self.previous.as_ref().filter(|_| to.is_none())).cloned() {
            self.swap(to);
        }
    }
}
