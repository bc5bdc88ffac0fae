//! The keys that our tokens are signed with: one current, one next that is shown before it is used, and retired ones
//! that stay until the last token they signed has ended.

mod file;
mod ring;
mod set;

pub use file::KeyError;
pub use ring::{Change, KeyRing, Policy};
pub use set::{KeySet, SigningKey};
