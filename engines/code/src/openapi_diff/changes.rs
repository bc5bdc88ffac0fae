//! The list of changes.

use muster_engine::prelude::*;

const MAX_CHANGES: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Output)]
pub(super) struct Change {
    /// The path, then the operation and the place within it.
    pub path: String,
    pub kind: String,
    pub message: String,
}

#[derive(Default)]
pub(super) struct Changes {
    pub breaking: Vec<Change>,
    pub compatible: Vec<Change>,
    left_out: bool,
    pub too_deep: bool,
}

/// Whether existing clients keep working.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Breaking,
    Compatible,
}

impl Changes {
    pub(super) fn add(&mut self, effect: Effect, path: &str, kind: impl Into<String>, message: impl Into<String>) {
        let list = if effect == Effect::Breaking { &mut self.breaking } else { &mut self.compatible };
        let change = Change { path: path.to_owned(), kind: kind.into(), message: message.into() };
        if list.len() >= MAX_CHANGES {
            self.left_out = true;
        } else if !list.contains(&change) {
            list.push(change);
        }
    }

    pub(super) fn breaking(&mut self, path: &str, kind: &str, message: impl Into<String>) {
        self.add(Effect::Breaking, path, kind, message);
    }

    pub(super) fn compatible(&mut self, path: &str, kind: &str, message: impl Into<String>) {
        self.add(Effect::Compatible, path, kind, message);
    }

    pub(super) fn warn(&self, context: &Context) {
        if self.left_out {
            context.warn(format!("only the first {MAX_CHANGES} changes are reported"));
        }
        if self.too_deep {
            context.warn("schemas are nested too deeply, or are too many: they are compared in part");
        }
    }
}
