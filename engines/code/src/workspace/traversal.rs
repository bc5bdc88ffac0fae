//! Traversal below a folder: by name, a folder before its entries.

use std::path::Path;

use ignore::overrides::Override;

use super::ignored::{self, Rules};
use super::{Entry, Kind, MAX_DEPTH, MAX_VISITED, Workspace};

/// Handling of hidden names. `.git` is always skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    /// Hidden names are visited.
    Include,
    /// Hidden names are skipped.
    Skip,
}

/// Iterator over the entries below a folder, with ignore files applied; for a file, itself.
#[derive(Debug)]
pub struct Traversal<'w, 'c> {
    workspace: &'w Workspace<'c>,
    hidden: Hidden,
    /// Maximum depth.
    depth: usize,
    /// Globs that override ignore files.
    overrides: Override,
    /// Rules of the parent folders and the start.
    above: Vec<Rules>,
    open: Vec<Level>,
    visited: usize,
    /// Number of folders at the depth limit that were not entered.
    pub unentered: usize,
    /// Whether the traversal ended at its entry limit.
    pub stopped: bool,
}

#[derive(Debug)]
struct Level {
    rules: Rules,
    ahead: std::vec::IntoIter<Entry>,
}

impl<'w, 'c> Traversal<'w, 'c> {
    /// Starts a traversal at an entry.
    pub fn new(workspace: &'w Workspace<'c>, from: &Entry, depth: usize, hidden: Hidden) -> Self {
        let mut traversal = Self {
            workspace,
            hidden,
            depth: depth.min(MAX_DEPTH),
            overrides: Override::empty(),
            above: Vec::new(),
            open: Vec::new(),
            visited: 0,
            unentered: 0,
            stopped: false,
        };
        if from.kind == Kind::Folder {
            traversal.above = traversal.rules_above(&from.path);
            traversal.enter(from);
        } else {
            traversal.open.push(Level { rules: Rules::default(), ahead: vec![from.clone()].into_iter() });
        }
        traversal
    }

    /// Sets globs that precede ignore files; they match paths from the workspace folder.
    pub fn with_overrides(mut self, overrides: Override) -> Self {
        self.overrides = overrides;
        self
    }

    /// The rules of every folder above one.
    fn rules_above(&self, path: &Path) -> Vec<Rules> {
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        let rules = |path: &Path| Some(ignored::rules(self.workspace, &self.workspace.folder(path).ok()?, path));
        above.into_iter().filter_map(rules).collect()
    }

    fn enter(&mut self, folder: &Entry) {
        match self.workspace.list(folder) {
            Ok((open, entries)) => {
                let rules = ignored::rules(self.workspace, &open, &folder.path);
                self.open.push(Level { rules, ahead: entries.into_iter() });
            }
            Err(error) => {
                self.workspace.context.warn(format!("{} cannot be read: {error}", folder.display_path()));
            }
        }
    }

    fn leaves_out(&self, entry: &Entry) -> bool {
        if entry.depth == 0 {
            return false;
        }
        if entry.name == ".git" {
            return true;
        }
        let named = self.overrides.matched(ignored::rooted(&entry.path), entry.kind == Kind::Folder);
        if !named.is_none() {
            return named.is_ignore();
        }
        let levels = self.above.iter().chain(self.open.iter().map(|level| &level.rules));
        (self.hidden == Hidden::Skip && entry.name.as_encoded_bytes().starts_with(b"."))
            || ignored::is_ignored(levels, entry)
    }
}

impl Iterator for Traversal<'_, '_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            let Some(entry) = self.open.last_mut()?.ahead.next() else {
                self.open.pop();
                continue;
            };
            if self.visited == MAX_VISITED {
                self.workspace.context.warn(format!("the traversal ended after {MAX_VISITED} entries"));
                self.stopped = true;
                self.open.clear();
                return None;
            }
            self.visited += 1;
            if self.leaves_out(&entry) {
                continue;
            }
            if entry.kind == Kind::Folder {
                if entry.depth < self.depth {
                    self.enter(&entry);
                } else {
                    self.unentered += 1;
                }
            }
            return Some(entry);
        }
    }
}
