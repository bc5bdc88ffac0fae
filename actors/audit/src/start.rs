//! The check at a start: whether the stored log is a continuation of what was signed last, and which generation goes on.

use std::path::{Path, PathBuf};

use muster_core::Millis;
use muster_core::audit::AuditEntry;
use muster_store::{Batch, RESTORE_MARK, StoreError, StoreHandle, Tree};
use muster_tlog::{Checkpoint, Hash, NoteError};
use serde_json::json;

use crate::checkpoint_file::{CheckpointFile, LastLine, Line};
use crate::keys::{LogKeyError, LogKeys};
use crate::marks::{LogMark, SignedMark, generation_of, origin, parse_note};
use crate::tiles::LogReader;

/// Why the server must not start with this log.
#[derive(Debug, thiserror::Error)]
pub enum LogRefusal {
    /// The stored log does not continue what was signed.
    #[error(
        "the audit log was altered or rolled back: {signed} was signed, and the store has {found}. If you know why, start with `muster serve --accept-rollback REASON`, which begins the next generation of the log"
    )]
    Rollback {
        /// What was signed last.
        signed: String,
        /// What the store has.
        found: String,
    },
    /// The last line of the file of checkpoints is none of it, or was signed by nobody known.
    #[error(
        "{}: the last checkpoint is damaged or not signed by this server ({why}). If you know why, start with `muster serve --accept-rollback REASON`", path.display()
    )]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The keys of the log cannot be used.
    #[error(transparent)]
    Keys(#[from] LogKeyError),
    /// The name of the log cannot be the name of a key.
    #[error("governance.name: {0}")]
    Name(#[from] muster_tlog::KeyError),
    /// A file cannot be read or written.
    #[error("the file of checkpoints: {0}")]
    File(#[from] std::io::Error),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a log is opened with.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Name of this server in the origin of the log.
    pub name: String,
    /// Why the operator accepts a log that does not continue what was signed.
    pub accept_rollback: Option<String>,
}

/// A log that may go on.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: CheckpointFile,
    pub(crate) mark: LogMark,
    /// Whether the file of checkpoints was lost.
    pub(crate) marks_lost: bool,
}

/// Why a generation ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Restored,
    RolledBack,
    KeysLost,
    Renamed,
}

impl Ending {
    const fn name(self) -> &'static str {
        match self {
            Self::Restored => "restored",
            Self::RolledBack => "rolled_back",
            Self::KeysLost => "keys_lost",
            Self::Renamed => "renamed",
        }
    }
}

