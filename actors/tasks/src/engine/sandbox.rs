//! Whether processes of engines must be restricted, and what was found at the start.

use std::str::FromStr;
use std::sync::Arc;

use muster_engines::Nature;
use muster_sandbox::{MissingLayer, Report};
use serde::{Deserialize, Serialize};

use super::options::Worker;
use super::process::{Process, ProcessUse};

/// Whether processes restrict themselves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// Every restriction must be in force; without one, no engine runs.
    Require,
    /// What the kernel has is used, and what it lacks is reported.
    #[default]
    Prefer,
    /// Resource limits only.
    Off,
}

impl SandboxMode {
    /// Returns the name of the mode in settings and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Require => "require",
            Self::Prefer => "prefer",
            Self::Off => "off",
        }
    }

    /// Checks what a process reports.
    ///
    /// # Errors
    ///
    /// The restrictions that the mode requires and that are missing.
    pub(super) fn check(self, report: Option<&Report>) -> Result<(), String> {
        let missing = match report {
            None => Some("every restriction".to_owned()),
            Some(report) => report.lacks(),
        };
        match missing {
            Some(missing) if self == Self::Require => {
                Err(format!("engines.sandbox requires what is missing: {missing}"))
            }
            _ => Ok(()),
        }
    }
}

impl FromStr for SandboxMode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = [Self::Require, Self::Prefer, Self::Off].into_iter().find(|mode| mode.name() == name);
        found.ok_or_else(|| format!("{name:?} is none of require, prefer, off"))
    }
}

/// The restrictions of engine processes on this system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SandboxStatus {
    /// Whether processes restrict themselves.
    pub mode: SandboxMode,
    /// Version of the kernel's Landlock interface in use; `null` if it is not enforced.
    pub landlock_abi: Option<u32>,
    /// Restrictions that are not in force.
    pub missing: Vec<MissingLayer>,
    /// Why no process could be started to find out; `null` if one was.
    pub failure: Option<String>,
}

impl SandboxStatus {
    /// Starts a process, and returns what it reports.
    pub async fn examine(worker: &Worker, mode: SandboxMode) -> Self {
        let usage = ProcessUse { principal: Arc::from("system"), nature: Nature::Pure };
        // A missing restriction is a result here, also where it is required.
        match Process::start(worker, usage, SandboxMode::Prefer).await {
            Err(error) => Self { mode, failure: Some(error.to_string()), ..Self::default() },
            Ok(process) => {
                let report = process.sandbox.clone().unwrap_or_default();
                process.kill().await;
                Self { mode, landlock_abi: report.landlock_abi, missing: report.missing, failure: None }
            }
        }
    }

    /// Returns what is wrong, for an operator; `None` if every restriction is in force or they are switched off.
    pub fn problem(&self) -> Option<String> {
        if let Some(failure) = &self.failure {
            return Some(format!("no process for engines could be started: {failure}"));
        }
        let report = Report { landlock_abi: self.landlock_abi, missing: self.missing.clone() };
        let missing = report.lacks().filter(|_| self.mode != SandboxMode::Off)?;
        Some(format!("engines run without {missing}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_sandbox::Layer;

    #[test]
    fn only_require_rejects_a_process_without_a_restriction() {
        let missing = MissingLayer { layer: Layer::Landlock, reason: "this kernel does not have it".to_owned() };
        let lacking = Report { landlock_abi: None, missing: vec![missing.clone()] };
        let whole = Report { landlock_abi: Some(6), missing: Vec::new() };
        for mode in [SandboxMode::Require, SandboxMode::Prefer, SandboxMode::Off] {
            assert_eq!(mode.check(Some(&whole)), Ok(()));
            assert_eq!(mode.check(Some(&lacking)).is_err(), mode == SandboxMode::Require);
            assert_eq!(mode.check(None).is_err(), mode == SandboxMode::Require);
            assert_eq!(mode.name().parse(), Ok(mode));
        }
        let status = |mode| SandboxStatus { mode, missing: vec![missing.clone()], ..SandboxStatus::default() };
        let problem = status(SandboxMode::Prefer).problem().unwrap();
        assert_eq!(problem, "engines run without Landlock (this kernel does not have it)");
        assert_eq!(status(SandboxMode::Off).problem(), None);
    }
}
