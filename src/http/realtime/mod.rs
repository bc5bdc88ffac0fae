//! The live feed: WebSockets, and over HTTP the history and presence of channels and server-sent events.

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
