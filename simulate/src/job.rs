//! A firmware job as the server sends it, and the reports that a device returns.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// State of a job on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Notified,
    Downloading,
    Downloaded,
    Verified,
    Installing,
    Rebooting,
    Verifying,
    RollingBack,
    Succeeded,
    Failed,
    Rejected,
    RolledBack,
    /// A state that only the server sets.
    #[serde(other)]
    Other,
}

/// A firmware version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Version {
    /// Artifact identifier `art_…`, if the version was installed from the server.
    #[serde(default)]
    pub artifact: Option<String>,
    /// Version as the vendor names it.
    pub version: String,
    /// Number that grows with each version of the vendor.
    #[serde(default)]
    pub sequence: u64,
}

/// An image as a job announces it. The signed manifest repeats most of its fields.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Image {
    pub(super) content_url: String,
    pub(super) size: u64,
    pub(super) sha256: String,
    pub(super) hw_class: String,
    pub(super) sequence: u64,
    #[serde(default)]
    pub(super) manifest_jws: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub(super) rest: Map<String, Value>,
}

/// A job that is assigned to a device.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Job {
    pub(super) id: String,
    /// `install`, `configure`, `reboot` or `rollback`.
    pub(super) action: String,
    /// `forced`, `soft` or `download_only`.
    pub(super) mode: String,
    pub(super) state: Stage,
    pub(super) attempt: u32,
    pub(super) exec_version: u64,
    #[serde(default)]
    pub(super) to: Option<Version>,
    #[serde(default)]
    pub(super) allow_downgrade: bool,
    #[serde(default)]
    pub(super) artifact: Option<Image>,
}

/// Why a device failed or rejected a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct JobError {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl JobError {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// A device's report on a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct JobReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<Stage>,
    #[serde(rename = "progress", skip_serializing_if = "Option::is_none")]
    pub(super) progress_pct: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes_done: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<JobError>,
    pub(super) exec_version: u64,
}
