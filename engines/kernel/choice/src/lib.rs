//! Graphs and choices: paths, flows, assignment, programmes, schedules: what engines of several families compute with.

#![warn(missing_docs)]
