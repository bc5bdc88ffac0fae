//! One namespace's entries: words, vectors, tags, threads and times together.
//!
//! Every entry has a number ([`DocNo`](crate::DocNo)) by which all parts know it. All parts are in pieces behind counted
//! references: a clone is cheap and keeps what it was, so that a checkpoint is written beside the index. No values are
//! kept, and nothing here knows the time: whoever searches says what time it is.

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
