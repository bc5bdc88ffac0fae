//! Consequences of a change to an entry. Pure: the current entry, the time and new ids are arguments.
//!
//! All writes of one change are collected in one [`Transaction`] and stored in one batch: the entry, its id, history, vector,
//! expiry, tallies and change log line are atomic.

mod end;
mod refused;
mod store;
mod tally;
#[cfg(test)]
mod tests;
mod transaction;
mod vector;

pub(super) use end::{End, Ended, delete, expire};
pub(super) use refused::Refused;
pub(super) use store::{Draft, Stored, store};
pub(super) use tally::Delta;
pub(super) use transaction::Transaction;
pub(super) use vector::vector;
