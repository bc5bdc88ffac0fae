//! Reads from the engine, and makes its writes durable.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::handles::{Handles, fault};
use crate::appended::{DurableLengths, Lengths};
use crate::blobs::Blobs;
use crate::crash::catch_panics;
use crate::envelope::{self, BlobId, StoredValue};
use crate::files::{self, hex, io_at};
use crate::range::{Paging, key_range};
use crate::{Durability, Order, Page, Rec, Scan, StoreError, Tree, VerifyReport};

/// Key of the last group's number, in the tree of marks.
const GROUP: &[u8] = b"group";
/// Maximum number of corrupt records that a report lists.
const MAX_NAMED: usize = 100;

/// sled, the large values beside it, and the file that `sync_data` syncs.
#[derive(Debug)]
pub(crate) struct Engine {
    /// `None` only while the engine is being dropped.
    handles: Option<Handles>,
    pub(super) blobs: Blobs,
    db_file: File,
    dir: PathBuf,
    durability: Durability,
    /// Lengths of the trees with numbered records. Changed by whoever applies batches: one thread.
    lengths: Mutex<Lengths>,
    pub(super) durable: DurableLengths,
}

impl Engine {
    /// Opens sled and the large values in a folder, and makes the files created by that durable.
    pub(super) fn open(dir: &Path, cache_bytes: u64, durability: Durability) -> Result<Self, StoreError> {
        let handles = Handles::open(dir, cache_bytes)?;
        let refs = handles.refs.clone();
        // In case of an error the file is kept.
        let is_referenced =
            move |id: &BlobId| catch_panics("refs", || Ok(refs.scan_prefix(id).next().is_some())).unwrap_or(true);
        let blobs = Blobs::open(dir.join("blobs.d"), durability, is_referenced)?;
        let db = dir.join("db");
        let db_file = File::options().read(true).write(true).open(&db).map_err(|e| io_at(&db, &e))?;
        for path in files::entries(dir).into_iter().filter(|path| path.is_file()) {
            File::open(&path).and_then(|file| file.sync_all()).map_err(|e| io_at(&path, &e))?;
        }
        files::sync_dir(dir)?;
        let (dir, durable) = (dir.to_owned(), DurableLengths::new(Lengths::default()));
        let engine =
            Self { handles: Some(handles), blobs, db_file, dir, durability, lengths: Mutex::default(), durable };
        engine.sync_engine()?;
        let last = |tree| {
            catch_panics("last", || engine.table(tree)?.last().map_err(|e| engine.fault(e)))
                .map(|last| last.map(|(key, _)| key.to_vec()))
        };
        engine.set_lengths(Lengths::read(last)?);
        engine.publish_lengths();
        Ok(engine)
    }

    pub(super) fn handles(&self) -> Result<&Handles, StoreError> {
        self.handles.as_ref().ok_or_else(|| StoreError::Io("the store is closed".into()))
    }

