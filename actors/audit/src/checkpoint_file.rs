//! The file of signed checkpoints beside the store: append-only, synced, one JSON object a line.
//!
//! It is what a store is compared with at a start. A store that was rolled back alone has fewer entries than this file
//! signs; a store and a file that were rolled back together agree, and only a copy elsewhere or a witness shows it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use muster_core::Millis;
use muster_tlog::MAX_NOTE;
use serde::{Deserialize, Serialize};

/// Folder beside the store.
pub(crate) const FOLDER: &str = "audit";
const FILE: &str = "checkpoints";
/// The file before the last one that was full.
const FORMER: &str = "checkpoints.1";
/// Length at which a new file begins, in bytes.
const FULL: u64 = 64 << 20;
/// Bytes at the end of a file that are searched for its last line. A note in JSON is at most twice as long as it is.
const TAIL: u64 = 4 * MAX_NOTE as u64;

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    pub(crate) at: Millis,
    /// The signed note.
    pub(crate) note: String,
}

/// What the file ended with when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LastLine {
    /// There is no file, or it has no line.
    None,
    /// The last line.
    Line(Line),
    /// The last line is no line of this file.
    Damaged(PathBuf),
}

/// The file, open for appending.
#[derive(Debug)]
pub(crate) struct CheckpointFile {
    folder: PathBuf,
    file: File,
    length: u64,
}

impl CheckpointFile {
    /// Opens the file in the data folder, or makes it. What a crash left of a line that was never complete is removed.
    pub(crate) fn open(data: &Path) -> io::Result<(Self, LastLine)> {
        let folder = data.join(FOLDER);
        if !folder.exists() {
            DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(|error| at(&folder, &error))?;
            sync_folder(data)?;
        }
        let path = folder.join(FILE);
        let mut file = open(&path)?;
        let length = whole_lines(&mut file).map_err(|error| at(&path, &error))?;
        file.set_len(length).and_then(|()| file.sync_all()).map_err(|error| at(&path, &error))?;
        let mut last = last_line(&mut file, length, &path)?;
        if last == LastLine::None {
            last = Self::former(&folder)?;
        }
        sync_folder(&folder)?;
        Ok((Self { folder, file, length }, last))
    }

    /// The last line of the file that was full.
    fn former(folder: &Path) -> io::Result<LastLine> {
        let path = folder.join(FORMER);
        match File::open(&path) {
            Ok(mut file) => {
                let length = whole_lines(&mut file).map_err(|error| at(&path, &error))?;
                last_line(&mut file, length, &path)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(LastLine::None),
            Err(error) => Err(at(&path, &error)),
        }
    }

    /// Appends a line; it is on disk afterwards.
    pub(crate) fn append(&mut self, line: &Line) -> io::Result<()> {
        let path = self.folder.join(FILE);
        if self.length >= FULL {
            fs::rename(&path, self.folder.join(FORMER)).map_err(|error| at(&path, &error))?;
            self.file = open(&path)?;
            self.length = 0;
            sync_folder(&self.folder)?;
        }
        let mut bytes = serde_json::to_vec(line).map_err(io::Error::other)?;
        bytes.push(b'\n');
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        written.map_err(|error| at(&path, &error))?;
        self.length += bytes.len() as u64;
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600).open(path).map_err(|error| at(path, &error))
}

/// The length up to the last newline.
fn whole_lines(file: &mut File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let from = length.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail)?;
    Ok(tail.iter().rposition(|byte| *byte == b'\n').map_or(from.min(length), |last| from + last as u64 + 1))
}

fn last_line(file: &mut File, length: u64, path: &Path) -> io::Result<LastLine> {
    let from = length.saturating_sub(TAIL);
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(from)).map_err(|error| at(path, &error))?;
    file.take(length - from).read_to_end(&mut tail).map_err(|error| at(path, &error))?;
    let Some(lines) = tail.strip_suffix(b"\n") else { return Ok(LastLine::None) };
    let line = lines.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(serde_json::from_slice(line).map_or_else(|_| LastLine::Damaged(path.to_owned()), LastLine::Line))
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| at(folder, &error))
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Writes a copy of the newest checkpoint to a file of the operator's choice, atomically.
pub(crate) fn write_copy(path: &Path, note: &str) -> io::Result<()> {
    let temporary = path.with_extension("new");
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).open(&temporary).map_err(|e| at(&temporary, &e))?;
    file.write_all(note.as_bytes()).and_then(|()| file.sync_all()).map_err(|error| at(&temporary, &error))?;
    fs::rename(&temporary, path).map_err(|error| at(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64) -> Line {
        Line { at: Millis(number), note: format!("note {number}\n\n— x\n") }
    }

    #[test]
    fn lines_are_read_back_and_an_incomplete_one_is_removed() {
        let data = tempfile::tempdir().unwrap();
        let (mut file, last) = CheckpointFile::open(data.path()).unwrap();
        assert_eq!(last, LastLine::None);
        for number in 0..3 {
            file.append(&line(number)).unwrap();
        }
        let path = data.path().join("audit/checkpoints");
        let whole = fs::read(&path).unwrap();
        let (.., last) = CheckpointFile::open(data.path()).unwrap();
        assert_eq!(last, LastLine::Line(line(2)));
        let second = whole.len() - serde_json::to_vec(&line(2)).unwrap().len() - 1;
        for cut in second + 1..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let (mut file, last) = CheckpointFile::open(data.path()).unwrap();
            assert_eq!(last, LastLine::Line(line(1)), "cut at {cut}");
            file.append(&line(2)).unwrap();
            assert_eq!(fs::read(&path).unwrap(), whole);
        }
        fs::write(&path, [&whole[..second], b"{}\n"].concat()).unwrap();
        assert_eq!(CheckpointFile::open(data.path()).unwrap().1, LastLine::Damaged(path));
    }

    #[test]
    fn a_full_file_is_set_aside_and_its_last_line_still_counts() {
        let data = tempfile::tempdir().unwrap();
        let (mut file, _) = CheckpointFile::open(data.path()).unwrap();
        file.append(&line(1)).unwrap();
        file.length = FULL;
        file.append(&line(2)).unwrap();
        let folder = data.path().join("audit");
        assert_eq!(fs::read_to_string(folder.join("checkpoints")).unwrap().lines().count(), 1);
        fs::write(folder.join("checkpoints"), b"").unwrap();
        assert_eq!(CheckpointFile::open(data.path()).unwrap().1, LastLine::Line(line(1)));
    }
}
