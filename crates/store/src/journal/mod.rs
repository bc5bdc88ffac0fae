//! An append-only journal in a folder of its own, for entries that must survive `kill -9` immediately and are merged
//! into the store later.
//!
//! An append is one `write(2)` by its caller: when it returns, the frame survives the end of the process. What
//! [`Journal::sync`] has covered survives a power cut. Every frame has a number. Numbers increase, even across restarts
//! and lost files: each opening begins a new range of them, and a new file, so that nothing is written behind a torn
//! frame.
//!
//! One reader can follow the journal: it receives the frames appended from then on in order, without reading files.

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

/// Each opening has a range of 2^32 numbers.
const SPAN: u32 = 32;
/// Upper bound of the number of frames in a file, hence of the numbers beyond the name of the newest file.
const IN_A_FILE: u64 = 1 << 24;
/// Maximum number of bytes of buffered frames in one write.
const CHUNK: usize = 256 << 10;

/// Bounds of a journal.
#[derive(Debug, Clone)]
pub struct JournalOptions {
    /// Size at which the next file is begun, in bytes (at most 64 MiB).
    pub segment_bytes: u64,
    /// Maximum number of frames buffered in memory while writing fails.
    pub waiting: usize,
    /// Maximum number of bytes that a follower may lag behind.
    pub tail_bytes: usize,
}

impl Default for JournalOptions {
    fn default() -> Self {
        Self { segment_bytes: 4 << 20, waiting: 100_000, tail_bytes: 32 << 20 }
    }
}

/// Outcome of [`Journal::append_or_buffer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendOutcome {
    /// The frame with this number was written.
    Written(u64),
    /// Writing failed: the frame is buffered in memory, and written by the next append or sync that succeeds.
    Buffered(u64),
    /// The frame was dropped: it is invalid, or the buffer is full.
    Lost,
}

/// Where a follower begins.
#[derive(Debug)]
pub struct FollowerStart {
    /// Identifies the follower; a later one supersedes it.
    pub follower: u64,
    /// Number of the last frame that the follower does not receive.
    pub through: u64,
    /// Buffered frames up to that number, which are in no file.
    pub waiting: Vec<u8>,
}

/// Result of a replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplayStats {
    /// Number of intact frames passed to the callback.
    pub frames: u64,
    /// Bytes behind the first torn frame of a file, summed over all files.
    pub torn_bytes: u64,
}

/// Figures for status and metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JournalStats {
    /// Total size of the journal's files, in bytes.
    pub bytes: u64,
    /// Number of files.
    pub files: usize,
    /// Number of the last frame.
    pub last: u64,
    /// Frames buffered in memory that are in no file.
    pub waiting: usize,
    /// Frames dropped since the journal was opened.
    pub lost: u64,
}

/// A journal. It can be shared between threads.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    options: JournalOptions,
    started: u64,
    inner: Mutex<Inner>,
    /// Serializes syncs: a caller that finds nothing to sync can rely on the previous sync having finished.
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
    /// Frames that the follower has not taken yet; `None` if there is no follower or it lagged too far behind.
    tail: Option<Vec<u8>>,
    scratch: Vec<u8>,
    /// Files with writes since the last sync, including ones closed meanwhile.
    unsynced: Vec<Arc<File>>,
    dirty: bool,
    folder_dirty: bool,
}

impl Journal {
    /// Opens a folder, which is created if missing. Numbers begin above `above` and above all numbers in the folder.
    ///
    /// # Errors
    ///
    /// `Io` if the folder cannot be created or read.
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

    /// Returns the first number of this opening.
    pub fn started(&self) -> u64 {
        self.started
    }

    /// Appends a frame and returns its number. Blocks for one write without a sync.
    ///
    /// # Errors
    ///
    /// - `BadRequest` if the payload is empty or longer than [`MAX_FRAME`].
    /// - `Io` if writing fails: the frame is then in no file and never will be.
    pub fn append(&self, payload: &[u8]) -> Result<u64, StoreError> {
        check(payload)?;
        let mut inner = self.lock();
        self.write_waiting(&mut inner)?;
        let number = inner.prepare(payload);
        inner.write(number, self)?;
        inner.accept(number, self.options.tail_bytes);
        Ok(number)
    }

    /// Appends a frame, or buffers it in memory if writing fails.
    pub fn append_or_buffer(&self, payload: &[u8]) -> AppendOutcome {
        let mut inner = self.lock();
        if let Err(error) = check(payload) {
            return inner.record_loss(&error);
        }
        let number = inner.prepare(payload);
        // Preserves the order: no frame is written before a buffered one.
        let written = if inner.waiting.is_empty() { inner.write(number, self) } else { Err(StoreError::Busy) };
        if let Err(error) = written {
            if inner.waiting.len() >= self.options.waiting {
                return inner.record_loss(&error);
            }
            if inner.waiting.is_empty() {
                tracing::error!(%error, "could not write the journal: entries are buffered in memory");
            }
            let frame = inner.scratch.clone();
            inner.waiting.push_back((number, frame));
            inner.accept(number, self.options.tail_bytes);
            return AppendOutcome::Buffered(number);
        }
        inner.accept(number, self.options.tail_bytes);
        AppendOutcome::Written(number)
    }

