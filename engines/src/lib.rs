//! Engines: typed functions that clients and agents call.
//!
//! An engine is one file that defines one static, an [`Engine`]: its number, its fields in a small type grammar, an
//! example, the source of its method, and the function itself. From the static come its JSON Schemas, the check of
//! what it is given, its entry in the API's description, and its tests. Engines are pure: the same input gives the same
//! output, and nothing but a `workspace` engine reads a file. They know no actor, no network and no clock.

pub mod context;
pub mod engine;
pub mod grammar;
pub mod registry;
pub mod stack;
pub mod vector;
pub mod versions;
#[cfg(feature = "repository")]
pub mod workspace;

pub mod code;
pub mod data;
pub mod docs;
pub mod platform;
pub mod security;
pub mod text;

pub use context::{Context, Failure};
pub use engine::{Engine, Family, Nature};
pub use registry::{all, by_id, by_number};
