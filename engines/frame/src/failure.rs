//! Failures of an engine call.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::need::Need;

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

/// Why a well-formed input has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoAnswer {
    /// No solution satisfies all constraints.
    Infeasible,
    /// A matrix or a system of equations has no unique solution.
    Singular,
    /// The method did not converge within its steps.
    NotConverged,
    /// The input lies outside the range in which the method holds.
    OutsideValidity,
    /// There are too few values for the method.
    TooFew,
}

impl NoAnswer {
    /// Returns the stable code of the reason.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Infeasible => "infeasible",
            Self::Singular => "singular",
            Self::NotConverged => "not_converged",
            Self::OutsideValidity => "outside_validity",
            Self::TooFew => "too_few",
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
    /// The input is well-formed and within all limits, and has no answer.
    #[error("{message}")]
    NoAnswer {
        /// Why there is none.
        reason: NoAnswer,
        /// What was found, and what would change it.
        message: String,
    },
    /// Something that only the server can provide was refused, and nothing replaces it.
    #[error("{why}")]
    Refused {
        /// Why it was refused.
        why: String,
    },
    /// Something that only the server can provide is needed first; the call is then made again with the answer.
    #[error("an answer of the server is needed first")]
    Needs {
        /// What is needed.
        need: Need,
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

    /// Checks that each id of a list occurs once. `list` is the field, `thing` names one of its items.
    ///
    /// # Errors
    /// `Invalid` for the first id that an earlier item has.
    pub fn unless_distinct<'a>(list: &str, thing: &str, ids: impl IntoIterator<Item = &'a str>) -> Result<(), Self> {
        match repeated(ids) {
            None => Ok(()),
            Some(at) => {
                let message = format!("is the id of an earlier {thing}: each id must occur once");
                Err(Self::invalid(&[list, &at.to_string(), "id"], message))
            }
        }
    }

    /// Creates the failure for an exceeded limit.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::TooLarge { message: message.into() }
    }

    /// Creates the failure of a well-formed input that has no answer.
    pub fn no_answer(reason: NoAnswer, message: impl Into<String>) -> Self {
        Self::NoAnswer { reason, message: message.into() }
    }

    /// Creates an internal failure.
    pub fn internal(message: impl std::fmt::Display) -> Self {
        Self::Internal { message: message.to_string() }
    }
}

/// Returns the place of the first id that an earlier item has.
pub fn repeated<'a>(ids: impl IntoIterator<Item = &'a str>) -> Option<usize> {
    let mut known = HashSet::new();
    ids.into_iter().position(|id| !known.insert(id))
}
