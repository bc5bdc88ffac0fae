//! Why a text is no set of rules.

use crate::bounds::{MAX_DEPTH, MAX_RULES, MAX_TEXT};

/// Why a text is no set of rules. The message is for whoever wrote the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The text is longer than [`MAX_TEXT`].
    #[error("has {0} bytes, at most {MAX_TEXT} are taken")]
    TooLong(usize),
    /// The text has more rules than [`MAX_RULES`].
    #[error("has {0} rules, at most {MAX_RULES} are taken")]
    TooManyRules(usize),
    /// Brackets, or words `if`, are nested deeper than [`MAX_DEPTH`].
    #[error("line {line}: is nested more than {MAX_DEPTH} deep")]
    TooDeep {
        /// Number of the line, from 1.
        line: usize,
    },
    /// The text is not Cedar, or has a part of it that is not taken here.
    #[error("line {line}: {why}")]
    Syntax {
        /// Number of the line, from 1.
        line: usize,
        /// What was expected.
        why: String,
    },
    /// An `@id` is empty, too long or has characters that cannot be shown.
    #[error("@id {0:?} takes 1 to 64 of the characters a-z, A-Z, 0-9, `-`, `_` and `.`")]
    Id(String),
    /// Two rules have the same `@id`, so that a veto could not name the one that hit.
    #[error("two rules have the @id {0:?}")]
    DuplicateId(String),
    /// A rule does not fit the schema: it would err, or compares what cannot be equal.
    #[error("rule {rule}, line {line}: {why}")]
    Invalid {
        /// Its `@id`, else `policy` and its number in the text.
        rule: String,
        /// Line on which it begins.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
}
