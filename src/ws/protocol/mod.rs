//! The protocol `muster.v1.json`, independent of the transport: frames, their meaning, and when a session ends.

mod bucket;
mod endpoint;
mod fault;
mod filter;
mod inbound;
mod options;
pub(crate) mod outbound;
mod session;
mod subject;

pub use bucket::Rate;
pub use endpoint::Endpoint;
pub use fault::{Fault, FaultKind};
pub use filter::{Box4, Filter, FilterRequest, SEVERITIES, spans};
pub use inbound::Since;
pub use options::ProtocolOptions;
pub(crate) use session::fault_of as refused;
pub use session::{Authenticated, CommandRequest, Effect, Peer, Refusal, Session};
pub use subject::Subject;

/// The subprotocol that a handshake names.
pub const SUBPROTOCOL: &str = "muster.v1.json";
/// The text of a heartbeat.
pub const HEARTBEAT: &[u8] = b"{}";
