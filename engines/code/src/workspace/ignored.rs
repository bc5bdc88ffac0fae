//! Ignore files, with the semantics of gitignore(5), read through the workspace.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::{Entry, Kind, Workspace};

/// File names, the stronger first: `.ignore` is ripgrep's, for tracked files that a search should skip.
const NAMES: [&str; 2] = [".ignore", ".gitignore"];
/// Maximum size of an ignore file, in bytes: each line becomes an automaton.
const MAX_RULES: u64 = 64 * 1024;

/// Rules of one folder, in the order of [`NAMES`].
#[derive(Debug, Default)]
pub(super) struct Rules([Option<Gitignore>; 2]);

/// Reads the rules of an open folder at `path`.
pub(super) fn rules(workspace: &Workspace<'_>, folder: &Rc<OwnedFd>, path: &Path) -> Rules {
    let mut rules = Rules::default();
    for (slot, name) in rules.0.iter_mut().zip(NAMES) {
        // A link with this name is not an ignore file, as in git.
        let file = super::look(folder, path, name.into(), 0).filter(|entry| entry.kind == Kind::File);
        *slot = file.and_then(|file| parse(workspace, path, &file));
    }
    rules
}

fn parse(workspace: &Workspace<'_>, folder: &Path, file: &Entry) -> Option<Gitignore> {
    if file.size > MAX_RULES {
        workspace
            .context
            .warn(format!("{} is larger than {MAX_RULES} bytes: its rules are ignored", file.display_path()));
        return None;
    }
    let bytes = workspace.read_or_warn(file)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new(rooted(folder));
    for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        if let Err(error) = builder.add_line(None, line) {
            workspace.context.warn(format!("{}, line {}, is ignored: {error}", file.display_path(), at + 1));
        }
    }
    builder
        .build()
        .inspect_err(|error| workspace.context.warn(format!("{} is ignored: {error}", file.display_path())))
        .ok()
}

/// Returns whether the rules exclude an entry. `levels` go from the workspace folder down to the entry's own: the
/// deepest matching rule decides, and any `.ignore` precedes any `.gitignore`.
pub(super) fn is_ignored<'r>(levels: impl DoubleEndedIterator<Item = &'r Rules> + Clone, entry: &Entry) -> bool {
    let path = rooted(&entry.path);
    for slot in 0..NAMES.len() {
        let files = levels.clone().rev().filter_map(|rules| rules.0.get(slot)?.as_ref());
        for file in files {
            let matched = file.matched(&path, entry.kind == Kind::Folder);
            if !matched.is_none() {
                return matched.is_ignore();
            }
        }
    }
    false
}

/// Rules match below a folder that begins with a slash.
pub(super) fn rooted(path: &Path) -> PathBuf {
    Path::new("/").join(path)
}
