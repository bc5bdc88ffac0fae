//! What an incident's record is made of.

use serde::{Deserialize, Serialize};

use crate::alert::{MsgType, Reference};
use muster_core::Millis;

/// Who may see it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Whoever may read incidents.
    #[default]
    Public,
    /// Whoever may write incidents, and those named in it.
    Restricted,
    /// Only those named in it: addresses, assignees, its commander, who reported it.
    Private,
}

/// How it was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportedVia {
    Api,
    Device,
    Cap,
    Agent,
    Operator,
}

/// A code of an area in someone's scheme, such as SAME.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geocode {
    pub scheme: String,
    pub value: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Casualties {
    pub injured: u32,
    pub dead: u32,
    pub missing: u32,
    pub evacuated: u32,
}

/// Something kept elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    pub name: String,
    pub uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// Who took it on, and until when that counts without activation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    pub by: String,
    pub at: Millis,
    pub expires_at: Millis,
}

/// A priority that a person set in place of the computed one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorityOverride {
    /// 0 to 100.
    pub value: u8,
    pub reason: String,
}

/// The chain of CAP messages that tell of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapLink {
    /// The latest message's.
    pub identifier: Option<String>,
    pub sender: Option<String>,
    /// The messages before the latest, oldest first.
    pub references: Vec<Reference>,
    pub last_msg_type: Option<MsgType>,
}
