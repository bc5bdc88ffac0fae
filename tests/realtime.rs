//! The live feed over real sockets.

mod asyncapi;
mod bound;
mod channels;
mod described;
mod devices;
mod faults;
mod http;
mod killed;
mod limits;
mod sessions;
mod shutdown;
pub(crate) mod world;
