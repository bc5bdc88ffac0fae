//! File access of engines, confined to the workspace folder.
//!
//! Every step goes from an open folder to one name in it and follows no link (`openat` with `O_NOFOLLOW`): even if
//! entries are swapped concurrently, nothing outside is opened. Links in a path of the input are resolved here, within the
//! workspace; a link that leads out is rejected before its target is examined. Links found in a traversal are reported
//! and never followed. Only regular files are opened, and only within the size limits.

mod ignored;
mod path;
#[cfg(test)]
mod tests;
mod traversal;

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, open, openat, readlinkat, statat};
use rustix::io::Errno;

use muster_engine::{Context, Failure};
use path::Step;
pub use traversal::{Hidden, Traversal};

/// Maximum size of a file, in bytes.
pub const MAX_FILE: u64 = 8 * 1024 * 1024;
/// Maximum number of bytes read per call.
pub const MAX_READ: u64 = 128 * 1024 * 1024;
/// Maximum number of names read from a folder.
pub const MAX_NAMES: usize = 50_000;
/// Maximum number of entries visited in a traversal, reported or not.
pub const MAX_VISITED: usize = 200_000;
/// Maximum depth of a traversal.
pub const MAX_DEPTH: usize = 32;
/// As in Linux (path_resolution(7)).
const MAX_LINKS: usize = 40;
/// Maximum steps of a path including its links.
const MAX_STEPS: usize = 1_000;

/// The workspace folder during one call.
#[derive(Debug)]
pub struct Workspace<'c> {
    context: &'c Context,
    root: Rc<OwnedFd>,
    /// Real path of the folder, for links that name it absolutely.
    real: PathBuf,
    read: Cell<u64>,
}

/// Type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
}

/// An entry of the workspace at the time it was examined.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Path from the workspace folder, without links; empty for itself.
    pub path: PathBuf,
    /// Type of the entry.
    pub kind: Kind,
    /// Size in bytes.
    pub size: u64,
    /// Distance from the start of the traversal; 0 for the requested entry.
    pub depth: usize,
    folder: Rc<OwnedFd>,
    name: OsString,
    identity: (u64, u64),
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// It is too large.
    #[error("is larger than {MAX_FILE} bytes")]
    Large,
    /// The call has read its maximum.
    #[error("was skipped: a call reads {MAX_READ} bytes at most")]
    Spent,
    /// It changed while it was being read.
    #[error("changed while it was read")]
    Changed,
    /// The system rejected it.
    #[error("cannot be read: {0}")]
    Refused(Errno),
}

impl Entry {
    /// Path as text: `.` for the workspace folder, and U+FFFD for bytes that are not UTF-8.
    pub fn display_path(&self) -> String {
        if self.path.as_os_str().is_empty() { ".".to_owned() } else { self.path.to_string_lossy().into_owned() }
    }

    /// Target of a link; `None` for other entries.
    pub fn target(&self) -> Option<String> {
        let target = (self.kind == Kind::Link).then(|| readlinkat(&*self.folder, &self.name, Vec::new()).ok())??;
        Some(target.to_string_lossy().into_owned())
    }
}

impl<'c> Workspace<'c> {
    /// Opens the workspace folder.
    ///
    /// # Errors
    /// `NoWorkspace` if there is no such folder.
    pub fn open(context: &'c Context) -> Result<Self, Failure> {
        let path_text = context.workspace()?;
        let real = path_text.canonicalize().map_err(|_| Failure::NoWorkspace)?;
        let root = open(&real, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|_| Failure::NoWorkspace)?;
        Ok(Self { context, root: Rc::new(root), real, read: Cell::new(0) })
    }

