//! Checks that several engines of this family make.

use muster_engine::prelude::*;

/// Refuses more edges than an engine takes.
pub(crate) fn at_most(count: usize, most: usize, what: &str) -> Result<(), Failure> {
    if count > most {
        return Err(Failure::too_large(format!("at most {most} {what} are taken, and there are {count}")));
    }
    Ok(())
}

/// Refuses a value of an edge, such as a negative cost.
pub(crate) fn edge_problem(index: usize, member: &str, message: &str) -> Failure {
    Failure::invalid(&["edges", &index.to_string(), member], message)
}

/// Refuses an unknown node.
pub(crate) fn unknown_node(field: &str, name: &str) -> Failure {
    Failure::invalid(&[field], format!("names {name}, which no edge mentions"))
}
