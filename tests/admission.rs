//! Admission before work: a request is judged by its head, bodies are bounded in size, time, structure and number, and
//! so are connections.

mod bodies;
mod budget;
mod connections;
mod cors;
mod heads;
mod raw;
mod slow;
mod tables;
