//! CAP alerts: what is published of incidents and what is imported. Pure records; the actor of incidents owns them,
//! because an alert and its incident change in one batch.

mod area;
mod cap;
mod index;
mod record;

pub use cap::{from_cap, to_xml};
pub use index::{AlertIndex, MAX_PARKED};
pub use muster_cap::{Category, Certainty, MsgType, ResponseType, Scope, Severity, Status, Urgency};
pub use record::{AlertChange, AlertInfo, AlertRecord, AlertState, Document, Origin, Reference};
