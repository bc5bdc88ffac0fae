//! An append-only journal in a folder of its own, for what must survive `kill -9` at once and be merged into the store
//! later.
//!
//! An append is one `write(2)` by its caller: when it returns, the frame outlives the process. A power cut is survived
//! by what [`Journal::sync`] was called for. Every frame has a number; numbers only grow, also over restarts and lost
//! files: each opening begins a new span of them, and a new file, so that nothing is ever written behind a torn frame.
//!
//! One reader may follow: what is appended from then on is handed to it in order, without a file in between.

mod frame;
mod segment;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::segment::{Active, Closed};
use crate::StoreError;
use crate::files::{create_dir, io_at, sync_dir};

pub use frame::{Frames, MAX_FRAME};

/// Numbers of one opening: 2^32.
const SPAN: u32 = 32;
/// More frames than a file holds: the newest file may reach so far beyond its name.
const IN_A_FILE: u64 = 1 << 24;
/// Most bytes of waiting frames in one write.
const CHUNK: usize = 256 << 10;

/// Bounds of a journal.
#[derive(Debug, Clone)]
pub struct JournalOptions {
    /// A file this long is followed by the next, in bytes (at most 64 MiB).
    pub segment_bytes: u64,
    /// Most frames that wait in memory while the disk takes none.
    pub waiting: usize,
    /// Most bytes that a follower may lag behind.
    pub tail_bytes: usize,
}

impl Default for JournalOptions {
    fn default() -> Self {
        Self { segment_bytes: 4 << 20, waiting: 100_000, tail_bytes: 32 << 20 }
    }
}

/// What became of a frame that was to be kept in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    Written(u64),
    /// The disk took nothing: it waits in memory, and is written by the next append or sync that succeeds.
    Waiting(u64),
    /// As many wait already as may.
    Lost,
}

/// Where a follower begins.
#[derive(Debug)]
pub struct Followed {
    /// Names the follower: a later one takes its place.
    pub follower: u64,
    /// The last number that it is not handed.
    pub through: u64,
    /// Frames up to there that wait for the disk, so that no file has them.
    pub waiting: Vec<u8>,
}

/// What a replay met.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Replayed {
    pub frames: u64,
    /// Bytes behind the first torn frame of a file, over all files.
    pub torn_bytes: u64,
}

/// Figures for status and metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JournalStats {
    pub bytes: u64,
    pub files: usize,
    /// Number of the last frame.
    pub last: u64,
    /// Frames in memory that no file has.
    pub waiting: usize,
    /// Frames refused for good since the opening.
    pub lost: u64,
}

/// A journal. Shared by all who append.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    options: JournalOptions,
    started: u64,
    inner: Mutex<Inner>,
    /// One sync after the other: who finds nothing to do may rely on it.
    syncs: Mutex<()>,
}

#[derive(Debug)]
struct Inner {
    closed: Vec<Closed>,
    active: Option<Active>,
    last: u64,
    waiting: VecDeque<(u64, Vec<u8>)>,
    lost: u64,
    follower: u64,
    /// What the follower was not handed yet; `None` where nobody follows, or lagged.
    tail: Option<Vec<u8>>,
    scratch: Vec<u8>,
    /// Written since the last sync, also files that are closed meanwhile.
    unsynced: Vec<Arc<File>>,
    dirty: bool,
    folder_dirty: bool,
}

impl Journal {
    /// Opens a folder, made where it is absent. Numbers begin above `above` and above all that stand in the folder.
    ///
    /// # Errors
    /// `Io` where the folder cannot be made or read.
    pub fn open(folder: &Path, above: u64, options: JournalOptions) -> Result<Self, StoreError> {
        create_dir(folder)?;
        let closed = segment::found(folder)?;
        let newest = closed.last().map_or(0, |segment| segment.first.saturating_add(IN_A_FILE));
        let started = ((newest.max(above) >> SPAN) + 1) << SPAN;
        let inner = Inner {
            closed,
            active: None,
            last: started - 1,
            waiting: VecDeque::new(),
            lost: 0,
            follower: 0,
            tail: None,
            scratch: Vec::new(),
            unsynced: Vec::new(),
            dirty: false,
            folder_dirty: false,
        };
        Ok(Self { folder: folder.to_owned(), options, started, inner: Mutex::new(inner), syncs: Mutex::default() })
    }

    /// The first number of this opening.
    pub fn started(&self) -> u64 {
        self.started
    }

