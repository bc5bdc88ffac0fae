//! The frame of engines: typed functions that clients and agents call.
//!
//! The published definition of an engine is in `engines/catalogue/<family>.toml` only: number, id, fields in a small
//! type grammar, method, source, example, version, accuracy. The engine's file has the structs of input and output, with
//! the derives, and the function. [`family!`] joins both by number. The frame checks inputs and fills in defaults before
//! the function runs.
//!
//! An engine is a function of its input, of the files of the workspace (`workspace`) or of the server's answers to its
//! needs (`model`, `state`). It uses no actor, network or clock, and the same input gives the same output.

#![warn(missing_docs)]

pub mod catalogue;
pub mod context;
pub mod engine;
pub mod failure;
pub mod family;
pub mod finding;
pub mod grammar;
pub mod language_data;
pub mod need;
pub mod prelude;
pub mod sample;
pub mod stack;
#[cfg(feature = "test-world")]
pub mod testing;
mod units;
pub mod vector;
pub mod wire;

pub use context::{Context, Explained, Progress, Step};
pub use engine::{Cost, DataSource, Engine, Nature, call, shapes};
pub use failure::{Failure, NoAnswer, Problem, ProblemKind, repeated};
pub use family::{Family, FamilyEngines, Registration};
pub use finding::{Finding, Severity};
pub use language_data::LanguageData;
pub use need::{Answer, Answered, ChatMessage, MemoryRanking, Need};
