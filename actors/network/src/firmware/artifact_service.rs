//! Artifacts in the service of firmware: upload, verification and delivery of images. Apart from `service.rs` because of
//! their number.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;

use super::artifact::{Artifact, ArtifactState, Blocks};
use super::image::UploadPiece;
use super::messages::{CreateOnce, CreateResponse};
use super::record;
use super::service::{Firmwares, Page};
use super::state::{FirmwareState, Hashed, NewArtifact};
use super::transaction::FirmwareTransaction;
use muster_core::idempotency::Idempotency;
use muster_core::page::PageParams;
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind};
use muster_identity::By;

/// A verified image that may be served.
#[derive(Debug, Clone)]
pub struct ImageContent {
    /// The artifact.
    pub artifact: Artifact,
    blocks: Arc<Blocks>,
}

impl Firmwares {
    /// Announces an artifact; durable when this returns.
    ///
    /// # Errors
    /// `Invalid` or `TooLarge` for its manifest; `Conflict` if there are too many artifacts; `IdempotencyConflict`.
    pub async fn create_artifact(
        &self,
        new: NewArtifact,
        by: By,
        named: Option<Idempotency>,
    ) -> Result<CreateResponse, Error> {
        let request = named.clone();
        let change = move |state: &mut FirmwareState, transaction: &mut FirmwareTransaction, now| {
            Ok(serde_json::json!(state.create_artifact(new, &by, named.as_ref(), transaction, now)?))
        };
        self.handle.ask(CreateOnce { change, request }).await?
    }

    /// Appends a piece of an image; returns the number of bytes received so far.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` unless the artifact is `uploading`, if the piece does not start where the last one ended
    /// (`wrong_offset`, with `received`), or if another piece is being written (`upload_busy`); `TooLarge` past the
    /// declared size; `Invalid` if the total is not that size or the body broke off; `TimedOut` if it came too slowly.
    pub async fn upload<S>(&self, id: &str, piece: Option<UploadPiece>, body: S) -> Result<u64, Error>
    where
        S: Stream<Item = Result<Bytes, Error>> + Unpin,
    {
        let artifact = self.artifact(id).await?;
        if artifact.state != ArtifactState::Uploading {
            let message = format!("an artifact that is {} takes no content", artifact.state.name());
            return Err(Error::new(Kind::Conflict, message).coded("illegal_transition"));
        }
        let size = artifact.manifest.size;
        self.images.append(id, size, piece.unwrap_or(UploadPiece { start: 0, total: size }), body).await
    }

    /// Returns the number of bytes received of an image.
    pub async fn received(&self, id: &str) -> u64 {
        self.images.received(id).await
    }

    /// Verifies content, manifest and signature of an artifact: it becomes `ready`, or `rejected` with the reason.
    /// Continues even if the caller disconnects.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` unless the artifact is completely uploaded and `uploading`; `Unavailable`.
    pub async fn verify(&self, id: String, manifest_jws: String, by: By) -> Result<Artifact, Error> {
        let firmwares = self.clone();
        let verified = tokio::spawn(async move { firmwares.verify_to_end(id, manifest_jws, by).await });
        verified.await.map_err(|_| restarting())?
    }

    async fn verify_to_end(&self, id: String, jws: String, by: By) -> Result<Artifact, Error> {
        let received = self.images.received(&id).await;
        let begun = id.clone();
        self.change(move |state, transaction, now| state.begin_verify(&begun, received, transaction, now)).await?;
        let (images, hashed) = (self.images.clone(), id.clone());
        let hashed = tokio::task::spawn_blocking(move || images.hash(&hashed)).await;
        let hashed = match hashed {
            Ok(Ok((sha256, blocks, size))) => Ok(Hashed { sha256, size, blocks }),
            Ok(Err(error)) => Err(format!("the content cannot be read: {error}")),
            Err(_) => return Err(restarting()),
        };
        self.change(move |state, transaction, now| state.finish_verify(&id, &jws, hashed, &by, transaction, now)).await
    }

