//! The service of stored pictures.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use muster_core::ids::{IdKind, new_id};
use muster_core::page::{Page, PageParams};
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error, Kind};
use sha2::{Digest, Sha256};

use super::actor::{PictureActor, PictureOptions, load};
use super::files::PictureFiles;
use super::link::Signature;
use super::messages::{Delete, Get, Ids, List, NewPicture, PictureStats, Reserve, Room, SetLimits, Stats, Store};
use super::record::Picture;
use super::state::{PictureLimits, not_found};

/// How long a picture is kept.
const LIFETIME: Duration = Duration::from_secs(24 * 3_600);

/// The stored pictures. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Pictures {
    handle: Handle<PictureActor>,
    files: PictureFiles,
    signature: Signature,
    clock: Clock,
}

/// Room for pictures of an owner, free again when this is dropped.
#[derive(Debug)]
#[must_use = "the room is free again when the reservation is dropped"]
pub struct Reservation {
    number: u64,
    owner: String,
    _token: Arc<()>,
}

impl Pictures {
    /// Opens the folder and starts the actor. Blocking, but short.
    ///
    /// # Errors
    /// The folder or the key of the links cannot be opened.
    pub fn start(group: &Group, arbiter: ArbiterHandle, options: PictureOptions) -> std::io::Result<Self> {
        let files = PictureFiles::open(&options.folder)?;
        let signature = Signature::open(files.folder())?;
        let (own, clock) = (files.clone(), options.clock.clone());
        let spec = ChildSpec::new("pictures", arbiter, move |_| load(options.clone(), own.clone()));
        Ok(Self { handle: group.start(spec), files, signature, clock })
    }

    /// Waits until the records were read.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    /// Reserves room for pictures before they are paid for.
    ///
    /// # Errors
    /// `QuotaExceeded` (code `image_quota`) if the owner has too many; `Unavailable` if the disk or the room of all owners
    /// is full, or the actor restarts.
    pub async fn reserve(&self, room: Room) -> Result<Reservation, Error> {
        let files = self.files.clone();
        let free_bytes = blocking(move || files.free_bytes()).await?;
        let (token, owner) = (Arc::new(()), room.owner.clone());
        let reserve = Reserve { room, free_bytes: Some(free_bytes), token: Arc::clone(&token) };
        let number = self.handle.ask(reserve).await??;
        Ok(Reservation { number, owner, _token: token })
    }

    /// Stores pictures: files and records are durable when this returns.
    ///
    /// # Errors
    /// `Unavailable` if they could not be stored; nothing is stored then. `QuotaExceeded` if they are larger than was
    /// reserved and the quota does not cover that.
    pub async fn store(&self, reservation: Reservation, new: Vec<NewPicture>) -> Result<Vec<Arc<Picture>>, Error> {
        let (files, created, owner) = (self.files.clone(), self.clock.now(), reservation.owner.clone());
        let written = blocking(move || {
            let mut pictures = Vec::with_capacity(new.len());
            for picture in new {
                let id = new_id(IdKind::Image);
                let written = files.write(&id, &picture.png);
                pictures.push(Arc::new(Picture {
                    id,
                    owner: owner.clone(),
                    sha256: Sha256::digest(&picture.png).into(),
                    bytes: picture.png.len() as u64,
                    width: picture.width,
                    height: picture.height,
                    created,
                    expires: created.plus(LIFETIME),
                    model: picture.model,
                    provider: picture.provider,
                    method: picture.method,
                }));
                if let Err(error) = written {
                    files.remove(pictures.iter().map(|picture| &picture.id));
                    return Err(error);
                }
            }
            files.sync()?;
            Ok(pictures)
        });
        let pictures = written.await?;
        let store = Store { reservation: reservation.number, pictures: pictures.clone() };
        let stored = self.handle.ask(store).await;
        match stored {
            Ok(Ok(())) => Ok(pictures),
            // Files whose records may be stored are left: the next start compares both.
            Ok(Err(error)) if error.kind == Kind::Unavailable => Err(error),
            Ok(Err(error)) => {
                let files = self.files.clone();
                drop(tokio::task::spawn_blocking(move || files.remove(pictures.iter().map(|picture| &picture.id))));
                Err(error)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the record of a picture that belongs to an owner.
    ///
    /// # Errors
    /// `NotFound` alike if it is unknown, expired or another's; `Unavailable`.
    pub async fn of_owner(&self, id: &str, owner: &str) -> Result<Arc<Picture>, Error> {
        let picture = self.handle.ask(Get(id.to_owned())).await??;
        if picture.owner == owner { Ok(picture) } else { Err(not_found()) }
    }

    /// Returns the record of a picture by its signed link.
    ///
    /// # Errors
    /// `NotFound` alike if it is unknown or expired, or the signature is not its own; `Unavailable`.
    pub async fn by_link(&self, id: &str, signature: &str) -> Result<Arc<Picture>, Error> {
        let picture = self.handle.ask(Get(id.to_owned())).await??;
        if self.signature.matches(id, picture.expires, signature) { Ok(picture) } else { Err(not_found()) }
    }

    /// Returns the signature of a picture's link.
    pub fn link(&self, picture: &Picture) -> String {
        self.signature.sign(&picture.id, picture.expires)
    }

    /// Returns the file of a picture.
    ///
    /// # Errors
    /// `NotFound` if it is no longer there; `Unavailable` if it cannot be read.
    pub async fn read(&self, picture: &Picture) -> Result<Vec<u8>, Error> {
        let (files, id) = (self.files.clone(), picture.id.clone());
        let read = tokio::task::spawn_blocking(move || files.read(&id)).await.map_err(std::io::Error::other);
        match read.and_then(|read| read) {
            Ok(bytes) => Ok(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(not_found()),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Returns a page of an owner's pictures, newest first.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list(&self, owner: String, page: PageParams) -> Result<Page<Arc<Picture>>, Error> {
        self.handle.ask(List { owner, page }).await?
    }

    /// Deletes a picture of an owner; durable when this returns.
    ///
    /// # Errors
    /// `NotFound` alike if it is unknown, expired or another's; `Unavailable`.
    pub async fn delete(&self, id: String, owner: String) -> Result<(), Error> {
        self.handle.ask(Delete { owner, id }).await?
    }

    /// Returns what is stored.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn stats(&self) -> Result<PictureStats, Error> {
        Ok(self.handle.ask(Stats).await?)
    }

    /// Applies new quotas, which do not remove what is stored.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn set_limits(&self, limits: PictureLimits) -> Result<(), Error> {
        Ok(self.handle.ask(SetLimits(limits)).await?)
    }

    /// Compares records and files, for a health report: returns the number of records whose file is missing.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn missing_files(&self) -> Result<usize, Error> {
        let ids = self.handle.ask(Ids).await?;
        let files = self.files.clone();
        blocking(move || Ok(ids.iter().filter(|id| !files.has(id)).count())).await
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> std::io::Result<T> + Send + 'static) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await.map_err(std::io::Error::other);
    done.and_then(|done| done).map_err(|error| failed(&error))
}

fn failed(error: &std::io::Error) -> Error {
    tracing::error!(%error, "the folder of pictures cannot be used");
    Error::new(Kind::Unavailable, "pictures cannot be stored or read at the moment: see the server's log")
        .retry_in(Duration::from_secs(30))
}
