//! CAP alerts: what is published of incidents and what is imported. Pure records and words; the actor of incidents owns
//! them, because an alert and its incident change in one batch.

mod book;
mod record;
mod terms;

pub use book::{AlertBook, MAX_PARKED};
pub use record::{AlertChange, AlertInfo, AlertRecord, AlertState, Document, Origin, Reference};
pub use terms::{Category, Certainty, MsgType, ResponseType, Scope, Severity, Status, Urgency};
