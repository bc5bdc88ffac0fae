//! Consequences of a change to an entry. Pure: the current entry, the time and new ids are arguments.
//!
//! All writes of one change are collected in one [`Transaction`] and stored in one batch: the entry, its id, history, vector,
//! expiry, usage and change log line are atomic.

mod rejection;
mod removal;
mod store;
#[cfg(test)]
mod tests;
mod transaction;
mod usage_delta;
mod vector;

pub(super) use rejection::Rejection;
pub(super) use removal::{Expired, ExpiryRow, delete, expire};
pub(super) use store::{Draft, Stored, store};
pub(super) use transaction::Transaction;
pub(super) use usage_delta::UsageDelta;
pub(super) use vector::vector;
