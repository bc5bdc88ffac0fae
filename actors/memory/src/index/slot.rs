//! A slot: the collections of some owners, and what its next checkpoint must write. Reads no clock.

use std::collections::{BTreeMap, BTreeSet};

use muster_store::StoreError;

use super::shard_context::ShardContext;
use crate::checkpoint::{FileEntry, PartKey, Restored, SlotNumber, SlotSave};
use crate::port::{Applied, AppliedKind};
use crate::record::{Change, EntryId, EntryRecord, Owner, Space};
use crate::stored;
use muster_retrieval::{Collection, Document, Language};

/// Collections of some owners.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) number: SlotNumber,
    pub(super) collections: BTreeMap<Space, Collection>,
    /// Last change applied to it.
    pub(super) changed: u64,
    /// Spaces with entries that may lack a vector.
    pub(super) missing_vectors: BTreeSet<Space>,
    /// Spaces whose vector graph may be incomplete.
    pub(super) building: BTreeSet<Space>,
    /// State of its checkpoint.
    pub(super) saved: Saved,
    /// Spaces that differ from the checkpoint.
    pub(super) touched: BTreeSet<Space>,
}

/// Checkpoint of a slot.
#[derive(Debug, Clone, Default)]
pub(super) struct Saved {
    /// Last change contained; `None` if there is no checkpoint.
    pub(super) through: Option<u64>,
    pub(super) files: BTreeMap<PartKey, FileEntry>,
    pub(super) placed: BTreeMap<Space, PartKey>,
}

/// A checkpoint being written.
#[derive(Debug)]
pub(super) struct Underway {
    through: u64,
    placed: BTreeMap<Space, PartKey>,
    touched: BTreeSet<Space>,
}

impl Slot {
    pub(super) fn new(number: SlotNumber) -> Self {
        Self {
            number,
            collections: BTreeMap::new(),
            changed: 0,
            missing_vectors: BTreeSet::new(),
            building: BTreeSet::new(),
            saved: Saved::default(),
            touched: BTreeSet::new(),
        }
    }

    /// Creates a slot from its checkpoint.
    pub(super) fn restored(number: SlotNumber, restored: Restored) -> Self {
        let mut slot = Self::new(number);
        slot.changed = restored.through;
        slot.saved = Saved { through: Some(restored.through), files: restored.files, placed: BTreeMap::new() };
        for (space, part, collection) in restored.collections {
            slot.missing_vectors.insert(space.clone());
            slot.building.insert(space.clone());
            slot.saved.placed.insert(space.clone(), part);
            slot.collections.insert(space, collection);
        }
        slot
    }

    /// Applies a change, unless it is already applied: changes arrive in order.
    pub(super) fn apply(&mut self, applied: &Applied, shard_context: &ShardContext) {
        if applied.seq <= self.changed {
            return;
        }
        match &applied.kind {
            AppliedKind::Put(record) => {
                self.put(record, shard_context);
                // The store's record decides: the index may attribute more to the text than the record does.
                if record.text_version < record.version
                    && let Err(error) = self.stored_vector(record, shard_context)
                {
                    tracing::warn!(%error, "a vector cannot be read: it is computed again");
                }
            }
            AppliedKind::Vector { space, id, model, vector, .. } => {
                if **model == *shard_context.model.id {
                    self.vector(space, *id, vector);
                }
            }
            AppliedKind::Deleted { space, id } => self.remove(space, *id),
            AppliedKind::OwnerDeleted { owner } => self.forget(owner),
        }
        self.changed = applied.seq;
    }

