//! Types of the fields of an incident.

use serde::{Deserialize, Serialize};

use crate::alert::{AlertRecord, MsgType, Reference};
use muster_core::Millis;

/// Readers of an incident.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Everyone who may read incidents.
    #[default]
    Public,
    /// Everyone who may write incidents, and the users named in it.
    Restricted,
    /// The users named in it only: addresses, assignees, commander and reporter.
    Private,
}

/// How an incident was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportedVia {
    /// Through the API.
    Api,
    /// By a device.
    Device,
    /// By an imported CAP message.
    Cap,
    /// By an agent.
    Agent,
    /// By a person.
    Operator,
}

/// Code of an area in a scheme such as SAME.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geocode {
    /// Scheme.
    pub scheme: String,
    /// Code.
    pub value: String,
}

/// Casualties of an incident.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Casualties {
    /// Injured people.
    pub injured: u32,
    /// Dead people.
    pub dead: u32,
    /// Missing people.
    pub missing: u32,
    /// Evacuated people.
    pub evacuated: u32,
}

/// A document kept elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Name.
    pub name: String,
    /// Address, `https://…`.
    pub uri: String,
    /// Media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// SHA-256 digest in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// Acknowledgement of an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    /// User who acknowledged it.
    pub by: String,
    /// Time of the acknowledgement.
    pub at: Millis,
    /// Time at which it expires without activation.
    pub expires_at: Millis,
}

/// A priority that a person set in place of the computed one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorityOverride {
    /// Priority, 0 to 100.
    pub value: u8,
    /// Reason.
    pub reason: String,
}

/// Chain of the CAP messages of an incident.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapLink {
    /// Identifier of the latest message.
    pub identifier: Option<String>,
    /// Sender of the latest message.
    pub sender: Option<String>,
    /// The messages before the latest, oldest first.
    pub references: Vec<Reference>,
    /// Type of the latest message.
    pub last_msg_type: Option<MsgType>,
}

impl CapLink {
    /// Refers to a message as the latest.
    pub(super) fn follow(&mut self, message: &AlertRecord) {
        self.identifier = Some(message.identifier.clone());
        self.sender = Some(message.sender.clone());
        self.references = message.references.clone();
        self.last_msg_type = Some(message.msg_type);
    }
}
