//! Identifiers: a type prefix, `_`, and a ULID (26 characters, sortable by time).

use std::sync::atomic::{AtomicU64, Ordering};

use ulid::Ulid;

/// Types of resources that have identifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdKind {
    /// An API key.
    Key,
    /// A team of API keys.
    Team,
    /// An HTTP request.
    Request,
    /// A chat completion.
    ChatCompletion,
    /// A message of a response.
    Message,
    /// A response of OpenAI's Responses API.
    Response,
    /// A function call requested by a response.
    FunctionCall,
    /// A user account.
    User,
    /// A service account.
    ServiceAccount,
    /// A login session.
    Session,
    /// A device.
    Device,
    /// A command sent to a device.
    Command,
    /// An incident.
    Incident,
    /// A CAP alert.
    Alert,
    /// A geofence.
    Geofence,
    /// A firmware image and its manifest.
    Artifact,
    /// A firmware rollout.
    Job,
    /// An event of the feed, unique across all channels.
    Event,
    /// A WebSocket connection.
    Connection,
    /// An entry of the audit log.
    Audit,
    /// An agent's task.
    Task,
    /// An entry of semantic memory.
    Memory,
    /// A kept medical conversation.
    Conversation,
    /// A stored picture.
    Image,
    /// A server: an installation with its own signing keys.
    Instance,
}

impl IdKind {
    /// Returns the prefix, without the underscore.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Team => "team",
            Self::Request => "req",
            // The prefix that the OpenAI API uses for completions; existing log queries depend on it.
            Self::ChatCompletion => "chatcmpl",
            Self::Message => "msg",
            Self::Response => "resp",
            Self::FunctionCall => "fc",
            Self::User => "usr",
            Self::ServiceAccount => "svc",
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
            Self::Task => "task",
            Self::Memory => "mem",
            // Connections and conversations never stand beside each other.
            Self::Conversation => "con",
            Self::Image => "img",
            Self::Instance => "ins",
        }
    }
}

/// Millisecond and sequence number of the newest identifier, which order the identifiers of this process.
static LAST: AtomicU64 = AtomicU64::new(0);
/// Number of bits for the sequence number within a millisecond.
const NUMBERS: u32 = 16;

/// Creates an identifier that sorts after every earlier one of this process, so that records keyed by identifier are in
/// the order of their creation. 64 of its bits are random.
pub fn new_id(kind: IdKind) -> String {
    let fresh = Ulid::generate();
    let now = fresh.timestamp_ms() << NUMBERS;
    let next = |last: u64| now.max(last.saturating_add(1));
    let last =
        LAST.fetch_update(Ordering::AcqRel, Ordering::Acquire, |last| Some(next(last))).unwrap_or_else(|last| last);
    let (stamp, number) = (next(last) >> NUMBERS, next(last) & ((1 << NUMBERS) - 1));
    let random = fresh.random() & u128::from(u64::MAX);
    format!("{}_{}", kind.prefix(), Ulid::from_parts(stamp, u128::from(number) << 64 | random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_increase_across_threads() {
        let made = |_| (0..2_000).map(|_| new_id(IdKind::Event)).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|n| std::thread::spawn(move || made(n))).collect();
        let mut all = Vec::new();
        for thread in threads {
            let one = thread.join().unwrap();
            assert!(one.is_sorted(), "each thread's own are in order");
            all.extend(one);
        }
        let after = new_id(IdKind::Event);
        assert!(all.iter().all(|id| *id < after && id.len() == "evt_".len() + 26));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 8_000, "all identifiers are distinct");
    }
}
