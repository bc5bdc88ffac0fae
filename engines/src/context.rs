//! Context of an engine call, and its failures.

use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::language_data::LanguageData;

/// Maximum number of warnings per call; further ones are only counted in the last one.
const MAX_WARNINGS: usize = 100;

/// Context of one call.
#[derive(Default)]
pub struct Context {
    workspace: Option<PathBuf>,
    languages: Arc<LanguageData>,
    warnings: RefCell<Vec<String>>,
    on_stack: Option<Box<dyn Fn(usize) + Send>>,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}

/// Reservation of stack memory; released on drop.
pub(crate) struct StackReservation<'a>(&'a Context);

impl Drop for StackReservation<'_> {
    fn drop(&mut self) {
        self.0.report_stack(0);
    }
}

impl Context {
    /// Creates the context of a call that may read files below `root`.
    pub fn with_workspace(root: PathBuf) -> Self {
        Self { workspace: Some(root), ..Self::default() }
    }

    /// Adds the data of languages.
    #[must_use]
    pub fn with_languages(self, languages: Arc<LanguageData>) -> Self {
        Self { languages, ..self }
    }

    /// Returns the data of languages; empty if none was fetched.
    pub fn languages(&self) -> &LanguageData {
        &self.languages
    }

    /// Sets a callback for the bytes that the engine's own stack reserves, and 0 when it is freed; used by calls with a
    /// memory limit.
    #[must_use]
    pub fn with_stacks(self, on_stack: impl Fn(usize) + Send + 'static) -> Self {
        Self { on_stack: Some(Box::new(on_stack)), ..self }
    }

    pub(crate) fn reserve_stack(&self, bytes: usize) -> StackReservation<'_> {
        self.report_stack(bytes);
        StackReservation(self)
    }

    fn report_stack(&self, bytes: usize) {
        if let Some(on_stack) = &self.on_stack {
            on_stack(bytes);
        }
    }

    /// Returns the folder that `workspace` engines may read.
    ///
    /// # Errors
    /// `Failure::NoWorkspace` if the operator has not configured one.
    pub fn workspace(&self) -> Result<&Path, Failure> {
        self.workspace.as_deref().ok_or(Failure::NoWorkspace)
    }

    /// Adds a warning about the output.
    pub fn warn(&self, text: impl Into<String>) {
        let mut warnings = self.warnings.borrow_mut();
        match warnings.len() {
            0..MAX_WARNINGS => warnings.push(text.into()),
            MAX_WARNINGS => warnings.push("more warnings were omitted".to_owned()),
            _ => {}
        }
    }

    /// Returns the warnings.
    pub fn into_warnings(self) -> Vec<String> {
        self.warnings.into_inner()
    }
}

/// One problem of an input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// Path from the root of the input to the value, such as `["rules", "0", "check"]`.
    pub loc: Vec<String>,
    /// What is wrong and how to fix it.
    pub message: String,
    /// Kind of problem.
    pub kind: ProblemKind,
    /// The rejected value; `null` if it is missing or large.
    pub input: Value,
}

/// Kind of problem of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// A required value is missing.
    Missing,
    /// The value has the wrong type.
    TypeError,
    /// The value has the right type but is not allowed.
    ValueError,
    /// The member is not known.
    Unknown,
}

impl ProblemKind {
    /// Returns the name of the kind in error responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::TypeError => "type_error",
            Self::ValueError => "value_error",
            Self::Unknown => "extra_forbidden",
        }
    }
}

/// Why a call produced no output.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "failure", rename_all = "snake_case")]
pub enum Failure {
    /// The input does not match the engine's fields.
    #[error("the input does not match the engine's fields")]
    Invalid {
        /// All problems found.
        problems: Vec<Problem>,
    },
    /// A path leads out of the workspace folder.
    #[error("{path} is outside of the workspace folder: only paths within it may be read")]
    Outside {
        /// The path.
        path: String,
    },
    /// A path of the workspace does not exist.
    #[error("{path} does not exist in the workspace folder")]
    NotFound {
        /// The path.
        path: String,
    },
    /// No workspace folder is configured.
    #[error("no workspace folder is configured: the operator can set [workspace] path")]
    NoWorkspace,
    /// A file of data that the engine needs is absent or damaged.
    #[error("{why}: fetch it with `muster models pull {id}`")]
    NoModel {
        /// Id of the model or table.
        id: String,
        /// What is wrong with it.
        why: String,
    },
    /// The input is well-formed but exceeds a limit, such as the number of results.
    #[error("{message}")]
    TooLarge {
        /// Which limit, and how to stay within it.
        message: String,
    },
    /// An internal error.
    #[error("{message}")]
    Internal {
        /// What failed.
        message: String,
    },
}

impl Failure {
    /// Creates the failure for one invalid field. `loc` is its path, such as `&["query"]`.
    pub fn invalid(loc: &[&str], message: impl Into<String>) -> Self {
        let loc = loc.iter().map(|&part| part.to_owned()).collect();
        let problem = Problem { loc, message: message.into(), kind: ProblemKind::ValueError, input: Value::Null };
        Self::Invalid { problems: vec![problem] }
    }

    /// Creates the failure for an exceeded limit.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::TooLarge { message: message.into() }
    }

    /// Creates an internal failure.
    pub fn internal(message: impl std::fmt::Display) -> Self {
        Self::Internal { message: message.to_string() }
    }
}
