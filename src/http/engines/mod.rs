//! Engines: the list, the description of each, and its run.

mod body;
mod describe;
mod run;
mod stream;

use actix_web::http::Method;

pub use body::{EngineBody, EngineRun, Explanation};

use crate::route::{Operation, operation};

/// Returns the operations of this feature. One pattern serves every engine; each engine is described with its own
/// types.
pub fn operations() -> Vec<Operation> {
    vec![
        operation!(run::list),
        Operation::of_many((Method::GET, "/api/q{number}"), describe::descriptions, run::get),
        Operation::of_many((Method::POST, "/api/q{number}/run"), describe::runs, run::run),
    ]
}