    /// Applies a change read from the store, unless it is already applied. Its entry is read in its current version,
    /// which may be newer; later changes then find it applied.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) fn replay(&mut self, seq: u64, change: &Change, shard_context: &ShardContext) -> Result<(), StoreError> {
        if seq <= self.changed {
            return Ok(());
        }
        match change {
            Change::Put { place, id, .. } | Change::Vector { place, id, .. } => {
                match stored::entry(&shard_context.store, place)?.filter(|record| record.id == *id) {
                    Some(record) => {
                        self.put(&record, shard_context);
                        self.stored_vector(&record, shard_context)?;
                    }
                    // A later change deletes it.
                    None => self.remove(&place.space, *id),
                }
            }
            Change::Deleted { place, id } => self.remove(&place.space, *id),
            Change::OwnerDeleted { owner } => self.forget(owner),
        }
        self.changed = seq;
        Ok(())
    }

    /// Inserts an entry, unless a later version is present; an expired one is removed.
    pub(super) fn put(&mut self, record: &EntryRecord, shard_context: &ShardContext) {
        let space = &record.place.space;
        if record.expired(shard_context.now()) {
            return self.remove(space, record.id);
        }
        if let Some(known) = self.collections.get(space)
            && known.version(record.id.0).is_some_and(|version| version >= record.version)
        {
            return;
        }
        self.touch(space);
        self.missing_vectors.insert(space.clone());
        self.collections.entry(space.clone()).or_insert_with(|| shard_context.collection()).put(&document(record));
    }

    /// Inserts the vector of the present entry.
    fn vector(&mut self, space: &Space, id: EntryId, vector: &[f32]) {
        let Some(collection) = self.collections.get_mut(space) else { return };
        let Some(version) = collection.version(id.0) else { return };
        if collection.put_vector(id.0, version, vector) {
            self.building.insert(space.clone());
            self.touch(space);
        }
    }

    /// Inserts the stored vector of an entry, if it is valid and of the current model.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) fn stored_vector(
        &mut self,
        record: &EntryRecord,
        shard_context: &ShardContext,
    ) -> Result<(), StoreError> {
        let is_valid = |vector: &crate::VectorRecord| {
            vector.model == shard_context.model.id
                && vector.dimensions() == shard_context.model.dimensions
                && record.is_vector_valid(vector.version)
        };
        if let Some(stored) = stored::vector(&shard_context.store, record.id)?.filter(is_valid) {
            self.vector(&record.place.space, record.id, &stored.vector);
        }
        Ok(())
    }

    fn remove(&mut self, space: &Space, id: EntryId) {
        let Some(collection) = self.collections.get_mut(space) else { return };
        if !collection.remove(id.0) {
            return;
        }
        if collection.is_empty() {
            self.collections.remove(space);
            self.missing_vectors.remove(space);
            self.building.remove(space);
        }
        self.touch(space);
    }

    fn forget(&mut self, owner: &Owner) {
        for space in self.spaces_of(owner) {
            self.collections.remove(&space);
            self.missing_vectors.remove(&space);
            self.building.remove(&space);
            self.touch(&space);
        }
    }

    fn touch(&mut self, space: &Space) {
        if !self.touched.contains(space) {
            self.touched.insert(space.clone());
        }
    }

    /// Returns an owner's spaces, in the order of their names.
    pub(super) fn of_owner<'a>(&'a self, owner: &'a Owner) -> impl Iterator<Item = (&'a Space, &'a Collection)> {
        let first = Space::new(owner.clone(), "");
        self.collections.range(first..).take_while(move |(space, _)| space.owner == *owner)
    }

    fn spaces_of(&self, owner: &Owner) -> Vec<Space> {
        self.of_owner(owner).map(|(space, _)| space.clone()).collect()
    }

    /// Notes that its checkpoint no longer exists.
    pub(super) fn lose_checkpoint(&mut self) {
        self.saved = Saved::default();
    }

    /// Returns whether a checkpoint has something to write.
    pub(super) fn dirty(&self) -> bool {
        self.saved.through.is_none() || !self.touched.is_empty()
    }

    /// Prepares a checkpoint of the current state, up to that change, and the state to restore should it fail: the set
    /// of changed spaces is taken.
    pub(super) fn save(&mut self, through: u64, model: &str) -> (SlotSave, Underway) {
        let touched = std::mem::take(&mut self.touched);
        let part_of = |space: &Space| Some(PartKey::of(space, self.collections.get(space)?.len()));
        let before = touched.iter().filter_map(|space| self.saved.placed.get(space).cloned());
        let anew: BTreeSet<PartKey> = before.chain(touched.iter().filter_map(part_of)).collect();
        let mut keep = self.saved.files.clone();
        keep.retain(|part, _| !anew.contains(part));
        let (mut write, mut placed) = (BTreeMap::<PartKey, Vec<(Space, Collection)>>::new(), BTreeMap::new());
        for (space, collection) in &self.collections {
            let part = PartKey::of(space, collection.len());
            if !keep.contains_key(&part) {
                write.entry(part.clone()).or_default().push((space.clone(), collection.clone()));
            }
            placed.insert(space.clone(), part);
        }
        let write = write.into_iter().collect();
        let save = SlotSave { slot: self.number, through, model: model.to_owned(), keep, write };
        (save, Underway { through, placed, touched })
    }

    /// Records that a checkpoint was written.
    pub(super) fn saved(&mut self, underway: Underway, files: BTreeMap<PartKey, FileEntry>) {
        self.saved = Saved { through: Some(underway.through), files, placed: underway.placed };
    }

    /// Restores the set of changed spaces after a failed checkpoint.
    pub(super) fn not_saved(&mut self, underway: Underway) {
        self.touched.extend(underway.touched);
    }
}

fn document(record: &EntryRecord) -> Document<'_> {
    let millis = |at: muster_core::Millis| i64::try_from(at.0).unwrap_or(i64::MAX);
    Document {
        id: record.id.0,
        version: record.version,
        key: record.key(),
        value: &record.value,
        tags: &record.tags,
        thread: record.thread.as_deref(),
        stored_at: millis(record.stored_at),
        expires_at: record.expires_at.map(millis),
        importance: record.importance.unwrap_or(Document::IMPORTANCE),
        language: record.language.as_deref().and_then(Language::from_tag),
    }
}
