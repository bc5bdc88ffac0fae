//! Replaces the content of a data folder by a backup.
//!
//! The new engine is built as `restore.tmp`, renamed to `replace.ready` when it is complete, and takes its place by
//! renames that the next start can finish: as long as `live` exists, the old store is valid; once `live` has been moved
//! away, the new one is. Everything that belonged to the old store (journals, snapshots) is set aside with it: entries
//! of another store's journal, or a later snapshot of another store, must not reappear in this one.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{DataFolder, Progress, compact, inspect_backup, journals};
use crate::engine::bulk_load::BulkLoader;
use crate::engine::open::{LIVE, SNAPSHOTS};
use crate::engine::recover::BUILDING;
use crate::files::{self, io_at};
use crate::snapshot::{BackupSource, Item, SnapshotReader};
use crate::{StoreError, Tree};

const READY: &str = "replace.ready";
/// Note in the new engine's folder, until the replacement is done: the folder that receives the old store.
const SET_ASIDE_NOTE: &str = "replaced-to";
/// Folder in the new engine's folder, until the replacement is done: the journals of the backup.
const BACKUP_JOURNALS: &str = "journals";

/// What to do with a store that exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplacePolicy {
    /// Fail, unless it is empty.
    Never,
    /// Move it aside, complete.
    SetAside,
}

/// How to restore a backup.
#[derive(Debug, Clone, Copy)]
pub struct RestoreOptions<'a> {
    /// What to do with a store that exists already.
    pub replace: ReplacePolicy,
    /// Trees whose records stay behind: the restored store has none of them.
    pub without: &'a [Tree],
}

/// Result of a restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RestoreReport {
    /// Number of restored records.
    pub records: u64,
    /// New location of the previous store; `None` if it was empty.
    pub set_aside: Option<PathBuf>,
}

impl DataFolder {
    /// Restores a backup. The whole file is verified first. A crash leaves either the old store or the new one.
    ///
    /// # Errors
    ///
    /// - `Corrupt`: the file is damaged.
    /// - `BadRequest`: the folder contains a store and `replace` is `Never`, or the file is of a newer program.
    ///
    /// The folder is left unchanged in both cases.
    pub fn restore(
        &self,
        from: &dyn BackupSource,
        how: RestoreOptions<'_>,
        progress: Progress<'_>,
    ) -> Result<RestoreReport, StoreError> {
        let found = inspect_backup(from, &self.options.migrations)?;
        if let Some(why) = found.problems.first() {
            return Err(StoreError::Corrupt(why.clone()));
        }
        let folder = &self.options.path;
        let holds = self.holds_something();
        if holds && how.replace == ReplacePolicy::Never {
            return Err(StoreError::BadRequest(format!(
                "{} contains a store already: pass --force to set it aside (it is not deleted)",
                folder.display()
            )));
        }
        let building = folder.join(BUILDING);
        let records = self.build(&building, from, how.without, progress)?;
        let aside = format!("replaced-{}", files::utc_stamp());
        let note = building.join(SET_ASIDE_NOTE);
        files::write_atomic(&note, |to| to.write_all(aside.as_bytes()).map_err(|e| io_at(&note, &e)))?;
        files::sync_dir(&building)?;
        files::rename(&building, &folder.join(READY))?;
        let aside = folder.join(aside);
        if self.live().exists() {
            files::create_dir(&aside)?;
            files::rename(&self.live(), &aside.join(LIVE))?;
        }
        finish(folder)?;
        if holds {
            return Ok(RestoreReport { records, set_aside: Some(aside) });
        }
        files::remove_dir(&aside)?;
        Ok(RestoreReport { records, set_aside: None })
    }

    /// Returns whether the folder contains any data. What cannot be read counts as data.
    fn holds_something(&self) -> bool {
        let beside = !journals::list(&self.options.path).is_empty()
            || !files::entries(&self.options.path.join(SNAPSHOTS)).is_empty();
        let records = || match self.whole() {
            Ok(engine) => {
                let is_empty = |tree: &(Tree, sled::Tree)| tree.0 == Tree::Meta || tree.1.is_empty();
                !engine.handles().is_ok_and(|handles| handles.trees.iter().all(is_empty))
            }
            Err(_) => true,
        };
        beside || (self.live().exists() && records())
    }

    fn build(
        &self,
        building: &Path,
        from: &dyn BackupSource,
        without: &[Tree],
        progress: Progress<'_>,
    ) -> Result<u64, StoreError> {
        let engine = self.fresh(building)?;
        let mut items = SnapshotReader::of(from)?;
        let group = items.group();
        let mut filler = BulkLoader::new(&engine);
        let journals_dir = building.join(BACKUP_JOURNALS);
        while let Some(item) = items.next_item()? {
            match item {
                Item::Record(tree, ..) if without.contains(&tree) => {}
                Item::Record(tree, key, rec) => progress(filler.put(tree, key, rec)?),
                Item::Piece { name, bytes } => {
                    files::create_dir(&journals_dir)?;
                    journals::put(&journals_dir, &name, &bytes)?;
                }
            }
        }
        filler.restored();
        filler.finish(group)
    }
}

