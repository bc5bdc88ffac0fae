//! Records, room that is reserved, and quotas. Pure: time is an argument.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

use muster_core::page::{Page, PageParams};
use muster_core::{Error, Kind, Millis};

use super::messages::{PictureStats, Room};
use super::record::Picture;

/// Bounds of what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureLimits {
    /// Pictures of one owner.
    pub owner_pictures: u64,
    /// Bytes of one owner.
    pub owner_bytes: u64,
    /// Bytes of all owners together.
    pub total_bytes: u64,
}

impl Default for PictureLimits {
    fn default() -> Self {
        Self { owner_pictures: 200, owner_bytes: 256 << 20, total_bytes: 4 << 30 }
    }
}

/// Pictures and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) pictures: u64,
    pub(super) bytes: u64,
}

impl Amount {
    fn plus(self, other: Self) -> Self {
        Self { pictures: self.pictures.saturating_add(other.pictures), bytes: self.bytes.saturating_add(other.bytes) }
    }

    fn minus(self, other: Self) -> Self {
        Self { pictures: self.pictures.saturating_sub(other.pictures), bytes: self.bytes.saturating_sub(other.bytes) }
    }
}

/// Room that was reserved. It is free again once its holder has dropped the token.
#[derive(Debug)]
struct Reserved {
    owner: String,
    amount: Amount,
    token: Weak<()>,
}

/// All pictures and reservations.
#[derive(Debug)]
pub(super) struct PictureState {
    limits: PictureLimits,
    pictures: BTreeMap<String, Arc<Picture>>,
    owners: HashMap<String, Amount>,
    total: Amount,
    reserved: HashMap<u64, Reserved>,
    next: u64,
}

impl PictureState {
    pub(super) fn new(limits: PictureLimits) -> Self {
        Self {
            limits,
            pictures: BTreeMap::new(),
            owners: HashMap::new(),
            total: Amount::default(),
            reserved: HashMap::new(),
            next: 0,
        }
    }

    pub(super) fn set_limits(&mut self, limits: PictureLimits) {
        self.limits = limits;
    }

    /// Adds a picture.
    pub(super) fn insert(&mut self, picture: Arc<Picture>) {
        self.remove(&picture.id);
        let amount = amount_of(&picture);
        let owner = self.owners.entry(picture.owner.clone()).or_default();
        *owner = owner.plus(amount);
        self.total = self.total.plus(amount);
        self.pictures.insert(picture.id.clone(), picture);
    }

    /// Removes a picture and returns it.
    pub(super) fn remove(&mut self, id: &str) -> Option<Arc<Picture>> {
        let picture = self.pictures.remove(id)?;
        let amount = amount_of(&picture);
        self.total = self.total.minus(amount);
        if let Some(owner) = self.owners.get_mut(&picture.owner) {
            *owner = owner.minus(amount);
            if owner.pictures == 0 {
                self.owners.remove(&picture.owner);
            }
        }
        Some(picture)
    }

    /// Returns a picture that is not expired; expired and unknown ones are alike.
    pub(super) fn get(&self, id: &str, now: Millis) -> Result<Arc<Picture>, Error> {
        let found = self.pictures.get(id).filter(|picture| picture.expires > now);
        found.cloned().ok_or_else(not_found)
    }

    /// Returns a page of an owner's pictures, newest first.
    pub(super) fn list(&self, owner: &str, now: Millis, page: &PageParams) -> Page<Arc<Picture>> {
        let after = page.after.as_deref();
        let older = self.pictures.iter().rev().filter(|(id, _)| after.is_none_or(|after| id.as_str() < after));
        let own = older.filter(|(_, picture)| picture.owner == owner && picture.expires > now);
        Page::of(own.map(|(_, picture)| Arc::clone(picture)), page.limit, |picture| picture.id.clone())
    }

    /// Returns the pictures whose time is over, at most `most`.
    pub(super) fn expired(&self, now: Millis, most: usize) -> Vec<String> {
        let gone = self.pictures.values().filter(|picture| picture.expires <= now);
        gone.take(most).map(|picture| picture.id.clone()).collect()
    }

