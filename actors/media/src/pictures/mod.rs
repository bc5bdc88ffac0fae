//! Stored pictures: files of 24 hours with a record each.
//!
//! Order of a write: room is reserved before anything is paid; each file is written, synced and renamed; then its record is
//! stored; then the caller gets its answer. So there is no record without a file, also after `kill -9`. A file without a
//! record is removed when the actor starts. A deletion removes the record first. Neither files nor records are in a backup.

mod actor;
mod files;
mod link;
mod messages;
mod record;
mod service;
mod state;
#[cfg(test)]
mod tests;

pub use actor::PictureOptions;
pub use link::Signature;
pub use messages::{NewPicture, PictureStats, Room};
pub use record::Picture;
pub use service::{Pictures, Reservation};
pub use state::PictureLimits;