    /// Returns the file or folder at a path of the input, from the field `path`.
    ///
    /// # Errors
    /// `Outside`, `NotFound`, or `Invalid` if the text is not a path or names a special file.
    pub fn find(&self, path_text: &str) -> Result<Entry, Failure> {
        let mut ahead = path::steps_of_input(path_text)?;
        ahead.reverse();
        let outside = || Failure::Outside { path: path_text.to_owned() };
        let (mut names, mut folder, mut links) = (PathBuf::new(), Rc::clone(&self.root), 0_usize);
        for _ in 0..MAX_STEPS {
            let Some(step) = ahead.pop() else { return self.entry_of_folder(names, folder, path_text) };
            let name = match step {
                Step::Into(name) => name,
                Step::Top => {
                    (names, folder) = (PathBuf::new(), Rc::clone(&self.root));
                    continue;
                }
                Step::Up => {
                    if !names.pop() {
                        return Err(outside());
                    }
                    folder = self.folder(&names).map_err(|error| refused(error, path_text))?;
                    continue;
                }
            };
            let stat = statat(&*folder, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(|error| refused(error, path_text))?;
            match kind(&stat) {
                Some(Kind::Link) => {
                    links += 1;
                    let target = readlinkat(&*folder, &name, Vec::new()).map_err(|error| refused(error, path_text))?;
                    let target = Path::new(OsStr::from_bytes(target.as_bytes()));
                    ahead.extend(path::steps_of_link(target, &self.real).ok_or_else(outside)?.into_iter().rev());
                    if links > MAX_LINKS {
                        return Err(Failure::invalid(&["path"], "leads through links that go round in a circle"));
                    }
                }
                Some(Kind::Folder) => {
                    folder = Rc::new(open_folder(&folder, &name).map_err(|error| refused(error, path_text))?);
                    names.push(name);
                }
                Some(Kind::File) if ahead.is_empty() => return Ok(entry(&names, name, Kind::File, &stat, &folder, 0)),
                Some(Kind::File) => return Err(Failure::NotFound { path: path_text.to_owned() }),
                None => return Err(Failure::invalid(&["path"], "is neither a file nor a folder: choose one of these")),
            }
        }
        Err(Failure::invalid(&["path"], format!("has more than {MAX_STEPS} steps with those of its links")))
    }

    /// Reads a file of at most [`MAX_FILE`] bytes.
    ///
    /// # Errors
    /// Why it was not read.
    pub fn read(&self, entry: &Entry) -> Result<Vec<u8>, Unread> {
        if entry.size > MAX_FILE {
            return Err(Unread::Large);
        }
        if self.read.get().saturating_add(entry.size) > MAX_READ {
            return Err(Unread::Spent);
        }
        // NONBLOCK: the file could have been replaced by a FIFO, whose opening would wait for a writer.
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(&*entry.folder, &entry.name, how, Mode::empty()).map_err(|error| match error {
            Errno::LOOP | Errno::NOENT | Errno::NXIO => Unread::Changed,
            error => Unread::Refused(error),
        })?;
        let stat = fstat(&file).map_err(Unread::Refused)?;
        if kind(&stat) != Some(Kind::File) || identity(&stat) != entry.identity {
            return Err(Unread::Changed);
        }
        let mut bytes = Vec::new();
        let outcome = File::from(file).take(MAX_FILE + 1).read_to_end(&mut bytes);
        self.read.set(self.read.get().saturating_add(bytes.len() as u64));
        outcome.map_err(|error| Unread::Refused(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
        // It has grown, or its size was wrong.
        if bytes.len() as u64 > MAX_FILE { Err(Unread::Large) } else { Ok(bytes) }
    }

    /// As [`Self::read`], but reports an unread file as a warning.
    pub fn read_or_warn(&self, entry: &Entry) -> Option<Vec<u8>> {
        self.read(entry).inspect_err(|unread| self.context.warn(format!("{} {unread}", entry.display_path()))).ok()
    }

    fn entry_of_folder(&self, names: PathBuf, folder: Rc<OwnedFd>, path_text: &str) -> Result<Entry, Failure> {
        let stat = fstat(&*folder).map_err(|error| refused(error, path_text))?;
        let found = Entry { path: names, ..entry(Path::new(""), OsString::from("."), Kind::Folder, &stat, &folder, 0) };
        Ok(found)
    }

    /// Opens a folder by its names from the root, none of them a link.
    fn folder(&self, names: &Path) -> Result<Rc<OwnedFd>, Errno> {
        names.iter().try_fold(Rc::clone(&self.root), |folder, name| open_folder(&folder, name).map(Rc::new))
    }

    /// Entries of a folder, by name. Devices, FIFOs and sockets are skipped with a warning.
    fn list(&self, of: &Entry) -> Result<(Rc<OwnedFd>, Vec<Entry>), Errno> {
        let folder = Rc::new(open_folder(&of.folder, &of.name)?);
        if identity(&fstat(&*folder)?) != of.identity {
            return Err(Errno::NOENT);
        }
        let mut entries = Vec::new();
        for found in Dir::read_from(&*folder)? {
            let name = OsStr::from_bytes(found?.file_name().to_bytes()).to_owned();
            if name == "." || name == ".." {
                continue;
            }
            if entries.len() == MAX_NAMES {
                self.context
                    .warn(format!("{} holds more than {MAX_NAMES} names: the rest is omitted", of.display_path()));
                break;
            }
            match look(&folder, &of.path, name.clone(), of.depth + 1) {
                Some(entry) => entries.push(entry),
                None => {
                    let path = of.path.join(&name);
                    self.context.warn(format!("{} is not a file, folder or link: skipped", path.display()));
                }
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok((folder, entries))
    }
}

/// Examines a name in an open folder at `within`; `None` for a device, a FIFO or a socket, or if it does not exist.
fn look(folder: &Rc<OwnedFd>, within: &Path, name: OsString, depth: usize) -> Option<Entry> {
    let stat = statat(&**folder, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(entry(within, name, kind(&stat)?, &stat, folder, depth))
}

fn open_folder(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(folder, name, how, Mode::empty())
}

fn entry(within: &Path, name: OsString, kind: Kind, stat: &Stat, folder: &Rc<OwnedFd>, depth: usize) -> Entry {
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    Entry { path: within.join(&name), kind, size, depth, folder: Rc::clone(folder), identity: identity(stat), name }
}

fn kind(stat: &Stat) -> Option<Kind> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Some(Kind::File),
        FileType::Directory => Some(Kind::Folder),
        FileType::Symlink => Some(Kind::Link),
        _ => None,
    }
}

fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

fn refused(error: Errno, path_text: &str) -> Failure {
    let path = path_text.to_owned();
    match error {
        Errno::NOENT | Errno::NOTDIR => Failure::NotFound { path },
        // A folder was replaced by a link.
        Errno::LOOP => Failure::Outside { path },
        Errno::ACCESS | Errno::PERM => Failure::invalid(&["path"], "may not be read by the server"),
        Errno::NAMETOOLONG => Failure::invalid(&["path"], "has a name that is too long"),
        error => Failure::internal(format!("{path_text} cannot be read: {error}")),
    }
}
