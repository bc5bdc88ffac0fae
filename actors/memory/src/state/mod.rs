//! What a change of an entry brings with it. Pure: the present entry, the time and new identifiers are arguments.
//!
//! Everything that one change writes goes into one [`Turn`], and from there into one batch: the entry, its identifier, its
//! history, its vector, its end, the figures and the line of the changes' log stand or fall together.

mod end;
mod refused;
mod store;
mod tally;
#[cfg(test)]
mod tests;
mod turn;
mod vector;

pub(super) use end::{End, Ended, delete, expire};
pub(super) use refused::Refused;
pub(super) use store::{Draft, Stored, store};
pub(super) use tally::Delta;
pub(super) use turn::Turn;
pub(super) use vector::vector;
