//! RFC 6455 as bytes: what every lane reads and writes, knowing no transport.
//!
//! The reader is ours because the library's waits for the whole of a frame before it refuses one that is too large, and
//! puts no bound on a message in pieces.

mod read;
mod write;

pub use read::{Inbound, Reader};
pub use write::{close, framed, pong};
