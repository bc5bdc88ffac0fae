//! Verifies an export: entries, tree, signature, and earlier checkpoints that somebody kept. `scripts/verify_audit.py`
//! does the same and shares no code.

mod leaves;
mod line;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, BufRead, Read};

use muster_tlog::{Checkpoint, Hash, Note, NoteError, VerifierKey};
use serde_json::{Map, Value};

use leaves::Leaves;
use line::{LineContent, MAX_LINE};

/// Lines that are verified at one time.
const BATCH: usize = 4_096;

/// What an export, or a data folder, turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Everything is as it was signed.
    Ok(VerifiedExport),
    /// An entry is not the one that was logged, or is not at its place.
    AlteredAt(u64, String),
    /// Entries at the end are missing.
    TailMissing(String),
    /// The entries do not lead to the signed root.
    RootMismatch(String),
    /// The checkpoint is not signed by a given key.
    BadSignature(String),
    /// Two signed histories contradict each other.
    Fork(String),
    /// A record allows something else than its newest entry says.
    RecordDiffers(String),
}

impl Verdict {
    /// Returns whether everything is as it was signed.
    #[must_use]
    pub const fn is_ok(&self) -> bool {
        matches!(self, Self::Ok(_))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok(verified) => write!(f, "ok: {verified}"),
            Self::AlteredAt(seq, why) => write!(f, "altered at {seq}: {why}"),
            Self::TailMissing(why) => write!(f, "tail missing: {why}"),
            Self::RootMismatch(why) => write!(f, "root mismatch: {why}"),
            Self::BadSignature(why) => write!(f, "bad signature: {why}"),
            Self::Fork(why) => write!(f, "fork: {why}"),
            Self::RecordDiffers(why) => write!(f, "record differs from its entry: {why}"),
        }
    }
}

/// What was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedExport {
    /// Number of the first entry.
    pub first: u64,
    /// Number behind the last entry.
    pub end: u64,
    /// Size that the checkpoint signs.
    pub size: u64,
    /// The log.
    pub origin: String,
    /// Root that the checkpoint signs.
    pub root: Hash,
    /// Whether a signature was verified.
    pub signed: bool,
}

impl fmt::Display for VerifiedExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.end - self.first)?;
        if self.first != 0 || self.end != self.size {
            write!(f, " of {}", self.size)?;
        }
        write!(f, " entries of {}, root {}", self.origin, self.root)?;
        if self.signed { Ok(()) } else { f.write_str(", SIGNATURE NOT CHECKED") }
    }
}

/// What an export is verified against.
#[derive(Debug, Clone, Default)]
pub struct VerifyOptions {
    /// Keys of the log; without any, no signature is checked.
    pub keys: Vec<VerifierKey>,
    /// The log that it must be; by default the name of the first key.
    pub origin: Option<String>,
    /// Number of the first entry, for a part of a log.
    pub first: u64,
    /// Whether entries may follow that are not in the export.
    pub part: bool,
    /// Earlier checkpoints, each with a name for messages.
    pub against: Vec<(String, Vec<u8>)>,
}

impl VerifyOptions {
    fn origin(&self) -> Option<&str> {
        self.origin.as_deref().or_else(|| self.keys.first().map(VerifierKey::name))
    }

    /// Reads a checkpoint that one of the keys signed; any, if there are none.
    pub(crate) fn open(&self, note: &[u8]) -> Result<Checkpoint, Verdict> {
        let bad = |why: String| Verdict::BadSignature(why);
        let checkpoint = if self.keys.is_empty() {
            let note = Note::parse(note).map_err(|error| bad(error.to_string()))?;
            note.text().parse::<Checkpoint>().map_err(|error| bad(error.to_string()))?
        } else {
            let parsed = Note::parse(note).map_err(|error| bad(error.to_string()))?;
            parsed.verify(&self.keys).map_err(|error| match error {
                NoteError::Unsigned => bad("no signature of the checkpoint is of a given key".to_owned()),
                error => bad(error.to_string()),
            })?;
            parsed.text().parse::<Checkpoint>().map_err(|error| bad(error.to_string()))?
        };
        match self.origin() {
            Some(origin) if checkpoint.origin != origin => {
                Err(bad(format!("the checkpoint is of the log {}, not of {origin}", checkpoint.origin)))
            }
            _ => Ok(checkpoint),
        }
    }
}

/// Verifies an export.
///
/// # Errors
/// The export cannot be read.
pub fn verify_export(from: impl BufRead, options: &VerifyOptions) -> io::Result<Verdict> {
    let checked = verify(from, options);
    match checked {
        Ok(verified) => Ok(Verdict::Ok(verified)),
        Err(Failure::Verdict(verdict)) => Ok(verdict),
        Err(Failure::Io(error)) => Err(error),
    }
}

enum Failure {
    Verdict(Verdict),
    Io(io::Error),
}