/// Finishes an interrupted replacement from any point and removes its leftovers.
pub(in crate::engine) fn finish(folder: &Path) -> Result<(), StoreError> {
    let (live, ready) = (folder.join(LIVE), folder.join(READY));
    if ready.is_dir() && !live.exists() {
        let note = ready.join(SET_ASIDE_NOTE);
        let aside = fs::read_to_string(&note).map_err(|e| io_at(&note, &e))?;
        let aside = folder.join(aside.trim());
        for beside in journals::JOURNALS.into_iter().chain([journals::FEED, SNAPSHOTS]) {
            let path = folder.join(beside);
            if path.exists() {
                files::create_dir(&aside)?;
                files::rename(&path, &aside.join(beside))?;
            }
        }
        files::rename(&ready, &live)?;
    }
    files::remove_dir(&ready)?;
    for journal in files::entries(&live.join(BACKUP_JOURNALS)) {
        if let Some(name) = journal.file_name() {
            files::rename(&journal, &folder.join(name))?;
        }
    }
    files::remove_dir(&live.join(BACKUP_JOURNALS))?;
    let note = live.join(SET_ASIDE_NOTE);
    if note.exists() {
        fs::remove_file(&note).map_err(|e| io_at(&note, &e))?;
    }
    compact::sweep(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, Options, PlainFile, Rec, SledStore, Store};

    fn put(folder: &Path, key: &str) {
        put_in(Tree::Keys, folder, key);
    }

    fn put_in(tree: Tree, folder: &Path, key: &str) {
        let store = SledStore::open(Options::new(folder)).unwrap().store;
        let rec = Rec { schema: 1, bytes: key.into() };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.commit(Batch::put(tree, key, rec))).unwrap();
        store.close();
    }

    fn has(folder: &Path, key: &str) -> bool {
        SledStore::open(Options::new(folder)).unwrap().store.get(Tree::Keys, key.as_bytes()).unwrap().is_some()
    }

    fn has_session(folder: &Path) -> bool {
        SledStore::open(Options::new(folder)).unwrap().store.get(Tree::Sessions, b"one").unwrap().is_some()
    }

    /// A folder with `old` in it, a journal and a snapshot, and beside it a new engine with the journal of its backup.
    fn before_the_swap() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("data");
        put(&folder, "old");
        let other = home.path().join("other");
        put(&other, "new");
        fs::rename(other.join(LIVE), folder.join(READY)).unwrap();
        fs::write(folder.join(READY).join(SET_ASIDE_NOTE), "replaced-x").unwrap();
        let places =
            [("replace.ready/journals/ledger", "new"), ("ledger", "old"), ("feed", "old"), ("snapshots", "old")];
        for (place, what) in places {
            fs::create_dir_all(folder.join(place)).unwrap();
            fs::write(folder.join(place).join("1"), what).unwrap();
        }
        (home, folder)
    }

    fn assert_replaced(folder: &Path) {
        assert!(has(folder, "new") && !has(folder, "old"));
        assert_eq!(fs::read_to_string(folder.join("ledger/1")).unwrap(), "new");
        assert_eq!(fs::read_to_string(folder.join("replaced-x/ledger/1")).unwrap(), "old");
        assert_eq!(fs::read_to_string(folder.join("replaced-x/snapshots/1")).unwrap(), "old");
        assert_eq!(fs::read_to_string(folder.join("replaced-x/feed/1")).unwrap(), "old");
        assert!(!folder.join("feed").exists());
        assert!(has(&folder.join("replaced-x"), "old"));
        for path in ["replace.ready", "live/journals", "live/replaced-to"] {
            assert!(!folder.join(path).exists(), "{path}");
        }
    }

    #[test]
    fn each_restore_writes_a_new_mark_and_leaves_out_what_it_is_not_to_restore() {
        let home = tempfile::tempdir().unwrap();
        let (from, file) = (home.path().join("from"), home.path().join("backup"));
        put(&from, "one");
        put_in(Tree::Sessions, &from, "one");
        let marks = ["first", "second"].map(|to| {
            let source = DataFolder::lock(Options::new(&from)).unwrap();
            source.backup(&mut fs::File::create(&file).unwrap(), &mut |_| {}).unwrap();
            let to = home.path().join(to);
            let folder = DataFolder::lock_or_create(Options::new(&to)).unwrap();
            let how = RestoreOptions { replace: ReplacePolicy::Never, without: &[Tree::Sessions] };
            folder.restore(&PlainFile(file.clone()), how, &mut |_| {}).unwrap();
            drop((source, folder));
            assert!(has(&to, "one") && !has_session(&to));
            let mark = |folder: &Path| {
                SledStore::open(Options::new(folder)).unwrap().store.get(Tree::Meta, crate::RESTORE_MARK).unwrap()
            };
            assert_eq!(mark(&from), None, "taking a backup writes no mark");
            mark(&to).expect("a restored store has a mark")
        });
        assert_ne!(marks[0], marks[1]);
    }

    #[test]
    fn the_old_engine_stays_valid_until_it_is_moved_away() {
        let (_home, folder) = before_the_swap();
        assert!(has(&folder, "old") && !has(&folder, "new"));
        assert_eq!(fs::read_to_string(folder.join("ledger/1")).unwrap(), "old");
        assert!(!folder.join(READY).exists());
    }

    #[test]
    fn the_next_start_finishes_a_replacement_interrupted_at_any_step() {
        type Step = fn(&Path);
        let steps: [Step; 5] = [
            |folder| fs::rename(folder.join("ledger"), folder.join("replaced-x/ledger")).unwrap(),
            |folder| fs::rename(folder.join("feed"), folder.join("replaced-x/feed")).unwrap(),
            |folder| fs::rename(folder.join("snapshots"), folder.join("replaced-x/snapshots")).unwrap(),
            |folder| fs::rename(folder.join(READY), folder.join(LIVE)).unwrap(),
            |folder| fs::rename(folder.join("live/journals/ledger"), folder.join("ledger")).unwrap(),
        ];
        for crash in 0..=steps.len() {
            let (_home, folder) = before_the_swap();
            fs::create_dir(folder.join("replaced-x")).unwrap();
            fs::rename(folder.join(LIVE), folder.join("replaced-x").join(LIVE)).unwrap();
            steps[..crash].iter().for_each(|step| step(&folder));
            assert_replaced(&folder);
        }
    }
}
