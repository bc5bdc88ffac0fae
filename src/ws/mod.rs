//! Live sockets: one protocol, one shard for each thread that serves, and lanes that carry bytes.
//!
//! A lane (`actix/`) owns a connection's transport. It hands what came to its thread's [`Shard`], and writes what that
//! gives it to write; it knows neither frames nor the protocol. Another transport is another lane.

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
