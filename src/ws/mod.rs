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
mod line;
pub mod protocol;
mod shard;
mod sockets;
mod wire;

pub(crate) use actix::bearer;
pub use actix::upgrade;
pub use admission::{Admission, Admitted, Doors, Watch};
pub use close::{Close, Then};
pub use command::{Command, CommandSink, Commands, Done};
pub use counts::{Connected, Counts, MAX_PER_DEVICE};
pub(crate) use direct::upgrades;
pub use events::listen;
pub use line::Line;
pub(crate) use protocol::Entrance;
pub(crate) use shard::read_positions;
pub use shard::{Collected, Framing, Link, Next, Opening, Positions, Shard};
pub use sockets::{ShardOptions, SocketOptions, Sockets, shard_of};
