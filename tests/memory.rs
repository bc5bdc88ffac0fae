//! Semantic memory over HTTP: entries are stored and found, by their owners, until they expire or are deleted.

mod batch;
mod busy;
mod entries;
mod expiry;
mod forget;
mod hostile;
mod isolation;
mod languages;
mod lists;
mod rebuilt;
mod search;
mod semantic;
mod stats;
mod versions;
mod world;
