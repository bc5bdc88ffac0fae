//! Registry of the engines: typed functions that clients and agents call.
//!
//! An engine is a file of its family's crate, `engines/<family>`: a struct of its input, one of its output, and a
//! function. Its record in `engines/catalogue/<family>.toml` is its published definition. Its JSON Schemas, input
//! validation, API description and tests are derived from both. The frame (`muster-engine`) has what all share.

#![warn(missing_docs)]

pub mod registry;
pub mod vector;

pub use muster_engine::{
    Answer, Answered, ChatMessage, Context, Cost, DataSource, Engine, Explained, Failure, Family, LanguageData,
    MemoryRanking, Nature, Need, NoAnswer, Problem, ProblemKind, Progress, Step, context, grammar, sample, stack,
};
pub use registry::{all, by_id, by_number, search};
