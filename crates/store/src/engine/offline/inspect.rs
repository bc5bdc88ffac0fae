//! Looking a store or a backup through: every record is read, its checksum and its version compared.

use std::path::Path;

use serde::Serialize;

use super::{Folder, journals};
use crate::crash::contained;
use crate::engine::open;
use crate::engine::recover::Damage;
use crate::engine::tables::Engine;
use crate::files::hex;
use crate::snapshot::{Item, SnapshotReader};
use crate::{Migration, Rec, StoreError, Tree};

/// At most so many problems are named; what is beyond is counted.
const MAX_NAMED: usize = 100;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Inspection {
    /// Every tree, in a fixed order.
    pub trees: Vec<TreeCount>,
    /// Journals whose entries are not in the records yet.
    pub journals: Vec<JournalFile>,
    /// What is wrong, for people; empty where everything holds.
    pub problems: Vec<String>,
}

/// A tree's whole records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TreeCount {
    pub tree: &'static str,
    pub records: u64,
    /// Of the values.
    pub bytes: u64,
    /// 0 where there is no record.
    pub newest_schema: u16,
}

/// A file of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JournalFile {
    /// `journal/file`
    pub name: String,
    pub bytes: u64,
}

impl Folder {
    /// Reads the whole store.
    ///
    /// # Errors
    /// `Io`: the folder cannot be read. What is wrong with the store itself is in the answer.
    pub fn inspect(&self) -> Result<Inspection, StoreError> {
        let mut tally = Tally::new(&self.options.migrations);
        tally.found.journals = journals::list(&self.options.path);
        match open::open_whole(&self.options) {
            Ok(engine) => tally.engine(&engine)?,
            Err(Damage::Lossy { engine, why }) => {
                tally.problem(why);
                tally.engine(&engine)?;
            }
            Err(Damage::Unreadable(why)) => tally.problem(why),
            Err(Damage::Refused(error)) => return Err(error),
        }
        Ok(tally.told())
    }
}

/// Reads a whole backup. `migrations`: those of the program that would open it.
///
/// # Errors
/// `Io`: the file cannot be read. What is wrong with it is in the answer.
pub fn inspect_file(path: &Path, migrations: &[Migration]) -> Result<Inspection, StoreError> {
    let mut tally = Tally::new(migrations);
    match tally.file(path) {
        Err(error @ StoreError::Io(_)) => return Err(error),
        Err(StoreError::Corrupt(why)) => tally.problem(why),
        Err(other) => tally.problem(other.to_string()),
        Ok(()) => {}
    }
    Ok(tally.told())
}

struct Tally<'a> {
    migrations: &'a [Migration],
    found: Inspection,
    unnamed: usize,
}

impl<'a> Tally<'a> {
    fn new(migrations: &'a [Migration]) -> Self {
        let empty = |tree: Tree| TreeCount { tree: tree.name(), records: 0, bytes: 0, newest_schema: 0 };
        let found = Inspection { trees: Tree::ALL.into_iter().map(empty).collect(), ..Inspection::default() };
        Self { migrations, found, unnamed: 0 }
    }

    fn file(&mut self, path: &Path) -> Result<(), StoreError> {
        let mut items = SnapshotReader::open(path)?;
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
            let read = contained("verify", || {
                for item in table.iter() {
                    let (key, raw) = item.map_err(|e| engine.fault(e))?;
                    match engine.load(*tree, &key, &raw) {
                        Ok(rec) => self.record(*tree, &key, &rec),
                        Err(why) => self.problem(format!("{}/{}: {why}", tree.name(), hex(&key))),
                    }
                }
                Ok(())
            });
            // Past an unreadable page the rest of its tree cannot be told apart from lost.
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
        let known = self.migrations.iter().filter(|m| m.tree == tree).map(|m| m.to).max().unwrap_or(1);
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

    fn told(mut self) -> Inspection {
        if self.unnamed > 0 {
            self.found.problems.push(format!("and {} more", self.unnamed));
        }
        self.found
    }
}
