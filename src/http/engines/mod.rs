//! Engines: the list, the description of each, and its run.

mod body;
mod describe;
mod orchestrate;
mod run;
mod stream;

use actix_web::http::Method;

pub use body::{EngineBody, EngineEntry, EngineRun, Explanation};

use crate::route::{Operation, operation};

/// Returns the operations of this feature. One pattern serves every engine; the run of each is described with its own
/// types.
pub fn operations() -> Vec<Operation> {
    vec![
        operation!(run::list),
        operation!(run::get),
        Operation::of_many((Method::POST, "/api/q{number}/run"), describe::runs, run::run),
        Operation::of_many(
            (Method::POST, "/api/q155/sentinel/orchestrate"),
            describe::orchestration,
            orchestrate::orchestrate,
        ),
    ]
}
