//! Identifiers: a type prefix, `_`, a ULID (26 characters, sortable by time).

use std::sync::atomic::{AtomicU64, Ordering};

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
    /// An agent's run.
    Task,
    /// An entry of semantic memory.
    Memory,
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
            Self::Task => "task",
            Self::Memory => "mem",
        }
    }
}

/// The newest identifier's millisecond and its number within that, which orders identifiers of one process.
static LAST: AtomicU64 = AtomicU64::new(0);
/// Identifiers of one millisecond that are told apart by number.
const NUMBERS: u32 = 16;

/// A new identifier: greater than each that this process made before, so that what is kept by identifier is kept in the
/// order in which it happened. 64 of its bits are random.
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
    fn identifiers_follow_one_another_over_threads() {
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
        assert_eq!(all.len(), 8_000, "and no two are one");
    }
}