    /// Appends a frame and returns its number. Blocking, for one write without a sync.
    ///
    /// # Errors
    /// `BadRequest` for a payload that is empty or over [`MAX_FRAME`]; `Io` where the disk takes nothing: the frame is
    /// then in no file and never will be.
    pub fn append(&self, payload: &[u8]) -> Result<u64, StoreError> {
        check(payload)?;
        let mut inner = self.lock();
        self.write_waiting(&mut inner)?;
        let number = inner.prepare(payload);
        inner.write(number, self)?;
        inner.accept(number, self.options.tail_bytes);
        Ok(number)
    }

    /// Appends a frame; where the disk takes nothing it waits in memory.
    pub fn keep(&self, payload: &[u8]) -> Kept {
        let mut inner = self.lock();
        if let Err(error) = check(payload) {
            return inner.lose(&error);
        }
        let number = inner.prepare(payload);
        // Order: nothing overtakes what waits.
        let written = if inner.waiting.is_empty() { inner.write(number, self) } else { Err(StoreError::Busy) };
        if let Err(error) = written {
            if inner.waiting.len() >= self.options.waiting {
                return inner.lose(&error);
            }
            if inner.waiting.is_empty() {
                tracing::error!(%error, "journal not written: entries wait in memory");
            }
            let frame = inner.scratch.clone();
            inner.waiting.push_back((number, frame));
            inner.accept(number, self.options.tail_bytes);
            return Kept::Waiting(number);
        }
        inner.accept(number, self.options.tail_bytes);
        Kept::Written(number)
    }

    /// Makes what was appended survive a power cut. Blocking. Appends go on meanwhile.
    ///
    /// # Errors
    /// `Io` where the disk does not take it; it is tried again by the next call.
    pub fn sync(&self) -> Result<(), StoreError> {
        let _turn = self.syncs.lock().unwrap_or_else(PoisonError::into_inner);
        let (files, folder, waiting) = {
            let mut inner = self.lock();
            // What waits does not keep the rest from being synced.
            let waiting = self.write_waiting(&mut inner);
            if !std::mem::take(&mut inner.dirty) {
                return waiting;
            }
            let mut files = std::mem::take(&mut inner.unsynced);
            files.extend(inner.active.as_ref().map(|active| Arc::clone(&active.file)));
            (files, std::mem::take(&mut inner.folder_dirty), waiting)
        };
        let synced = files.iter().try_for_each(|file| file.sync_data()).map_err(|e| io_at(&self.folder, &e));
        let synced = synced.and_then(|()| if folder { sync_dir(&self.folder) } else { Ok(()) });
        if synced.is_err() {
            let mut inner = self.lock();
            inner.unsynced.extend(files);
            inner.dirty = true;
            inner.folder_dirty |= folder;
        }
        synced.and(waiting)
    }

    /// Whether anything was appended since the last sync, or waits.
    pub fn dirty(&self) -> bool {
        let inner = self.lock();
        inner.dirty || !inner.waiting.is_empty()
    }

    /// Ends the present file, so that it can be forgotten as a whole.
    pub fn rotate(&self) {
        self.lock().retire();
    }

    /// Frees everything up to this number: files that hold nothing beyond it go. Blocking: removes files.
    pub fn forget(&self, through: u64) {
        let gone: Vec<Closed> = {
            let mut inner = self.lock();
            while inner.waiting.front().is_some_and(|(number, _)| *number <= through) {
                inner.waiting.pop_front();
            }
            let end = inner.active.as_ref().map_or(inner.last + 1, |active| active.first);
            let nexts = inner.closed.iter().skip(1).map(|segment| segment.first).chain([end]);
            let count = nexts.take_while(|next| next.saturating_sub(1) <= through).count();
            let count = count.min(inner.closed.len());
            inner.closed.drain(..count).collect()
        };
        for segment in gone {
            if let Err(error) = fs::remove_file(&segment.path) {
                tracing::warn!(path = %segment.path.display(), %error, "could not remove a journal file");
            }
        }
    }

    /// From now on what is appended can be taken by this follower; one before it gets no more.
    pub fn follow(&self) -> Followed {
        let mut inner = self.lock();
        inner.follower += 1;
        inner.tail = Some(Vec::new());
        let waiting = inner.waiting.iter().flat_map(|(_, frame)| frame).copied().collect();
        Followed { follower: inner.follower, through: inner.last, waiting }
    }

    /// Replaces `into` by the frames appended since the last call, to be read by [`Frames`].
    ///
    /// # Errors
    /// `Conflict` where the follower lagged too far behind or another took its place: follow and replay anew.
    pub fn take(&self, follower: u64, into: &mut Vec<u8>) -> Result<(), StoreError> {
        into.clear();
        let mut inner = self.lock();
        if follower != inner.follower {
            return Err(StoreError::Conflict);
        }
        std::mem::swap(inner.tail.as_mut().ok_or(StoreError::Conflict)?, into);
        Ok(())
    }

