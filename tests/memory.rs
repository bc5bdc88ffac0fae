//! Semantic memory over HTTP: what is stored is there and found, by whom it may be found, until it expires or is deleted.

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