    pub(super) fn table(&self, tree: Tree) -> Result<&sled::Tree, StoreError> {
        let table = self.handles()?.trees.iter().find(|(name, _)| *name == tree);
        table.map(|(_, table)| table).ok_or_else(|| StoreError::Io(format!("no tree {}", tree.name())))
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn fault(&self, error: sled::Error) -> StoreError {
        fault(&self.dir, error)
    }

    pub(super) fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Rec>, StoreError> {
        let raw = catch_panics("get", || self.table(tree)?.get(key).map_err(|e| self.fault(e)))?;
        raw.map(|raw| self.load(tree, key, &raw)).transpose()
    }

    pub(super) fn scan(&self, tree: Tree, scan: &Scan, limit: usize) -> Result<Page, StoreError> {
        let Some(range) = key_range(scan) else {
            return Ok(Page::default());
        };
        catch_panics("scan", || {
            let mut keys = self.table(tree)?.range(range);
            let mut page = Paging::new(limit);
            loop {
                let item = match scan.order {
                    Order::Ascending => keys.next(),
                    Order::Descending => keys.next_back(),
                };
                let Some(item) = item else {
                    return Ok(page.done());
                };
                let (key, raw) = item.map_err(|e| self.fault(e))?;
                if !page.accepts(&key) {
                    return Ok(page.done());
                }
                let rec = self.load(tree, &key, &raw)?;
                page.push(key.to_vec(), rec);
            }
        })
    }

    /// Visits every record, tree by tree, in the order of the keys.
    pub(super) fn for_each(
        &self,
        mut visit: impl FnMut(Tree, &[u8], Rec) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        catch_panics("read all", || {
            for (tree, table) in &self.handles()?.trees {
                for item in table.iter() {
                    let (key, raw) = item.map_err(|e| self.fault(e))?;
                    visit(*tree, &key, self.load(*tree, &key, &raw)?)?;
                }
            }
            Ok(())
        })
    }

    pub(super) fn verify(&self) -> Result<VerifyReport, StoreError> {
        let mut report = VerifyReport::default();
        for (tree, table) in &self.handles()?.trees {
            let found = catch_panics("verify", || {
                for item in table.iter() {
                    let (key, raw) = item.map_err(|e| self.fault(e))?;
                    report.records += 1;
                    match self.load(*tree, &key, &raw) {
                        Ok(rec) => report.bytes += rec.bytes.len() as u64,
                        Err(why) => name(&mut report, format!("{}/{}: {why}", tree.name(), hex(&key))),
                    }
                }
                Ok(())
            });
            // Past an unreadable page, the remaining records of the tree cannot be distinguished from lost ones: the
            // report contains it, and the next tree is read.
            if let Err(why) = found {
                name(&mut report, format!("{}/: {why}", tree.name()));
            }
        }
        Ok(report)
    }

    pub(super) fn load(&self, tree: Tree, key: &[u8], raw: &[u8]) -> Result<Rec, StoreError> {
        let sealed = envelope::unseal(tree, key, raw)?;
        let bytes = match sealed.body {
            StoredValue::Inline(bytes) => bytes,
            StoredValue::Blob(id) => self.blobs.read(&id)?,
        };
        Ok(Rec { schema: sealed.schema, bytes })
    }

    /// Returns the number of the last group that the engine contains.
    pub(super) fn group(&self) -> Result<u64, StoreError> {
        let raw = catch_panics("group", || self.handles()?.marks.get(GROUP).map_err(|e| self.fault(e)))?;
        let Some(raw) = raw else { return Ok(0) };
        let bytes = raw
            .as_ref()
            .try_into()
            .map_err(|_| StoreError::Corrupt("the number of the last group is malformed".into()))?;
        Ok(u64::from_be_bytes(bytes))
    }

    /// Writes the group's number. The engine preserves the order of its log, so an engine that contains the number
    /// contains the whole group.
    pub(super) fn mark(&self, group: u64) -> Result<(), StoreError> {
        let value = group.to_be_bytes();
        catch_panics("mark", || self.handles()?.marks.insert(GROUP, &value).map_err(|e| self.fault(e)))?;
        Ok(())
    }

    pub(super) fn lengths(&self) -> Lengths {
        *self.lengths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_lengths(&self, lengths: Lengths) {
        *self.lengths.lock().unwrap_or_else(PoisonError::into_inner) = lengths;
    }

    /// Publishes the lengths, which are durable now.
    pub(super) fn publish_lengths(&self) {
        self.durable.publish(self.lengths());
    }

    /// Passes all writes to the operating system: they now survive the end of the process.
    pub(super) fn flush(&self) -> Result<(), StoreError> {
        catch_panics("flush", || self.handles()?.db.flush().map_err(|e| self.fault(e)))?;
        Ok(())
    }

    /// Makes flushed writes survive a power cut. sled's own flush does not: it never syncs the file's length.
    pub(super) fn sync_data(&self) -> Result<(), StoreError> {
        if self.durability == Durability::ProcessEnd {
            return Ok(());
        }
        self.db_file.sync_data().map_err(|e| io_at(&self.dir.join("db"), &e))
    }

    pub(super) fn sync_engine(&self) -> Result<(), StoreError> {
        self.flush()?;
        self.sync_data()
    }

    pub(super) fn bytes_on_disk(&self) -> u64 {
        self.db_file.metadata().map_or(0, |meta| meta.len()) + self.blobs.bytes()
    }

    /// Returns the number of files that sled spilled on its own.
    pub(super) fn spilled(&self) -> u64 {
        fs::read_dir(self.dir.join("blobs")).map_or(0, |entries| entries.count() as u64)
    }
}

fn name(report: &mut VerifyReport, corrupt: String) {
    if report.corrupt.len() < MAX_NAMED {
        report.corrupt.push(corrupt);
    }
}

#[cfg(test)]
impl Engine {
    /// Makes every further sync fail: a pipe cannot be synced (`EINVAL`).
    pub(super) fn break_sync(&mut self) {
        let (_, pipe) = std::io::pipe().unwrap();
        self.db_file = File::from(std::os::fd::OwnedFd::from(pipe));
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(handles) = self.handles.take() {
            handles.release();
        }
    }
}