    /// Reserves room for an owner's pictures until `token` has no other holder.
    pub(super) fn reserve(&mut self, room: &Room, free_bytes: Option<u64>, token: &Arc<()>) -> Result<u64, Error> {
        self.reserved.retain(|_, reserved| reserved.token.strong_count() > 0);
        let amount = Amount { pictures: room.pictures, bytes: room.bytes };
        self.check(&room.owner, amount, free_bytes)?;
        self.next += 1;
        let reserved = Reserved { owner: room.owner.clone(), amount, token: Arc::downgrade(token) };
        self.reserved.insert(self.next, reserved);
        Ok(self.next)
    }

    /// Replaces a reservation by the pictures that are stored. A reservation that is not known, as after a restart, is
    /// judged anew.
    pub(super) fn settle(&mut self, reservation: u64, pictures: &[Arc<Picture>]) -> Result<(), Error> {
        let held = self.reserved.remove(&reservation).map(|reserved| reserved.amount).unwrap_or_default();
        let stored = pictures.iter().map(|picture| amount_of(picture)).fold(Amount::default(), Amount::plus);
        if stored.pictures > held.pictures || stored.bytes > held.bytes {
            let Some(first) = pictures.first() else { return Ok(()) };
            self.check(&first.owner.clone(), stored, None)?;
        }
        Ok(())
    }

    fn check(&self, owner: &str, amount: Amount, free_bytes: Option<u64>) -> Result<(), Error> {
        let limits = &self.limits;
        let live = || self.reserved.values().filter(|reserved| reserved.token.strong_count() > 0);
        let stored = self.owners.get(owner).copied().unwrap_or_default();
        let own = live().filter(|reserved| reserved.owner == owner).map(|reserved| reserved.amount);
        let wanted = own.fold(stored, Amount::plus).plus(amount);
        if wanted.pictures > limits.owner_pictures || wanted.bytes > limits.owner_bytes {
            let message = format!(
                "the quota of stored pictures is {} and {} MiB, and {} pictures of {:.1} MiB are stored or being drawn: \
                 delete some with DELETE /api/images/{{id}}, or wait until they expire after 24 hours",
                limits.owner_pictures,
                limits.owner_bytes >> 20,
                wanted.pictures - amount.pictures,
                (wanted.bytes - amount.bytes) as f64 / f64::from(1 << 20)
            );
            return Err(Error::new(Kind::QuotaExceeded, message).coded("image_quota"));
        }
        let held = live().map(|reserved| reserved.amount).fold(Amount::default(), Amount::plus);
        let all = self.total.plus(held).plus(amount);
        if all.bytes > limits.total_bytes {
            return Err(full("the pictures of all owners fill the room that `images.total_mib` gives them"));
        }
        if free_bytes.is_some_and(|free| free < held.bytes.saturating_add(amount.bytes)) {
            return Err(full("of the disk, 5 % and at most 1 GiB must stay free"));
        }
        Ok(())
    }

    pub(super) fn stats(&self) -> PictureStats {
        PictureStats { pictures: self.total.pictures, bytes: self.total.bytes, owners: self.owners.len() as u64 }
    }

    /// Returns every identifier.
    pub(super) fn ids(&self) -> impl Iterator<Item = &String> {
        self.pictures.keys()
    }
}

fn amount_of(picture: &Picture) -> Amount {
    Amount { pictures: 1, bytes: picture.bytes }
}

fn full(why: &str) -> Error {
    let message = format!("no picture can be stored now: {why}; try again later, or tell the operator");
    Error::new(Kind::Unavailable, message).coded("image_storage_full").retry_in(std::time::Duration::from_secs(60))
}

/// The error for a picture that does not exist, has expired or belongs to another.
pub(super) fn not_found() -> Error {
    Error::new(Kind::NotFound, "there is no such picture: pictures are kept for 24 hours, for their owner")
}
