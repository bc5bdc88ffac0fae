//! The live feed over real sockets.

mod asyncapi;
mod bound;
mod channels;
mod devices;
mod ending;
mod faults;
mod http;
mod killed;
mod limits;
mod sessions;
pub(crate) mod world;
