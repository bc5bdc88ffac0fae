//! The signing keys: a current one, a next one that is published before it is used, and retired ones that are kept
//! until the last token they signed has expired.

mod file;
mod ring;
mod set;

pub use file::KeyError;
pub use ring::{KeyRing, RotationPolicy, SigningKeyChange};
pub use set::{KeySet, SigningKey};
