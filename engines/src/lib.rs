//! Engines: typed functions that clients and agents call.
//!
//! An engine is one module that defines one static, an [`Engine`]: its number, its fields in a small type grammar, an
//! example, the source of its method, and the function. Its JSON Schemas, input validation, API description entry and
//! tests are derived from it. Engines are pure: the same input gives the same output, and only `workspace` engines read
//! files. They use no actor, network or clock.

#![warn(missing_docs)]

pub mod context;
pub mod engine;
pub mod grammar;
pub mod language_data;
pub mod registry;
pub mod stack;
pub mod vector;
pub mod versions;
#[cfg(feature = "repository")]
pub mod workspace;

pub mod code;
pub mod data;
pub mod docs;
pub mod llm;
pub mod platform;
pub mod security;
pub mod text;

pub use context::{Context, Failure};
pub use engine::{Engine, Family, Nature};
pub use language_data::LanguageData;
pub use registry::{all, by_id, by_number};
