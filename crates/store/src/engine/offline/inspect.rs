//! Inspects a store or a backup: every record is read, and its checksum and schema version are checked.

use serde::Serialize;

use super::{DataFolder, journals};
use crate::crash::catch_panics;
use crate::engine::open;
use crate::engine::recover::Damage;
use crate::engine::tables::Engine;
use crate::files::hex;
use crate::snapshot::{BackupSource, Item, SnapshotReader};
use crate::{Migration, Rec, StoreError, Tree};

/// Maximum number of problems that are listed; further ones are only counted.
const MAX_NAMED: usize = 100;

/// Result of an inspection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Inspection {
    /// Record counts of every tree, in a fixed order.
    pub trees: Vec<TreeCount>,
    /// Journals whose entries are not merged into the records yet.
    pub journals: Vec<JournalFile>,
    /// Descriptions of the problems found; empty if there are none.
    pub problems: Vec<String>,
}

/// Counts over the intact records of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TreeCount {
    /// Name of the tree.
    pub tree: &'static str,
    /// Number of intact records.
    pub records: u64,
    /// Total size of the values.
    pub bytes: u64,
    /// Newest schema version; 0 if there is no record.
    pub newest_schema: u16,
}

/// A file of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JournalFile {
    /// Name in the form `journal/file`.
    pub name: String,
    /// Total size of the values, in bytes.
    pub bytes: u64,
}

impl DataFolder {
    /// Reads the whole store.
    ///
    /// # Errors
    ///
    /// `Io`: the folder cannot be read. Problems of the store itself are part of the result.
    pub fn inspect(&self) -> Result<Inspection, StoreError> {
        let mut builder = InspectionBuilder::new(&self.options.migrations);
        builder.found.journals = journals::list(&self.options.path);
        match open::open_verified(&self.options) {
            Ok(engine) => builder.engine(&engine)?,
            Err(Damage::Lossy { engine, why }) => {
                builder.problem(why);
                builder.engine(&engine)?;
            }
            Err(Damage::Unreadable(why)) => builder.problem(why),
            Err(Damage::Refused(error)) => return Err(error),
        }
        Ok(builder.finish())
    }
}

/// Reads a whole backup. `migrations` are those of the program that would open it.
///
/// # Errors
///
/// `Io`: the backup cannot be read. Problems of its content are part of the result.
pub fn inspect_backup(source: &dyn BackupSource, migrations: &[Migration]) -> Result<Inspection, StoreError> {
    let mut builder = InspectionBuilder::new(migrations);
    match builder.backup(source) {
        Err(error @ StoreError::Io(_)) => return Err(error),
        Err(StoreError::Corrupt(why)) => builder.problem(why),
        Err(other) => builder.problem(other.to_string()),
        Ok(()) => {}
    }
    Ok(builder.finish())
}

/// Takes a record of a backup: its tree, its key, the record.
pub type TakeRecord<'a> = dyn FnMut(Tree, &[u8], &Rec) -> Result<(), StoreError> + 'a;

/// Passes every record of a backup to `take`, in the order of the file: by tree, and within a tree by key.
///
/// # Errors
/// The backup is damaged or cannot be read, or the error of `take`. What was passed before is not trustworthy then.
pub fn read_backup(source: &dyn BackupSource, take: &mut TakeRecord<'_>) -> Result<(), StoreError> {
    let mut items = SnapshotReader::of(source)?;
    while let Some(item) = items.next_item()? {
        if let Item::Record(tree, key, rec) = item {
            take(tree, &key, &rec)?;
        }
    }
    Ok(())
}

struct InspectionBuilder<'a> {
    migrations: &'a [Migration],
    found: Inspection,
    unnamed: usize,
}

impl<'a> InspectionBuilder<'a> {
    fn new(migrations: &'a [Migration]) -> Self {
        let empty = |tree: Tree| TreeCount { tree: tree.name(), records: 0, bytes: 0, newest_schema: 0 };
        let found = Inspection { trees: Tree::ALL.into_iter().map(empty).collect(), ..Inspection::default() };
        Self { migrations, found, unnamed: 0 }
    }

    fn backup(&mut self, source: &dyn BackupSource) -> Result<(), StoreError> {
        let mut items = SnapshotReader::of(source)?;
        while let Some(item) = items.next_item()? {
            match item {
                Item::Record(tree, key, rec) => self.record(tree, &key, &rec),
                Item::Piece { name, bytes } => self.piece(name, bytes.len() as u64),
            }
        }
        Ok(())
    }

    fn piece(&mut self, name: String, bytes: u64) {
        match self.found.journals.last_mut().filter(|file| file.name == name) {
            Some(file) => file.bytes += bytes,
            None => self.found.journals.push(JournalFile { name, bytes }),
        }
    }

    fn engine(&mut self, engine: &Engine) -> Result<(), StoreError> {
        for (tree, table) in &engine.handles()?.trees {
            let read = catch_panics("verify", || {
                for item in table.iter() {
                    let (key, raw) = item.map_err(|e| engine.fault(e))?;
                    match engine.load(*tree, &key, &raw) {
                        Ok(rec) => self.record(*tree, &key, &rec),
                        Err(why) => self.problem(format!("{}/{}: {why}", tree.name(), hex(&key))),
                    }
                }
                Ok(())
            });
            // Past an unreadable page, the remaining records of the tree cannot be distinguished from lost ones.
            if let Err(why) = read {
                self.problem(format!("{}/: {why}", tree.name()));
            }
        }
        Ok(())
    }

    fn record(&mut self, tree: Tree, key: &[u8], rec: &Rec) {
        if let Some(count) = self.found.trees.iter_mut().find(|count| count.tree == tree.name()) {
            count.records += 1;
            count.bytes += rec.bytes.len() as u64;
            count.newest_schema = count.newest_schema.max(rec.schema);
        }
        let known = self.migrations.iter().filter(|m| m.tree == tree).map(|m| m.to).max();
        let known = known.unwrap_or(1).max(tree.newest_schema());
        if rec.schema > known {
            let newer = StoreError::NewerSchema { found: rec.schema, known };
            self.problem(format!("{}/{}: {newer}", tree.name(), hex(key)));
        }
    }

    fn problem(&mut self, why: String) {
        if self.found.problems.len() < MAX_NAMED {
            self.found.problems.push(why);
        } else {
            self.unnamed += 1;
        }
    }

    fn finish(mut self) -> Inspection {
        if self.unnamed > 0 {
            self.found.problems.push(format!("and {} more", self.unnamed));
        }
        self.found
    }
}
