//! Applies a patch to files in memory; each file is patched completely or not at all.

use std::collections::BTreeMap;

use diffy::patch_set::{FileOperation, FilePatch, PatchKind};

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
        match (diffy::apply(&before, text), patch.operation()) {
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