    /// Reads all whole frames with numbers above `after` up to `through` from the files, in order. A file with a torn
    /// frame is read up to it, and the files behind it are read on. Blocking.
    ///
    /// # Errors
    /// `Io` where a file cannot be read.
    pub fn replay(&self, after: u64, through: u64, mut each: impl FnMut(u64, &[u8])) -> Result<Replayed, StoreError> {
        let files: Vec<Closed> = {
            let inner = self.lock();
            inner.closed.iter().cloned().chain(inner.active.as_ref().map(Active::closed)).collect()
        };
        let mut replayed = Replayed::default();
        for segment in files {
            let bytes = fs::read(&segment.path).map_err(|e| io_at(&segment.path, &e))?;
            // What was appended since is no business of this replay, and may be half there.
            let len = usize::try_from(segment.bytes).unwrap_or(usize::MAX).min(bytes.len());
            let mut frames = Frames::new(bytes.get(..len).unwrap_or_default());
            for (number, payload) in frames.by_ref().filter(|(number, _)| (after + 1..=through).contains(number)) {
                replayed.frames += 1;
                each(number, payload);
            }
            if frames.left() > 0 {
                tracing::warn!(path = %segment.path.display(), bytes = frames.left(), "torn frames in a journal file");
                replayed.torn_bytes += frames.left() as u64;
            }
        }
        Ok(replayed)
    }

    pub fn stats(&self) -> JournalStats {
        let inner = self.lock();
        let closed = inner.closed.iter().map(|segment| segment.bytes).sum::<u64>();
        JournalStats {
            bytes: closed + inner.active.as_ref().map_or(0, |active| active.bytes),
            files: inner.closed.len() + usize::from(inner.active.is_some()),
            last: inner.last,
            waiting: inner.waiting.len(),
            lost: inner.lost,
        }
    }

    fn write_waiting(&self, inner: &mut Inner) -> Result<(), StoreError> {
        while let Some(&(first, _)) = inner.waiting.front() {
            let mut count = 0;
            let Inner { scratch, waiting, .. } = &mut *inner;
            scratch.clear();
            for (_, frame) in waiting.iter() {
                if count > 0 && scratch.len() + frame.len() > CHUNK {
                    break;
                }
                scratch.extend_from_slice(frame);
                count += 1;
            }
            inner.write(first, self)?;
            inner.waiting.drain(..count);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Seals the next frame into the scratch buffer.
    fn prepare(&mut self, payload: &[u8]) -> u64 {
        let number = self.last + 1;
        self.scratch.clear();
        frame::seal(number, payload, &mut self.scratch);
        number
    }

    /// Writes the scratch buffer, whose first frame has this number.
    fn write(&mut self, first: u64, journal: &Journal) -> Result<(), StoreError> {
        let limit = journal.options.segment_bytes.min(64 << 20);
        if self.active.as_ref().is_some_and(|active| active.bytes >= limit) {
            self.retire();
        }
        let active = match &mut self.active {
            Some(active) => active,
            none => {
                self.folder_dirty = true;
                none.insert(Active::create(&journal.folder, first)?)
            }
        };
        active.write(&self.scratch)?;
        self.dirty = true;
        Ok(())
    }

    /// The frame in the scratch buffer counts from now on.
    fn accept(&mut self, number: u64, tail_bytes: usize) {
        self.last = number;
        match &mut self.tail {
            Some(tail) if tail.len() + self.scratch.len() <= tail_bytes => tail.extend_from_slice(&self.scratch),
            // It is too late for this follower, which is told so when it next asks.
            tail => *tail = None,
        }
    }

    fn retire(&mut self) {
        // An empty file is named as the one that would follow it.
        if let Some(active) = self.active.take_if(|active| active.bytes > 0) {
            self.closed.push(active.closed());
            self.unsynced.push(active.file);
        }
    }

    fn lose(&mut self, error: &StoreError) -> Kept {
        self.lost += 1;
        if self.lost.is_power_of_two() {
            tracing::error!(%error, lost = self.lost, "journal entries are lost: free space in the data folder");
        }
        Kept::Lost
    }
}

fn check(payload: &[u8]) -> Result<(), StoreError> {
    match payload.len() {
        1..=MAX_FRAME => Ok(()),
        len => Err(StoreError::BadRequest(format!("a journal's frame of {len} bytes is not within 1 to {MAX_FRAME}"))),
    }
}
