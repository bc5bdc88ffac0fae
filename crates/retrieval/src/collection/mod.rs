//! One namespace's entries: words, vectors, tags, threads and times.
//!
//! Every entry has a number ([`DocNo`](crate::DocNo)) in all parts. All parts consist of reference-counted chunks: a
//! clone is cheap and immutable, so that a checkpoint is written while the index changes. Values are not stored, and
//! there is no clock: the caller of a search passes the time.

mod admitted;
mod codec;
mod document;
mod entries;
mod names;
mod order;
mod passages;

#[cfg(test)]
mod tests;

pub(crate) use admitted::Admitted;
pub use codec::DecodeError;
pub use document::Document;
pub use entries::{Collection, CollectionOptions};
pub use passages::passages;
