//! The live feed: sockets, and over HTTP its history, its presence and server-sent events.

mod api;
mod channels;
mod socket;
mod sse;

use crate::route::operations;

operations! {
    socket::open,
    sse::listen,
    channels::history,
    channels::presence,
    api::asyncapi,
}
