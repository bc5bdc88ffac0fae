//! The one door through which engines reach files: below the workspace folder, and nowhere else.
//!
//! Every step goes from an open folder to one name in it, and follows no link (`openat` with `O_NOFOLLOW`): whatever is
//! swapped between a look and its use, nothing outside is opened. The links of a path that is given are resolved here,
//! in the workspace's own terms; a link that leads out is refused before what it names is even looked at. Links that a
//! walk meets are told and never followed. Only regular files are opened, and of these only what fits the bounds is
//! read.

mod ignored;
mod path;
#[cfg(test)]
mod tests;
mod walk;

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

use crate::{Context, Failure};
use path::Step;
pub use walk::{Hidden, Walk};

/// The largest file that is read, in bytes.
pub const MAX_FILE: u64 = 8 * 1024 * 1024;
/// What one call reads in all, in bytes.
pub const MAX_READ: u64 = 128 * 1024 * 1024;
/// Names read of one folder.
pub const MAX_NAMES: usize = 50_000;
/// Entries that one walk looks at, shown or not.
pub const MAX_VISITED: usize = 200_000;
/// How many folders deep a walk goes.
pub const MAX_DEPTH: usize = 32;
/// As Linux resolves them (path_resolution(7)).
const MAX_LINKS: usize = 40;
/// Steps of one path with those of its links.
const MAX_STEPS: usize = 1_000;

/// The workspace folder during one call.
#[derive(Debug)]
pub struct Workspace<'c> {
    context: &'c Context,
    root: Rc<OwnedFd>,
    /// Where the folder is, for links that name it absolutely.
    real: PathBuf,
    read: Cell<u64>,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    Link,
}

/// A name in a folder of the workspace, as it was when it was looked at.
#[derive(Debug, Clone)]
pub struct Entry {
    /// From the workspace folder, without links; empty for itself.
    pub path: PathBuf,
    pub kind: Kind,
    /// In bytes.
    pub size: u64,
    /// Folders between it and the start of the walk, itself included; 0 for what was asked for.
    pub depth: usize,
    folder: Rc<OwnedFd>,
    name: OsString,
    identity: (u64, u64),
}

/// Why a file of a walk was not read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    #[error("is larger than {MAX_FILE} bytes")]
    Large,
    #[error("was left out: a call reads {MAX_READ} bytes at most")]
    Spent,
    #[error("changed while it was looked at")]
    Changed,
    #[error("cannot be read: {0}")]
    Refused(Errno),
}

impl Entry {
    /// The path as text: `.` for the workspace folder, and U+FFFD where the name is not UTF-8.
    pub fn shown(&self) -> String {
        if self.path.as_os_str().is_empty() { ".".to_owned() } else { self.path.to_string_lossy().into_owned() }
    }

    /// What a link says; nothing of any other entry.
    pub fn target(&self) -> Option<String> {
        let target = (self.kind == Kind::Link).then(|| readlinkat(&*self.folder, &self.name, Vec::new()).ok())??;
        Some(target.to_string_lossy().into_owned())
    }
}

impl<'c> Workspace<'c> {
    /// # Errors
    /// `NoWorkspace` where there is no such folder.
    pub fn open(context: &'c Context) -> Result<Self, Failure> {
        let given = context.workspace()?;
        let real = given.canonicalize().map_err(|_| Failure::NoWorkspace)?;
        let root = open(&real, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|_| Failure::NoWorkspace)?;
        Ok(Self { context, root: Rc::new(root), real, read: Cell::new(0) })
    }

