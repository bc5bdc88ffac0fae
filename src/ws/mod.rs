//! Live connections: one protocol, one shard per serving thread, and a transport each for sockets and event streams.
//!
//! A transport (`direct/` for sockets, `events.rs` for server-sent events) owns the connection. It passes received bytes to the [`Shard`] of its thread and
//! writes what the shard returns; it knows neither frames nor the protocol.

mod admission;
mod close;
mod command;
mod counts;
mod direct;
mod events;
mod handshake;
pub mod protocol;
mod remembered;
mod shard;
mod socket_handle;
mod sockets;
pub mod wire;

pub use admission::{Admission, Admitted, FeedAuthenticator, Watch};
pub use close::{AfterClose, Close};
pub use command::{Command, CommandSink, Commands, Done};
pub use counts::{Connected, Counts, MAX_PER_DEVICE};
pub use direct::{ServerStream, upgrades};
pub use events::listen;
pub(crate) use handshake::bearer;
pub use handshake::upgrade;
pub(crate) use protocol::Endpoint;
pub(crate) use shard::read_positions;
pub use shard::{AfterWrite, Collected, Framing, Opening, Positions, Shard, TransportHandle};
pub use socket_handle::SocketHandle;
pub use sockets::{ShardOptions, SocketOptions, Sockets, shard_of};
