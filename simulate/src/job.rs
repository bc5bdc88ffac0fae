//! A job as the server tells a device, and what the device tells of it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where a job stands on a device.
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
    /// One that a device never comes into by itself.
    #[serde(other)]
    Other,
}

/// A firmware version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Version {
    /// `art_…`, where it came from the server.
    #[serde(default)]
    pub artifact: Option<String>,
    pub version: String,
    #[serde(default)]
    pub sequence: u64,
}

/// An image as a device is told. What is signed stands beside it, and again inside the signature.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Image {
    pub(super) content_url: String,
    pub(super) size: u64,
    pub(super) sha256: String,
    pub(super) hw_class: String,
    pub(super) sequence: u64,
    #[serde(default)]
    pub(super) manifest_jws: Option<String>,
    /// Everything else that it says.
    #[serde(flatten)]
    pub(super) rest: Map<String, Value>,
}

/// A job in a device's hands.
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

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Trouble {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Trouble {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// What a device tells of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Report {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<Stage>,
    #[serde(rename = "progress", skip_serializing_if = "Option::is_none")]
    pub(super) progress_pct: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes_done: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Trouble>,
    pub(super) exec_version: u64,
}