impl From<Verdict> for Failure {
    fn from(verdict: Verdict) -> Self {
        Self::Verdict(verdict)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn verify(from: impl BufRead, options: &VerifyOptions) -> Result<VerifiedExport, Failure> {
    let mut notes = Vec::new();
    for (name, note) in &options.against {
        notes.push((name, options.open(note)?));
    }
    let wanted = notes.iter().map(|(_, note)| note.size).collect();
    let export = read(from, options.first, &wanted)?;
    let Some(last) = &export.last else {
        let why = match export.end.checked_sub(1).filter(|_| export.end > options.first) {
            Some(entry) => format!("the export ends after entry {entry} without a checkpoint"),
            None => "the export has neither entries nor a checkpoint".to_owned(),
        };
        return Err(Verdict::TailMissing(why).into());
    };
    let known = |name: &String| matches!(name.as_str(), "checkpoint" | "before" | "after");
    let note = last.get("checkpoint").and_then(Value::as_str).filter(|_| last.keys().all(known));
    let note = note.ok_or_else(|| Verdict::BadSignature("the last line is no checkpoint".to_owned()))?;
    let checkpoint = options.open(note.as_bytes())?;
    compare(&export, last, &checkpoint, options)?;
    for (name, earlier) in notes {
        compare_earlier(&export.roots, name, &earlier, &checkpoint)?;
    }
    let Checkpoint { origin, size, root, .. } = checkpoint;
    let (first, end, signed) = (options.first, export.end, !options.keys.is_empty());
    Ok(VerifiedExport { first, end, size, origin, root, signed })
}

/// Compares a log with an earlier checkpoint of it. `roots` has its root at the size of that checkpoint.
pub(crate) fn compare_earlier(
    roots: &BTreeMap<u64, Hash>,
    name: &str,
    earlier: &Checkpoint,
    checkpoint: &Checkpoint,
) -> Result<(), Verdict> {
    if earlier.origin != checkpoint.origin {
        return Err(Verdict::Fork(format!("{name} is of the log {}", earlier.origin)));
    }
    if earlier.size > checkpoint.size {
        return Err(Verdict::TailMissing(format!(
            "{name} signs {} entries, the export has {}",
            earlier.size, checkpoint.size
        )));
    }
    match roots.get(&earlier.size) {
        _ if earlier.size == 0 => Ok(()),
        None => Err(Verdict::RootMismatch(format!(
            "{name} signs {} entries: export the log from entry 0 to compare",
            earlier.size
        ))),
        Some(root) if *root != earlier.root => {
            Err(Verdict::Fork(format!("{name} signs other entries before number {}", earlier.size)))
        }
        Some(_) => Ok(()),
    }
}

/// What was read of an export.
struct ReadExport {
    leaves: Leaves,
    /// Number behind the last entry.
    end: u64,
    /// Roots at the sizes of earlier checkpoints.
    roots: BTreeMap<u64, Hash>,
    last: Option<Map<String, Value>>,
}

fn read(mut from: impl BufRead, first: u64, wanted: &BTreeSet<u64>) -> Result<ReadExport, Failure> {
    let mut export = ReadExport { leaves: Leaves::default(), end: first, roots: BTreeMap::new(), last: None };
    loop {
        let lines = read_lines(&mut from)?;
        if lines.is_empty() {
            return Ok(export);
        }
        for content in check_lines(&lines, export.end) {
            if export.last.is_some() {
                return Err(Verdict::AlteredAt(export.end, "lines follow the checkpoint".to_owned()).into());
            }
            match content {
                LineContent::Entry(hash) => {
                    export.leaves.push(0, export.end, hash);
                    export.end += 1;
                    if first == 0
                        && wanted.contains(&export.end)
                        && let Some(root) = export.leaves.root(export.end)
                    {
                        export.roots.insert(export.end, root);
                    }
                }
                LineContent::Last(last) => export.last = Some(last),
                LineContent::Altered(why) => return Err(Verdict::AlteredAt(export.end, why).into()),
            }
        }
    }
}

fn read_lines(from: &mut impl BufRead) -> io::Result<Vec<Vec<u8>>> {
    let mut lines = Vec::new();
    while lines.len() < BATCH {
        let mut line = Vec::new();
        // A longer line is cut, and so is no JSON.
        let read = from.take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        lines.push(line);
    }
    Ok(lines)
}

/// Checks lines on all processors. Each line is expected to have the number of its place.
fn check_lines(lines: &[Vec<u8>], first: u64) -> Vec<LineContent> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = lines.len().div_ceil(threads).max(1);
    let numbered = lines.chunks(share).enumerate().map(|(place, lines)| (first + (place * share) as u64, lines));
    std::thread::scope(|scope| {
        let checking: Vec<_> = numbered
            .map(|(start, lines)| {
                scope.spawn(move || (start..).zip(lines).map(|(seq, line)| line::check(line, seq)).collect::<Vec<_>>())
            })
            .collect();
        let gone = || vec![LineContent::Altered("it could not be checked".to_owned())];
        checking.into_iter().flat_map(|checked| checked.join().unwrap_or_else(|_| gone())).collect()
    })
}

fn compare(
    export: &ReadExport,
    last: &Map<String, Value>,
    checkpoint: &Checkpoint,
    options: &VerifyOptions,
) -> Result<(), Verdict> {
    let (first, end, size) = (options.first, export.end, checkpoint.size);
    if end > size {
        return Err(Verdict::AlteredAt(size.max(first), format!("the checkpoint signs {size} entries")));
    }
    let before = leaves::beside(last.get("before"), 0, first);
    let after = leaves::beside(last.get("after").filter(|_| options.part), end, size);
    if after.is_none() && end < size {
        let why = format!("the checkpoint signs {size} entries, the export ends before {end}");
        return Err(Verdict::TailMissing(why));
    }
    let (Some(before), Some(after)) = (before, after) else {
        let why = "the hashes beside the exported entries do not fit their numbers".to_owned();
        return Err(Verdict::RootMismatch(why));
    };
    let mut whole = Leaves::default();
    for (height, start, hash) in before.into_iter().chain(export.leaves.subtrees()).chain(after) {
        whole.push(height, start, hash);
    }
    if whole.root(size) == Some(checkpoint.root) {
        return Ok(());
    }
    let why = "entries were altered together with their leaves, or the checkpoint is of another log";
    Err(Verdict::RootMismatch(why.to_owned()))
}
