//! RFC 6455 as bytes, independent of the transport.
//!
//! The reader is our own, because the library's waits for a whole frame before it rejects one that is too large, and
//! does not limit fragmented messages.

mod read;
mod write;

pub use read::{Inbound, Reader};
pub use write::{close, framed, pong};
