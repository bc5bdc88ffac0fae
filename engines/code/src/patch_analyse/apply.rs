//! Applies a patch to files in memory; each file is patched completely or not at all.

use std::collections::BTreeMap;

use diffy::patch_set::{FileOperation, FilePatch, PatchKind};
use diffy::{Line, Patch};

use super::paths;
use muster_engine::prelude::*;

/// Maximum number of line comparisons for moved hunks: the product of a hunk's and its file's lines, summed.
const MAX_COMPARED: usize = 100_000_000;

#[derive(Default)]
pub(super) struct Outcome {
    /// Content after the patch, by path.
    pub applied: BTreeMap<String, String>,
    pub rejects: Vec<String>,
}

/// Applies each file's patch to its known content.
///
/// # Errors
/// `TooLarge` if the search for moved hunks would take too long.
pub(super) fn apply_all(
    patches: &[FilePatch<'_, str>],
    files: &BTreeMap<String, String>,
    context: &Context,
) -> Result<Outcome, Failure> {
    let (mut outcome, mut compared) = (Outcome::default(), 0_usize);
    for patch in patches {
        let (from, to) = paths(patch);
        // A later patch of the same file continues from the result of the earlier one.
        let before = match patch.operation() {
            FileOperation::Create(_) => Some(String::new()),
            _ => outcome.applied.get(from).or_else(|| files.get(from)).cloned(),
        };
        let (Some(before), PatchKind::Text(text)) = (before, patch.patch()) else {
            let why = if patch.patch().is_binary() { "is binary" } else { "is not among the files of the input" };
            outcome.rejects.push(format!("{from}: {why}"));
            continue;
        };
        if matches!(patch.operation(), FileOperation::Create(_)) && files.contains_key(to) {
            outcome.rejects.push(format!("{to}: is to be created but exists already"));
            continue;
        }
        let lines = before.lines().count();
        compared = text
            .hunks()
            .iter()
            .fold(compared, |sum, hunk| sum.saturating_add(hunk.lines().len().saturating_mul(lines)));
        if compared > MAX_COMPARED {
            return Err(Failure::too_large("the patch and its files are too large to be applied: apply it in parts"));
        }
        match (patched(&before, text), patch.operation()) {
            (Err(error), _) => outcome.rejects.push(format!("{from}: {error}")),
            (Ok(_), FileOperation::Delete(_)) => context.warn(format!("{from} is deleted by the patch")),
            (Ok(after), operation) => {
                if matches!(operation, FileOperation::Rename { .. }) {
                    context.warn(format!("{from} is moved to {to} by the patch"));
                    outcome.applied.remove(from);
                }
                outcome.applied.insert(to.to_owned(), after);
            }
        }
    }
    Ok(outcome)
}

/// Applies the hunks as GNU patch does without fuzz: each as far from its stated place as the hunk before it was, else at
/// the nearest place after that hunk where its lines are. The library counts from the new file, in which a hunk that
/// only deletes stands one line earlier.
fn patched(before: &str, patch: &Patch<'_, str>) -> Result<String, String> {
    let lines: Vec<&str> = before.split_inclusive('\n').collect();
    let (mut after, mut done, mut moved) = (Vec::new(), 0_usize, 0_isize);
    for (at, hunk) in patch.hunks().iter().enumerate() {
        let of = |wanted: fn(&Line<'_, str>) -> bool| {
            let text = |line: &Line<'_, str>| match *line {
                Line::Context(text) | Line::Delete(text) | Line::Insert(text) => text.to_owned(),
            };
            hunk.lines().iter().filter(|line| wanted(line)).map(text).collect::<Vec<String>>()
        };
        let old = of(|line| !matches!(line, Line::Insert(_)));
        // An empty range names the line before it.
        let range = hunk.old_range();
        let stated = if range.is_empty() { range.start() } else { range.start().saturating_sub(1) };
        let place = find(&lines, &old, stated.saturating_add_signed(moved), done)
            .ok_or_else(|| format!("error applying hunk #{}", at + 1))?;
        moved = place.cast_signed().saturating_sub(stated.cast_signed());
        after.extend(lines.get(done..place).unwrap_or_default().iter().map(|line| (*line).to_owned()));
        after.extend(of(|line| !matches!(line, Line::Delete(_))));
        done = place + old.len();
    }
    after.extend(lines.get(done..).unwrap_or_default().iter().map(|line| (*line).to_owned()));
    Ok(after.concat())
}

/// Returns the place from `from` on that is nearest to `guess`, of two the later.
fn find(lines: &[&str], old: &[String], guess: usize, from: usize) -> Option<usize> {
    let last = lines.len().checked_sub(old.len()).filter(|last| *last >= from)?;
    let guess = guess.clamp(from, last);
    let fits = |place: &usize| lines.get(*place..*place + old.len()).is_some_and(|lines| lines.iter().eq(old));
    let near = |offset| [guess.checked_add(offset), guess.checked_sub(offset)];
    (0..=last - from).flat_map(near).flatten().filter(|place| (from..=last).contains(place)).find(fits)
}
