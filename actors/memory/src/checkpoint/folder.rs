//! Folder of checkpoint files. All operations block.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use muster_retrieval::Collection;
use sha2::{Digest, Sha256};

use super::identity::Identity;
use super::part::{self, FileEntry, List, PartHead, PartKey};
use super::partition::SlotNumber;
use crate::record::Space;

/// Folder of quarantined files.
const QUARANTINE: &str = "aside";
/// Maximum number of quarantined files; older ones are removed.
const MAX_QUARANTINED: usize = 16;
const BUFFER: usize = 256 << 10;

/// Checkpoints of one store.
#[derive(Debug, Clone)]
pub(crate) struct Checkpoints {
    path: PathBuf,
    store: Identity,
}

/// A slot loaded from a checkpoint.
#[derive(Debug)]
pub(crate) struct Restored {
    /// Last change contained in it.
    pub(crate) through: u64,
    pub(crate) files: BTreeMap<PartKey, FileEntry>,
    pub(crate) collections: Vec<(Space, PartKey, Collection)>,
}

/// A slot to be written to a checkpoint.
#[derive(Debug)]
pub(crate) struct SlotSave {
    pub(crate) slot: SlotNumber,
    pub(crate) through: u64,
    pub(crate) model: String,
    /// Files of the previous checkpoint that are still valid.
    pub(crate) keep: BTreeMap<PartKey, FileEntry>,
    /// Files to be written.
    pub(crate) write: Vec<(PartKey, Vec<(Space, Collection)>)>,
}