    /// Makes all appended frames survive a power cut. Blocks; appends remain possible meanwhile.
    ///
    /// # Errors
    ///
    /// `Io` if syncing fails; the next call tries again.
    pub fn sync(&self) -> Result<(), StoreError> {
        let _turn = self.syncs.lock().unwrap_or_else(PoisonError::into_inner);
        let (files, folder, waiting) = {
            let mut inner = self.lock();
            // A failure to write buffered frames does not prevent the sync of the others.
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

    /// Returns whether anything was appended since the last sync or is buffered.
    pub fn dirty(&self) -> bool {
        let inner = self.lock();
        inner.dirty || !inner.waiting.is_empty()
    }

    /// Closes the current file, so that it can be removed as a whole.
    pub fn rotate(&self) {
        self.lock().retire();
    }

    /// Removes everything up to this number: files without later frames are deleted. Blocks.
    pub fn remove_through(&self, through: u64) {
        let removed: Vec<Closed> = {
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
        for segment in removed {
            if let Err(error) = fs::remove_file(&segment.path) {
                tracing::warn!(path = %segment.path.display(), %error, "could not remove a journal file");
            }
        }
    }

    /// Starts following: frames appended from now on can be taken by this follower; a previous one receives no more.
    pub fn follow(&self) -> FollowerStart {
        let mut inner = self.lock();
        inner.follower += 1;
        inner.tail = Some(Vec::new());
        let waiting = inner.waiting.iter().flat_map(|(_, frame)| frame).copied().collect();
        FollowerStart { follower: inner.follower, through: inner.last, waiting }
    }

    /// Replaces the content of `into` by the frames appended since the last call, to be read by [`Frames`].
    ///
    /// # Errors
    ///
    /// `Conflict` if the follower lagged too far behind or was superseded: follow and replay again.
    pub fn take(&self, follower: u64, into: &mut Vec<u8>) -> Result<(), StoreError> {
        into.clear();
        let mut inner = self.lock();
        if follower != inner.follower {
            return Err(StoreError::Conflict);
        }
        std::mem::swap(inner.tail.as_mut().ok_or(StoreError::Conflict)?, into);
        Ok(())
    }

    /// Reads all intact frames with numbers above `after` up to `through` from the files, in order. A file is read up
    /// to its first torn frame; the files after it are read as well. Blocks.
    ///
    /// # Errors
    ///
    /// `Io` if a file cannot be read.
    pub fn replay(
        &self,
        after: u64,
        through: u64,
        mut each: impl FnMut(u64, &[u8]),
    ) -> Result<ReplayStats, StoreError> {
        let files: Vec<Closed> = {
            let inner = self.lock();
            inner.closed.iter().cloned().chain(inner.active.as_ref().map(Active::closed)).collect()
        };
        let mut replayed = ReplayStats::default();
        for segment in files {
            let bytes = fs::read(&segment.path).map_err(|e| io_at(&segment.path, &e))?;
            // Bytes appended since are outside of this replay, and may be incomplete.
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

    /// Returns current figures.
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
    /// Encodes the next frame into the scratch buffer.
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

    /// Accounts for the frame in the scratch buffer.
    fn accept(&mut self, number: u64, tail_bytes: usize) {
        self.last = number;
        match &mut self.tail {
            Some(tail) if tail.len() + self.scratch.len() <= tail_bytes => tail.extend_from_slice(&self.scratch),
            // The follower lags too far behind; its next `take` fails.
            tail => *tail = None,
        }
    }

    fn retire(&mut self) {
        // An empty file would have the same name as its successor.
        if let Some(active) = self.active.take_if(|active| active.bytes > 0) {
            self.closed.push(active.closed());
            self.unsynced.push(active.file);
        }
    }

    fn record_loss(&mut self, error: &StoreError) -> AppendOutcome {
        self.lost += 1;
        if self.lost.is_power_of_two() {
            tracing::error!(%error, lost = self.lost, "journal entries were dropped: free space in the data folder");
        }
        AppendOutcome::Lost
    }
}

fn check(payload: &[u8]) -> Result<(), StoreError> {
    match payload.len() {
        1..=MAX_FRAME => Ok(()),
        len => {
            Err(StoreError::BadRequest(format!("a journal frame of {len} bytes is outside of 1 to {MAX_FRAME} bytes")))
        }
    }
}
