//! What a call of an engine may use, and how it may fail.

use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most warnings of one call; further ones are only counted in the last.
const MAX_WARNINGS: usize = 100;

/// One call's surroundings.
#[derive(Default)]
pub struct Context {
    workspace: Option<PathBuf>,
    warnings: RefCell<Vec<String>>,
    stacks: Option<Box<dyn Fn(usize) + Send>>,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}

/// Room for a stack; dropped, it is taken back.
pub(crate) struct StackRoom<'a>(&'a Context);

impl Drop for StackRoom<'_> {
    fn drop(&mut self) {
        self.0.tell_stacks(0);
    }
}

impl Context {
    /// A call that may read files below `root`.
    pub fn with_workspace(root: PathBuf) -> Self {
        Self { workspace: Some(root), ..Self::default() }
    }

    /// A call whose memory is bounded: told how many bytes the engine's own stack reserves beside it, 0 once it is gone.
    #[must_use]
    pub fn with_stacks(self, stacks: impl Fn(usize) + Send + 'static) -> Self {
        Self { stacks: Some(Box::new(stacks)), ..self }
    }

    pub(crate) fn stack_room(&self, bytes: usize) -> StackRoom<'_> {
        self.tell_stacks(bytes);
        StackRoom(self)
    }

    fn tell_stacks(&self, bytes: usize) {
        if let Some(stacks) = &self.stacks {
            stacks(bytes);
        }
    }

    /// The folder that `workspace` engines may read.
    ///
    /// # Errors
    /// `Failure::NoWorkspace` where the operator gives none.
    pub fn workspace(&self) -> Result<&Path, Failure> {
        self.workspace.as_deref().ok_or(Failure::NoWorkspace)
    }

    /// Says something about the output that its fields do not.
    pub fn warn(&self, text: impl Into<String>) {
        let mut warnings = self.warnings.borrow_mut();
        match warnings.len() {
            0..MAX_WARNINGS => warnings.push(text.into()),
            MAX_WARNINGS => warnings.push("more warnings were left out".to_owned()),
            _ => {}
        }
    }

    pub fn into_warnings(self) -> Vec<String> {
        self.warnings.into_inner()
    }
}

/// One thing that is wrong with an input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// From the input's top to the value, such as `["rules", "0", "check"]`.
    pub loc: Vec<String>,
    /// What is wrong and how to mend it.
    pub message: String,
    /// In which way.
    pub kind: Wrong,
    /// What was given; `null` where it is missing or large.
    pub input: Value,
}

/// In which way a value is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wrong {
    Missing,
    TypeError,
    ValueError,
}

/// Why there is no output.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "failure", rename_all = "snake_case")]
pub enum Failure {
    /// The input is not what the engine takes.
    #[error("the input is not what this engine takes")]
    Invalid { problems: Vec<Problem> },
    /// A path leads out of the workspace folder.
    #[error("{path} is outside of the workspace folder: only paths within it may be read")]
    Outside { path: String },
    /// A path of the workspace that is not there.
    #[error("there is nothing at {path} in the workspace folder")]
    NotFound { path: String },
    #[error("no workspace folder is set up: the operator can set [workspace] path")]
    NoWorkspace,
    /// The input is well-formed and asks for more than a bound allows, such as too many results.
    #[error("{message}")]
    TooLarge { message: String },
    /// A fault of ours.
    #[error("{message}")]
    Internal { message: String },
}

impl Failure {
    /// One field's value is wrong. `loc` is its place, such as `&["query"]`.
    pub fn invalid(loc: &[&str], message: impl Into<String>) -> Self {
        let loc = loc.iter().map(|&part| part.to_owned()).collect();
        let problem = Problem { loc, message: message.into(), kind: Wrong::ValueError, input: Value::Null };
        Self::Invalid { problems: vec![problem] }
    }

    pub fn too_large(message: impl Into<String>) -> Self {
        Self::TooLarge { message: message.into() }
    }

    pub fn internal(message: impl std::fmt::Display) -> Self {
        Self::Internal { message: message.to_string() }
    }
}