    /// Returns identifiers of ready artifacts whose image is missing or incomplete.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn missing_images(&self) -> Result<Vec<String>, Error> {
        let ready = |artifact: &&Artifact| artifact.state == ArtifactState::Ready;
        let sizes = |artifact: &Artifact| (artifact.id.clone(), artifact.manifest.size);
        let all: Vec<_> = self.read(move |state| state.artifacts.values().filter(ready).map(sizes).collect()).await?;
        let mut missing_images = Vec::new();
        for (id, size) in all {
            if self.images.received(&id).await != size {
                missing_images.push(id);
            }
        }
        Ok(missing_images)
    }

    /// Returns an artifact.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable`.
    pub async fn artifact(&self, id: &str) -> Result<Artifact, Error> {
        let id = id.to_owned();
        self.read(move |state| state.artifact(&id).cloned()).await?
    }

    /// Returns a page of the artifacts, newest first.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn artifacts(&self, page: PageParams) -> Result<Page<Artifact>, Error> {
        self.read(move |state| {
            let after = |id: &str| page.after.as_deref().is_none_or(|last| id < last);
            let from = state.artifacts.values().rev().filter(|artifact| after(&artifact.id)).cloned();
            Page::of(from, page.limit, |artifact| artifact.id.clone())
        })
        .await
    }

    /// Revokes a ready artifact and aborts its jobs.
    ///
    /// # Errors
    /// `NotFound`; `PreconditionFailed`; `Conflict` unless it is ready; `Unavailable`.
    pub async fn revoke_artifact(&self, id: String, reason: String, by: By, at: IfMatch) -> Result<Artifact, Error> {
        self.change(move |state, transaction, now| state.revoke_artifact(&id, &reason, &by, at, transaction, now)).await
    }

    /// Returns an image that may be served: verified and not revoked. A device gets only the artifact of its current
    /// job.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if it is not ready or its file is missing; `Unavailable`.
    pub async fn content(&self, id: &str, by: &By) -> Result<ImageContent, Error> {
        let (wanted, by) = (id.to_owned(), by.clone());
        let artifact = self
            .read(move |state| {
                if let By::Device(device) = &by
                    && !state.may_fetch(device, &wanted)
                {
                    return Err(Error::new(Kind::NotFound, "this device has no job with this artifact"));
                }
                let artifact = state.artifact(&wanted)?;
                if artifact.state == ArtifactState::Ready {
                    return Ok(artifact.clone());
                }
                let message = format!("an artifact that is {} is not served", artifact.state.name());
                Err(Error::new(Kind::Conflict, message).coded("artifact_not_ready"))
            })
            .await??;
        self.images.require(id, artifact.manifest.size).await?;
        let blocks = record::read_blocks(&self.store.0, id)?.unwrap_or_default();
        Ok(ImageContent { artifact, blocks: Arc::new(blocks) })
    }

    /// Streams the bytes `from..=to` of an image. If the file differs from the verified content, nothing of it is sent
    /// and the artifact is rejected.
    pub fn bytes(
        &self,
        content: &ImageContent,
        from: u64,
        to: u64,
    ) -> impl Stream<Item = Result<Bytes, Error>> + use<> {
        use futures::StreamExt;
        let (firmwares, id) = (self.clone(), content.artifact.id.clone());
        let read = self.images.read(&id, Arc::clone(&content.blocks), from, to);
        read.then(move |piece| {
            let (firmwares, id) = (firmwares.clone(), id.clone());
            async move {
                if piece.as_ref().is_err_and(|error| error.code == Some("image_replaced")) {
                    let result = firmwares.change(move |state, transaction, now| {
                        state.reject_replaced(&id, transaction, now);
                        Ok(())
                    });
                    if let Err(error) = result.await {
                        tracing::error!(%error, "an exchanged image could not be rejected");
                    }
                }
                piece
            }
        })
    }
}

fn restarting() -> Error {
    let message = "firmware is restarting: the request may or may not have been carried out";
    Error::new(Kind::Unavailable, message).retry_in(Duration::from_secs(1))
}
