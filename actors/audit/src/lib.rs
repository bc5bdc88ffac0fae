//! The audit log as a transparency log: who acted, in an order that nobody can change unseen.
//!
//! - [`LogKeys`]: the keys by which this server signs checkpoints, and the secret of its nonces.

#![warn(missing_docs)]

mod keys;

pub use keys::{BytesSignature, LogKeyError, LogKeys, OVERLAP, OpenedKeys};
