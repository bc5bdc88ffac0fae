//! The live feed over real sockets.

mod asyncapi;
mod channels;
mod devices;
mod faults;
mod http;
mod limits;
mod sessions;
mod world;