impl Checkpoints {
    /// Opens the checkpoints of a store in a folder, which is created if necessary.
    pub(crate) fn open(path: &Path, store: Identity) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path.join(QUARANTINE))?;
        sync(path)?;
        if let Some(parent) = path.parent().filter(|parent| parent.is_dir()) {
            sync(parent)?;
        }
        Ok(Self { path: path.to_owned(), store })
    }

    /// Loads a slot; `None` if there is no valid checkpoint with vectors of this model. An invalid one is quarantined.
    /// `last` is the store's last change: a checkpoint beyond it belongs to another store.
    pub(crate) fn load(&self, slot: SlotNumber, model: &str, last: u64) -> Option<Restored> {
        let list = match self.list(slot) {
            Ok(Some(list)) => list,
            Ok(None) => {
                self.remove_unlisted(slot, &BTreeSet::new());
                return None;
            }
            Err(error) => return self.quarantine(slot, &format!("{}: {error}", list_name(slot))),
        };
        if list.store != self.store || list.slot != slot || list.through > last {
            return self.quarantine(slot, "it is of another store");
        }
        if list.model != model {
            return None;
        }
        let mut collections = Vec::new();
        for (part, entry) in &list.files {
            match self.part(slot, part, entry) {
                Ok(found) => collections.extend(found.into_iter().map(|(space, it)| (space, part.clone(), it))),
                Err(error) => return self.quarantine(slot, &format!("{}: {error}", entry.name)),
            }
        }
        self.remove_unlisted(slot, &list.files.iter().map(|(_, entry)| entry.name.clone()).collect());
        Some(Restored { through: list.through, files: list.files.into_iter().collect(), collections })
    }

    /// Writes a slot's checkpoint durably and removes what it replaces. `is_wanted` is called before it replaces the
    /// previous one; if it returns false, the previous one stays.
    ///
    /// # Errors
    /// The disk failed, or the checkpoint is no longer needed (`Interrupted`).
    pub(crate) fn save(
        &self,
        save: SlotSave,
        is_wanted: &dyn Fn() -> bool,
    ) -> io::Result<BTreeMap<PartKey, FileEntry>> {
        let mut files = save.keep;
        for (part, collections) in save.write {
            let head = PartHead {
                store: self.store,
                slot: save.slot,
                part,
                spaces: collections.iter().map(|(space, _)| space.clone()).collect(),
            };
            let name = part_name(save.slot, &head.part, save.through);
            self.write(&name, |to| part::write(to, &head, &collections))?;
            let length = fs::metadata(self.path.join(&name))?.len();
            files.insert(head.part, FileEntry { name, length });
        }
        sync(&self.path)?;
        let list = List {
            store: self.store,
            slot: save.slot,
            through: save.through,
            model: save.model,
            files: files.iter().map(|(part, entry)| (part.clone(), entry.clone())).collect(),
        };
        if !is_wanted() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the shard has died meanwhile"));
        }
        self.write(&list_name(save.slot), |to| list.write(to))?;
        sync(&self.path)?;
        self.remove_unlisted(save.slot, &files.values().map(|entry| entry.name.clone()).collect());
        Ok(files)
    }

    /// Removes a slot's checkpoint, so that its collections are rebuilt at the next start.
    pub(crate) fn remove(&self, slot: SlotNumber) -> io::Result<()> {
        match fs::remove_file(self.path.join(list_name(slot))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => sync(&self.path)?,
        }
        self.remove_unlisted(slot, &BTreeSet::new());
        sync(&self.path)
    }

    /// Removes quarantined files.
    pub(crate) fn empty_quarantine(&self) -> io::Result<()> {
        for path in entries(&self.path.join(QUARANTINE)) {
            fs::remove_file(path)?;
        }
        sync(&self.path.join(QUARANTINE))
    }

    fn list(&self, slot: SlotNumber) -> io::Result<Option<List>> {
        match File::open(self.path.join(list_name(slot))) {
            Ok(file) => List::read(BufReader::new(file)).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn part(&self, slot: SlotNumber, part: &PartKey, entry: &FileEntry) -> io::Result<Vec<(Space, Collection)>> {
        let bad = |why| io::Error::new(io::ErrorKind::InvalidData, why);
        if entry.name.contains(['/', '\\']) {
            return Err(bad("its name leads elsewhere"));
        }
        let file = File::open(self.path.join(&entry.name))?;
        if file.metadata()?.len() != entry.length {
            return Err(bad("its length is not the one of the list"));
        }
        let (head, collections) = part::read(BufReader::with_capacity(BUFFER, file))?;
        if head.store != self.store || head.slot != slot || head.part != *part {
            return Err(bad("it is another file"));
        }
        Ok(collections)
    }

    /// Quarantines a slot's files. Files that cannot be moved are removed: they must not be loaded again.
    fn quarantine(&self, slot: SlotNumber, why: &str) -> Option<Restored> {
        tracing::warn!(slot = slot.0, why, "a checkpoint of the memory's index is quarantined");
        for path in self.of_slot(slot) {
            let Some(name) = path.file_name() else { continue };
            if fs::rename(&path, self.path.join(QUARANTINE).join(name)).is_err() {
                remove(&path);
            }
        }
        let mut quarantined = entries(&self.path.join(QUARANTINE));
        quarantined.sort_by_key(|path| fs::metadata(path).and_then(|it| it.modified()).ok());
        let most = quarantined.len().saturating_sub(MAX_QUARANTINED);
        quarantined.iter().take(most).for_each(|path| remove(path));
        None
    }

    /// Removes files of a slot that its list does not name.
    fn remove_unlisted(&self, slot: SlotNumber, named: &BTreeSet<String>) {
        let list = list_name(slot);
        for path in self.of_slot(slot) {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if name != list && !named.contains(&name) {
                remove(&path);
            }
        }
    }

    fn of_slot(&self, slot: SlotNumber) -> Vec<PathBuf> {
        let (list, parts) = (format!("s{:02x}.", slot.0), format!("s{:02x}-", slot.0));
        let is_of = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            path.is_file() && (name.starts_with(&list) || name.starts_with(&parts))
        };
        entries(&self.path).into_iter().filter(is_of).collect()
    }

    /// Writes a file atomically. The caller syncs the folder.
    fn write(&self, name: &str, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let (path, temporary) = (self.path.join(name), self.path.join(format!("{name}.tmp")));
        let options = File::options().write(true).create(true).truncate(true).mode(0o600).open(&temporary);
        let written = options.and_then(|file| {
            let mut out = BufWriter::with_capacity(BUFFER, file);
            fill(&mut out)?;
            out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            fs::rename(&temporary, &path)
        });
        if written.is_err() {
            remove(&temporary);
        }
        written
    }
}

fn list_name(slot: SlotNumber) -> String {
    format!("s{:02x}.toc", slot.0)
}

fn part_name(slot: SlotNumber, part: &PartKey, through: u64) -> String {
    match part {
        PartKey::Pack(pack) => format!("s{:02x}-p{pack:02x}-{through:016x}.idx", slot.0),
        PartKey::Own(space) => {
            let digest = Sha256::new_with_prefix(space.owner.as_str().as_bytes());
            let digest = digest.chain_update(b"\0").chain_update(space.namespace.as_bytes()).finalize();
            let tag = digest.iter().take(10).fold(String::new(), |tag, byte| tag + &format!("{byte:02x}"));
            format!("s{:02x}-n{tag}-{through:016x}.idx", slot.0)
        }
    }
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "could not remove a file");
    }
}
