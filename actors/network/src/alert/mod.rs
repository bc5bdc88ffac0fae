//! CAP alerts, published for incidents or imported. Pure records; the incident actor owns them, because an alert and
//! its incident change in one batch.

mod area;
mod cap;
mod index;
mod record;
mod state;
mod words;

pub(crate) use area::{has_point, points_of, with_radius};
pub(crate) use cap::{from_cap, to_xml};
pub(crate) use index::{AlertIndex, MAX_PARKED};
pub use muster_cap::{Category, Certainty, MsgType, ResponseType, Scope, Severity, Status, Urgency};
pub use record::{AlertChange, AlertInfo, AlertRecord, Document, Origin, Reference};
pub use state::{AlertAction, AlertState, WaitsFor};
pub(crate) use words::{Occasion, end, title, update_headline};
