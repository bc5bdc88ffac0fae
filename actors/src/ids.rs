//! Identifiers: a type prefix, `_`, a ULID (26 characters, sortable by time).

use ulid::Ulid;

/// The types that have identifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdKind {
    Key,
    Request,
    ChatCompletion,
    /// A message of an answer.
    Message,
    /// An answer by OpenAI's Responses API.
    Response,
    /// A function that an answer asks to be called.
    FunctionCall,
    User,
    Session,
    Device,
    /// What an operator asks a device to do.
    Command,
    Incident,
    Alert,
    Geofence,
    /// A firmware image and its manifest.
    Artifact,
    /// A rollout of firmware.
    Job,
    /// Something that happened, unique over all channels of the feed.
    Event,
    /// A live socket.
    Connection,
    /// An entry of the audit log.
    Audit,
}

impl IdKind {
    /// The prefix, without the underscore.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Request => "req",
            // What the OpenAI API calls its completions; the clients' logs are searched for it.
            Self::ChatCompletion => "chatcmpl",
            Self::Message => "msg",
            Self::Response => "resp",
            Self::FunctionCall => "fc",
            Self::User => "usr",
            Self::Session => "ses",
            Self::Device => "dev",
            Self::Command => "cmd",
            Self::Incident => "inc",
            Self::Alert => "alr",
            Self::Geofence => "gf",
            Self::Artifact => "art",
            Self::Job => "job",
            Self::Event => "evt",
            Self::Connection => "con",
            Self::Audit => "aud",
        }
    }
}

/// A new identifier.
pub fn new_id(kind: IdKind) -> String {
    format!("{}_{}", kind.prefix(), Ulid::generate())
}
