//! The log in the data folder of a stopped server, verified against what was signed of it.

use std::collections::BTreeMap;
use std::path::Path;

use muster_core::Millis;
use muster_store::{StoreError, StoreHandle};
use muster_tlog::{Checkpoint, Edge, Hash, TileId, VerifierKey};

use crate::checkpoint_file::{CheckpointFile, LastLine};
use crate::import::RecordState;
use crate::keys::LogKeys;
use crate::marks::{LogMark, SignedMark, generation_of, parse_note};
use crate::tiles::{LogReader, WIDTH};
use crate::verify::{Verdict, VerifiedExport, VerifyOptions, compare_earlier};

/// The newest `after` of each record, with the number of its entry.
pub type NewestStates = BTreeMap<String, (u64, String)>;

/// A log that no server has open.
#[derive(Debug)]
pub struct OfflineLog {
    log: LogReader,
    /// Checkpoints that were signed last: in the file, and in the store.
    notes: Vec<(String, String)>,
    origin: String,
    vkeys: Vec<VerifierKey>,
    keys: Option<LogKeys>,
    damaged: Option<String>,
}

impl OfflineLog {
    /// Reads what belongs to the log of a data folder.
    ///
    /// # Errors
    /// Something cannot be read; the message says what.
    pub fn open(store: &StoreHandle, data: &Path) -> Result<Self, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let mark = LogMark::read(store).map_err(|error| text(&error))?;
        let origin =
            mark.as_ref().map(LogMark::origin).ok_or("this data folder has no audit log yet: start the server once")?;
        let keys = LogKeys::read(&data.join("signing")).map_err(|error| text(&error))?;
        let vkeys = keys.as_ref().map_or_else(|| Ok(Vec::new()), |keys| keys.vkeys(&origin));
        let vkeys = vkeys.map_err(|error| text(&error))?;
        let (_, last) = CheckpointFile::open(data).map_err(|error| text(&error))?;
        let (mut notes, mut damaged) = (Vec::new(), None);
        match last {
            LastLine::Line(line) => notes.push(("audit/checkpoints".to_owned(), line.note)),
            LastLine::Damaged(path) => damaged = Some(format!("the last line of {} is damaged", path.display())),
            LastLine::None => {}
        }
        if let Some(mark) = SignedMark::read(store).map_err(|error| text(&error))? {
            notes.push(("the checkpoint in the store".to_owned(), mark.note));
        }
        Ok(Self { log: LogReader::from(store), notes, origin, vkeys, keys, damaged })
    }

    /// Verifies the log. Keys that are given replace those of the data folder.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn verify(&self, mut options: VerifyOptions, records: &[RecordState]) -> Result<Verdict, StoreError> {
        if options.keys.is_empty() {
            options.keys.clone_from(&self.vkeys);
        }
        if options.origin.is_none() {
            options.origin = Some(self.origin.clone());
        }
        Ok(match self.checked(&options, records) {
            Ok(verified) => Verdict::Ok(verified),
            Err(Stopped::Verdict(verdict)) => verdict,
            Err(Stopped::Store(error)) => return Err(error),
        })
    }

    fn checked(&self, options: &VerifyOptions, records: &[RecordState]) -> Result<VerifiedExport, Stopped> {
        if let Some(damaged) = &self.damaged {
            return Err(Verdict::BadSignature(damaged.clone()).into());
        }
        let mut notes = Vec::new();
        let own = self.notes.iter().map(|(name, note)| (name.as_str(), note.as_bytes(), true));
        let kept = options.against.iter().map(|(name, note)| (name.as_str(), note.as_slice(), false));
        for (name, note, own) in own.chain(kept) {
            let checkpoint = options.open(note);
            // After a generation ended, the last note is of the former log until the next one is signed.
            if own && checkpoint.is_err() && self.is_of_former(note) {
                continue;
            }
            notes.push((name.to_owned(), checkpoint?));
        }
        let (edge, roots, newest) = self.read(&notes.iter().map(|(_, note)| note.size).collect::<Vec<_>>())?;
        let newest_note = notes.iter().map(|(_, note)| note).max_by_key(|note| note.size).cloned();
        for (name, note) in &notes {
            if note.size > edge.size() {
                let why = format!("{name} signs {} entries, the log has {}", note.size, edge.size());
                return Err(Verdict::TailMissing(why).into());
            }
            if let Some(newest) = &newest_note {
                let own = self.notes.iter().any(|(own, _)| own == name);
                compare_earlier(&roots, name, note, newest).map_err(|verdict| match verdict {
                    Verdict::Fork(why) if own => Verdict::RootMismatch(why),
                    verdict => verdict,
                })?;
            }
        }
        compare_records(records, &newest)?;
        let (size, root) = newest_note.map_or_else(|| (edge.size(), edge.root()), |note| (note.size, note.root));
        let (origin, signed) = (self.origin.clone(), !options.keys.is_empty() && !notes.is_empty());
        Ok(VerifiedExport { first: 0, end: edge.size(), size, origin, root, signed })
    }

    /// Returns whether a note is of an earlier generation, and signed by a key of this data folder.
    fn is_of_former(&self, note: &[u8]) -> bool {
        let Some(former) = std::str::from_utf8(note).ok().and_then(parse_note) else { return false };
        let earlier = generation_of(&former.origin) < generation_of(&self.origin);
        let known = self.keys.as_ref().and_then(|keys| keys.vkeys(&former.origin).ok()).unwrap_or_default();
        earlier && (known.is_empty() || Checkpoint::open(note, &former.origin, &known).is_ok())
    }

    /// Reads all entries: the tree, its roots at some sizes, and the newest state of each record. An entry that differs from
    /// the tiles is named.
    fn read(&self, sizes: &[u64]) -> Result<(Edge, BTreeMap<u64, Hash>, NewestStates), Stopped> {
        let (mut edge, mut roots, mut newest) = (Edge::new(), BTreeMap::new(), NewestStates::new());
        let mut tile: Option<(u64, Option<muster_tlog::Tile>)> = None;
        for found in self.log.entries(0) {
            let (seq, record) = match found {
                Err(StoreError::Corrupt(why)) => return Err(Verdict::AlteredAt(edge.size(), why).into()),
                found => found?,
            };
            let altered = |why: &str| Stopped::from(Verdict::AlteredAt(seq, why.to_owned()));
            let leaf = record.leaf().map_err(|error| altered(&error.to_string()))?;
            if !record.is_consistent().unwrap_or(false) {
                return Err(altered("salt and details are not those of the entry's commitment"));
            }
            let hash = Hash::of_leaf(record.leaf.as_bytes());
            let index = seq / WIDTH;
            if tile.as_ref().is_none_or(|(read, _)| *read != index) {
                tile = Some((index, self.log.stored(TileId { level: 0, index }).ok().flatten()));
            }
            let place = usize::try_from(seq % WIDTH).unwrap_or_default();
            let stored = tile.as_ref().and_then(|(_, tile)| tile.as_ref()?.hashes().get(place));
            if stored.is_some_and(|stored| *stored != hash) {
                return Err(altered("its leaf is not the one whose hash is in the tile"));
            }
            edge.append(hash).map_err(|error| altered(&error.to_string()))?;
            if sizes.contains(&edge.size()) {
                roots.insert(edge.size(), edge.root());
            }
            if let Some(after) = leaf.after {
                newest.insert(leaf.resource, (seq, after));
            }
        }
        Ok((edge, roots, newest))
    }
}

/// Compares what each record allows with its newest entry.
fn compare_records(records: &[RecordState], newest: &NewestStates) -> Result<(), Verdict> {
    for RecordState { resource, allows } in records {
        let expected =
            muster_core::audit::AuditEntry::new(Millis(0), "", "", "", serde_json::Value::Null).after(allows);
        match newest.get(resource) {
            // Nothing is allowed that an entry would have to say.
            None if allows.is_null() => {}
            None => return Err(Verdict::RecordDiffers(format!("no entry says what {resource} allows"))),
            Some((seq, after)) if Some(after) != expected.after.as_ref() => {
                let why = format!("{resource} allows something else than entry {seq} says");
                return Err(Verdict::RecordDiffers(why));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

enum Stopped {
    Verdict(Verdict),
    Store(StoreError),
}

impl From<Verdict> for Stopped {
    fn from(verdict: Verdict) -> Self {
        Self::Verdict(verdict)
    }
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
