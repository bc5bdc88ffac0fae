//! q198: patch analysis: counts, risk, and dry-run application.

mod apply;
mod danger;
mod risk;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use diffy::Line;
use diffy::patch_set::{FileMode, FileOperation, FilePatch, ParseOptions, PatchKind, PatchSet};

use muster_engine::prelude::*;

/// Maximum number of files in a patch.
const MAX_FILES: usize = 10_000;

#[derive(Input)]
pub struct Input {
    patch: String,
    /// Content before the patch, by path. Empty: the patch is not applied.
    files: BTreeMap<String, String>,
    /// Parts of sensitive paths, case-insensitive.
    sensitive: Vec<String>,
}

#[derive(Output)]
pub struct Output {
    /// In the patch's order.
    files: Vec<Changed>,
    insertions: usize,
    deletions: usize,
    risk: f64,
    reasons: Vec<String>,
    applied: BTreeMap<String, String>,
    rejects: Vec<String>,
}

#[derive(Debug, Clone, Output)]
struct Changed {
    path: String,
    kind: &'static str,
    insertions: usize,
    deletions: usize,
    hunks: usize,
    binary: bool,
    #[wire(skip)]
    executable: bool,
}

impl Changed {
    fn churn(&self) -> usize {
        self.insertions + self.deletions
    }
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let patches = parse(&input.patch)?;
    let files: Vec<Changed> = patches.iter().map(changed).collect();
    let (dangers, skipped) = danger::find(&patches);
    if skipped > 0 {
        let most = danger::MAX_EXAMINED;
        context.warn(format!("not_assessed: {skipped} added lines beyond {most} were not searched for dangerous code"));
    }
    let unread: Vec<&str> = files.iter().filter(|file| file.binary).map(|file| file.path.as_str()).take(20).collect();
    if !unread.is_empty() {
        context.warn(format!("not_assessed: the content of binary files was not searched: {}", unread.join(", ")));
    }
    let (risk, reasons) = risk::weigh(&files, &input.sensitive, &dangers);
    let outcome = if input.files.is_empty() {
        apply::Outcome::default()
    } else {
        apply::apply_all(&patches, &input.files, context)?
    };
    Ok(Output {
        insertions: files.iter().map(|file| file.insertions).sum(),
        deletions: files.iter().map(|file| file.deletions).sum(),
        files,
        risk,
        reasons,
        applied: outcome.applied,
        rejects: outcome.rejects,
    })
}

fn parse(text: &str) -> Result<Vec<FilePatch<'_, str>>, Failure> {
    let git = text.lines().any(|line| line.starts_with("diff --git "));
    let options = if git { ParseOptions::gitdiff() } else { ParseOptions::unidiff() };
    let mut patches = Vec::new();
    for patch in PatchSet::parse(text, options) {
        let place = patches.len() + 1;
        patches.push(patch.map_err(|error| {
            let message = format!("file {place} of the patch: {error}. Give a unified diff, as of `git diff`");
            Failure::invalid(&["patch"], message)
        })?);
        if patches.len() > MAX_FILES {
            return Err(Failure::too_large(format!("at most {MAX_FILES} files of a patch are read")));
        }
    }
    Ok(patches)
}

/// Paths before and after, without git's `a/` and `b/`.
fn paths<'p>(patch: &'p FilePatch<'_, str>) -> (&'p str, &'p str) {
    let bare = |path: &'p str, prefix| path.strip_prefix(prefix).unwrap_or(path);
    match patch.operation() {
        FileOperation::Delete(path) => (bare(path, "a/"), bare(path, "a/")),
        FileOperation::Create(path) => (bare(path, "b/"), bare(path, "b/")),
        FileOperation::Modify { original, modified } => (bare(original, "a/"), bare(modified, "b/")),
        FileOperation::Rename { from, to } | FileOperation::Copy { from, to } => (from, to),
    }
}

fn changed(patch: &FilePatch<'_, str>) -> Changed {
    let hunks = patch.patch().as_text().map_or(&[][..], diffy::Patch::hunks);
    let count = |wanted: fn(&Line<'_, str>) -> bool| {
        hunks.iter().flat_map(|hunk| hunk.lines()).filter(|line| wanted(line)).count()
    };
    Changed {
        path: paths(patch).1.to_owned(),
        kind: match patch.operation() {
            FileOperation::Delete(_) => "deleted",
            FileOperation::Create(_) => "added",
            FileOperation::Modify { .. } => "modified",
            FileOperation::Rename { .. } => "renamed",
            FileOperation::Copy { .. } => "copied",
        },
        insertions: count(|line| matches!(line, Line::Insert(_))),
        deletions: count(|line| matches!(line, Line::Delete(_))),
        hunks: hunks.len(),
        binary: matches!(patch.patch(), PatchKind::Binary(_)),
        executable: patch.new_mode() == Some(&FileMode::Executable) && patch.old_mode() != Some(&FileMode::Executable),
    }
}