/// Opens the log of a store. Blocking but for its writes.
pub(crate) async fn open(
    store: &StoreHandle,
    data: &Path,
    keys: &LogKeys,
    keys_created: bool,
    options: &OpenOptions,
    now: Millis,
) -> Result<Opened, LogRefusal> {
    // The name must be one of a key before anything is signed with it.
    keys.vkeys(&origin(&options.name, 1))?;
    let (file, last) = CheckpointFile::open(data)?;
    let log = LogReader::from(store);
    let restored = store.get(Tree::Meta, RESTORE_MARK)?.map(|rec| rec.bytes);
    let stored_mark = LogMark::read(store)?;
    let in_store = SignedMark::read(store)?.map(|mark| Line { at: mark.at, note: mark.note });
    let by_file = match &last {
        LastLine::Line(line) => Some(line.clone()),
        LastLine::None => None,
        LastLine::Damaged(path) if options.accept_rollback.is_none() => {
            return Err(LogRefusal::Checkpoint { path: path.clone(), why: "it is no line of this file".to_owned() });
        }
        LastLine::Damaged(_) => None,
    };
    let is_restored = stored_mark.as_ref().is_some_and(|mark| mark.restored != restored);
    let marks_lost = last == LastLine::None && in_store.is_some() && !is_restored;
    let newest = by_file.clone().or_else(|| in_store.clone());
    let mark = LogMark { name: options.name.clone(), generation: 1, restored };
    let Some(newest) = newest else {
        let mark = LogMark { generation: stored_mark.as_ref().map_or(1, |mark| mark.generation), ..mark };
        store.commit(Batch { ops: vec![mark.op()?], ..Batch::default() }).await?;
        return Ok(Opened { file, mark, marks_lost: false });
    };
    let checkpoint = match verified(&newest, keys, keys_created || is_restored) {
        Ok(checkpoint) => checkpoint,
        Err(why) if options.accept_rollback.is_none() => {
            return Err(LogRefusal::Checkpoint { path: data.join("audit/checkpoints"), why });
        }
        Err(_) => Checkpoint::new(origin(&options.name, 1), 0, Hash::of_empty_tree()),
    };
    let continues = differences(&log, &checkpoint, in_store.as_ref(), stored_mark.as_ref())?;
    let ending = match (&continues, &options.accept_rollback) {
        _ if is_restored => Some(Ending::Restored),
        (Some(found), None) => {
            return Err(LogRefusal::Rollback { signed: described(&checkpoint), found: found.clone() });
        }
        (Some(_), Some(_)) => Some(Ending::RolledBack),
        (None, _) if matches!(last, LastLine::Damaged(_)) => Some(Ending::RolledBack),
        (None, _) if keys_created => Some(Ending::KeysLost),
        (None, _) if stored_mark.as_ref().is_some_and(|stored| stored.name != options.name) => Some(Ending::Renamed),
        (None, _) => None,
    };
    let generations = [
        stored_mark.as_ref().map(|mark| mark.generation),
        generation_of(&checkpoint.origin),
        in_store.as_ref().and_then(|line| generation_of(&parse_note(&line.note)?.origin)),
    ];
    let generation = generations.into_iter().flatten().max().unwrap_or(1);
    let Some(ending) = ending else {
        let mark = LogMark { generation, ..mark };
        let mut ops = vec![mark.op()?];
        if marks_lost {
            let entry = AuditEntry::new(now, "system", "audit.marks_lost", &described(&checkpoint), json!({}));
            ops.push(entry.op()?);
        }
        store.commit(Batch { ops, ..Batch::default() }).await?;
        return Ok(Opened { file, mark, marks_lost });
    };
    let mark = LogMark { generation: generation.saturating_add(1), ..mark };
    let details = json!({
        "cause": ending.name(), "origin": mark.origin(), "found": continues, "reason": options.accept_rollback,
    });
    // The resource, which is never erased, names the checkpoint with which the former generation ended.
    let entry = AuditEntry::new(now, "system", "log.generation_begun", &described(&checkpoint), details);
    store.commit(Batch { ops: vec![mark.op()?, entry.op()?], ..Batch::default() }).await?;
    tracing::warn!(cause = ending.name(), origin = mark.origin(), "the next generation of the audit log begins");
    Ok(Opened { file, mark, marks_lost })
}

/// Reads the last checkpoint. Its signature is not of a known key where the keys were lost, or the store is another
/// server's.
fn verified(line: &Line, keys: &LogKeys, any_key: bool) -> Result<Checkpoint, String> {
    let checkpoint = parse_note(&line.note).ok_or("it is no checkpoint")?;
    if any_key {
        return Ok(checkpoint);
    }
    let known = keys.vkeys(&checkpoint.origin).map_err(|error| error.to_string())?;
    let opened = Checkpoint::open(line.note.as_bytes(), &checkpoint.origin, &known);
    opened.map(|opened| opened.checkpoint).map_err(|error| match error {
        muster_tlog::CheckpointError::Note(NoteError::Unsigned) => {
            "it is signed by none of this server's keys".to_owned()
        }
        error => error.to_string(),
    })
}

/// Compares the stored log with what was signed of it. Returns what differs.
fn differences(
    log: &LogReader,
    signed: &Checkpoint,
    in_store: Option<&Line>,
    mark: Option<&LogMark>,
) -> Result<Option<String>, StoreError> {
    if let Some(mark) = mark
        && generation_of(&signed.origin).is_some_and(|generation| generation > mark.generation)
    {
        return Ok(Some(format!("a log of the generation {}", mark.origin())));
    }
    let inner = in_store.and_then(|line| parse_note(&line.note));
    for checkpoint in [Some(signed), inner.as_ref()].into_iter().flatten() {
        let length = log.length();
        if checkpoint.size > length {
            return Ok(Some(format!("{length} entries")));
        }
        let root = root(log, checkpoint.size)?;
        if root != checkpoint.root {
            return Ok(Some(format!("another root of its first {} entries: {root}", checkpoint.size)));
        }
    }
    Ok(None)
}

/// The root of the first entries.
pub(crate) fn root(log: &LogReader, size: u64) -> Result<Hash, StoreError> {
    Ok(log.edge(size)?.root())
}

fn described(checkpoint: &Checkpoint) -> String {
    format!("{} size {} root {}", checkpoint.origin, checkpoint.size, checkpoint.root)
}
