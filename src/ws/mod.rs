//! Live connections: one protocol, one shard per serving thread, and several implementations of the transport.
//!
//! A transport (such as `actix/`) owns the connection. It passes received bytes to the [`Shard`] of its thread and
//! writes what the shard returns; it knows neither frames nor the protocol.

mod actix;
mod admission;
mod close;
mod command;
mod counts;
mod direct;
mod events;
pub mod protocol;
mod shard;
mod socket_handle;
mod sockets;
mod wire;

pub(crate) use actix::bearer;
pub use actix::upgrade;
pub use admission::{Admission, Admitted, FeedAuthenticator, Watch};
pub use close::{AfterClose, Close};
pub use command::{Command, CommandSink, Commands, Done};
pub use counts::{Connected, Counts, MAX_PER_DEVICE};
pub(crate) use direct::{ServerStream, upgrades};
pub use events::listen;
pub(crate) use protocol::Endpoint;
pub(crate) use shard::read_positions;
pub use shard::{AfterWrite, Collected, Framing, Opening, Positions, Shard, TransportHandle};
pub use socket_handle::SocketHandle;
pub use sockets::{ShardOptions, SocketOptions, Sockets, shard_of};