    /// The file or folder at a path that was given, in the field `path`.
    ///
    /// # Errors
    /// `Outside`, `NotFound`, or `Invalid` where the text is no path or names what can be neither walked nor read.
    pub fn find(&self, given: &str) -> Result<Entry, Failure> {
        let mut ahead = path::steps_of_input(given)?;
        ahead.reverse();
        let outside = || Failure::Outside { path: given.to_owned() };
        let (mut names, mut folder, mut links) = (PathBuf::new(), Rc::clone(&self.root), 0_usize);
        for _ in 0..MAX_STEPS {
            let Some(step) = ahead.pop() else { return self.entry_of_folder(names, folder, given) };
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
                    folder = self.folder(&names).map_err(|error| refused(error, given))?;
                    continue;
                }
            };
            let stat = statat(&*folder, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(|error| refused(error, given))?;
            match kind(&stat) {
                Some(Kind::Link) => {
                    links += 1;
                    let target = readlinkat(&*folder, &name, Vec::new()).map_err(|error| refused(error, given))?;
                    let target = Path::new(OsStr::from_bytes(target.as_bytes()));
                    ahead.extend(path::steps_of_link(target, &self.real).ok_or_else(outside)?.into_iter().rev());
                    if links > MAX_LINKS {
                        return Err(Failure::invalid(&["path"], "leads through links that go round in a circle"));
                    }
                }
                Some(Kind::Folder) => {
                    folder = Rc::new(open_folder(&folder, &name).map_err(|error| refused(error, given))?);
                    names.push(name);
                }
                Some(Kind::File) if ahead.is_empty() => return Ok(entry(&names, name, Kind::File, &stat, &folder, 0)),
                Some(Kind::File) => return Err(Failure::NotFound { path: given.to_owned() }),
                None => return Err(Failure::invalid(&["path"], "is neither a file nor a folder: choose one of these")),
            }
        }
        Err(Failure::invalid(&["path"], format!("has more than {MAX_STEPS} steps with those of its links")))
    }

    /// A file's bytes, at most [`MAX_FILE`].
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
        // NONBLOCK: what was a file a moment ago could be a FIFO now, whose opening would wait for a writer.
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
        // It grew meanwhile, or its size was a lie.
        if bytes.len() as u64 > MAX_FILE { Err(Unread::Large) } else { Ok(bytes) }
    }

    /// [`Self::read`], where a file that is not read is told as a warning.
    pub fn read_or_warn(&self, entry: &Entry) -> Option<Vec<u8>> {
        self.read(entry).inspect_err(|unread| self.context.warn(format!("{} {unread}", entry.shown()))).ok()
    }

    fn entry_of_folder(&self, names: PathBuf, folder: Rc<OwnedFd>, given: &str) -> Result<Entry, Failure> {
        let stat = fstat(&*folder).map_err(|error| refused(error, given))?;
        let found = Entry { path: names, ..entry(Path::new(""), OsString::from("."), Kind::Folder, &stat, &folder, 0) };
        Ok(found)
    }

    /// A folder by its names from the root, none of them a link.
    fn folder(&self, names: &Path) -> Result<Rc<OwnedFd>, Errno> {
        names.iter().try_fold(Rc::clone(&self.root), |folder, name| open_folder(&folder, name).map(Rc::new))
    }

    /// What a folder holds, by name. Devices, FIFOs and sockets are left out with a warning.
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
                self.context.warn(format!("{} holds more than {MAX_NAMES} names: the rest is left out", of.shown()));
                break;
            }
            match look(&folder, &of.path, name.clone(), of.depth + 1) {
                Some(entry) => entries.push(entry),
                None => {
                    let path = of.path.join(&name);
                    self.context.warn(format!("{} is no file, folder or link: left out", path.display()));
                }
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok((folder, entries))
    }
}

/// A name in an open folder at `within`; `None` for a device, a FIFO or a socket, or where it is not there.
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

fn refused(error: Errno, given: &str) -> Failure {
    let path = given.to_owned();
    match error {
        Errno::NOENT | Errno::NOTDIR => Failure::NotFound { path },
        // A link where a folder was a moment ago.
        Errno::LOOP => Failure::Outside { path },
        Errno::ACCESS | Errno::PERM => Failure::invalid(&["path"], "may not be read by the server"),
        Errno::NAMETOOLONG => Failure::invalid(&["path"], "has a name that is too long"),
        error => Failure::internal(format!("{given} cannot be looked at: {error}")),
    }
}
