//! Agents: their catalogue and their runs.

mod catalogue;
mod run;

use crate::route::operations;

operations! {
    catalogue::list,
    catalogue::get,
    run::run,
}
