//! Messages of the actor.

use std::sync::Arc;

use actix::Message;
use muster_core::Error;
use muster_core::page::{Page, PageParams};
use serde::Serialize;

use super::record::Picture;
use super::state::PictureLimits;

/// Room for pictures that are about to be drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// Principal that they will belong to.
    pub owner: String,
    /// Number of pictures.
    pub pictures: u64,
    /// Most bytes of all of them together.
    pub bytes: u64,
}

/// A picture to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPicture {
    /// The file.
    pub png: Vec<u8>,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Model that drew it.
    pub model: String,
    /// Provider that drew it.
    pub provider: String,
    /// How it was drawn: `model` or `sketch`.
    pub method: String,
}

/// What is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PictureStats {
    /// Pictures.
    pub pictures: u64,
    /// Bytes of their files.
    pub bytes: u64,
    /// Owners with pictures.
    pub owners: u64,
}

/// Reserves room; returns the number of the reservation.
#[derive(Debug, Message)]
#[rtype(result = "Result<u64, Error>")]
pub(super) struct Reserve {
    pub(super) room: Room,
    pub(super) free_bytes: Option<u64>,
    pub(super) token: Arc<()>,
}

/// Stores the records of files that are on disk.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), Error>")]
pub(super) struct Store {
    pub(super) reservation: u64,
    pub(super) pictures: Vec<Arc<Picture>>,
}

#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<Picture>, Error>")]
pub(super) struct Get(pub(super) String);

#[derive(Debug, Message)]
#[rtype(result = "Result<Page<Arc<Picture>>, Error>")]
pub(super) struct List {
    pub(super) owner: String,
    pub(super) page: PageParams,
}

/// Deletes a picture of this owner.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), Error>")]
pub(super) struct Delete {
    pub(super) owner: String,
    pub(super) id: String,
}

#[derive(Debug, Message)]
#[rtype(result = "PictureStats")]
pub(super) struct Stats;

#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct SetLimits(pub(super) PictureLimits);

/// Returns every identifier, for a comparison with the files.
#[derive(Debug, Message)]
#[rtype(result = "Vec<String>")]
pub(super) struct Ids;
