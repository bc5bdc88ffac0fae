//! Backup and reload of a running server. Scope `admin`; a backup needs the role `super_admin` too.

use std::fs::File;
use std::future::ready;
use std::io::Read;
use std::ops::ControlFlow;

use actix_web::body::SizedStream;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::{once, try_unfold};
use muster_core::{Error, Kind};
use muster_request::Request;
use muster_seal::{CHUNK, Passphrase, Sealer, sealed_size};
use serde_json::Value;

use crate::app::App;
use crate::audit_log;
use crate::error::HttpError;
use crate::error::sets::{Agent, BodyErrors, Internal, ReadErrors};
use crate::governance;
use crate::guard::{Admin, Guarded, Sent, SuperAdmin, caller_of};
use crate::live::Reloaded;

/// Bytes of the backup that are read and encrypted at a time.
const PIECE: usize = 4 * CHUNK;

/// How to encrypt a backup.
#[derive(Request)]
#[request(example = { "passphrase": "a long sentence that is kept elsewhere" })]
pub struct BackupBody {
    /// Passphrase with which the backup is encrypted, 12 to 4,096 bytes. It is not stored: without it nobody can restore
    /// the backup.
    pub passphrase: String,
}

/// Create a backup
///
/// Returns an encrypted backup of the running server for `muster restore`. It contains everything acknowledged before
/// the call, keys and passwords in hashed form included, and any change of it is detected. Requests continue meanwhile;
/// writes wait while the snapshot is taken. `muster backup --server` calls this operation and verifies the result. This needs
/// an approval (`backup.read`).
#[utoipa::path(post, path = "/api/v1/admin/backup", tag = "admin", operation_id = "create_backup",
    request_body = BackupBody,
    responses((status = 200, description = "The backup", body = String, content_type = "application/octet-stream"),
        BodyErrors<Agent>, Internal<Agent>))]
pub async fn backup(
    request: Sent<SuperAdmin, BackupBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = caller_of(&http)?.key.id.clone();
    let passphrase = Passphrase::new(&request.body.passphrase)
        .map_err(|error| Error::field(Kind::Invalid, &["body", "passphrase"], error.to_string(), Value::Null))?;
    let internal = |error: &dyn std::fmt::Display| Error::new(Kind::Internal, error.to_string());
    let (admitted, caller) = (app.clone(), governance::caller(&app, &http)?);
    let run = move |permit| async move { governance::admit_backup(&admitted, &caller, permit).await };
    if let ControlFlow::Break(opened) = governance::guarded(&app, &http, &request.sent, run).await? {
        return Ok(opened);
    }
    // The key is derived off the threads that serve requests, and before commits wait for the snapshot.
    let sealer = web::block(move || Sealer::new(&passphrase)).await.map_err(|error| internal(&error))?;
    let sealer = sealer.map_err(|error| internal(&error))?;
    // Logged before it is taken: the backup has the entry, and nothing is handed out that is not logged.
    audit_log::log(&app.audit, app.clock.now(), &by, "backup.created", "store", Value::Null).await?;
    let backup = app.backup().await?;
    let size = sealed_size(backup.bytes);
    let header = Bytes::copy_from_slice(sealer.header());
    let sealing = Sealing { file: backup.file, left: backup.bytes, sealer: Some(sealer) };
    let pieces = try_unfold(sealing, |sealing| async move {
        let sealed = web::block(move || sealing.next_piece()).await.map_err(std::io::Error::other)??;
        Ok::<_, std::io::Error>(sealed)
    });
    let body = once(ready(Ok(header))).chain(pieces);
    Ok(HttpResponse::Ok()
        .content_type("application/octet-stream")
        .insert_header(("Content-Disposition", format!("attachment; filename=\"{}\"", backup.name)))
        .body(SizedStream::new(size, Box::pin(body))))
}

/// A backup that is being encrypted.
struct Sealing {
    file: File,
    /// Bytes of the file that were not read yet.
    left: u64,
    /// `None` after the last chunk.
    sealer: Option<Sealer>,
}

impl Sealing {
    /// Reads and encrypts the next chunks. Blocking. `None` after the last one.
    fn next_piece(mut self) -> std::io::Result<Option<(Bytes, Self)>> {
        let mut piece = Vec::with_capacity(PIECE + PIECE / CHUNK * 16);
        while piece.len() < PIECE
            && let Some(mut sealer) = self.sealer.take()
        {
            let length = self.left.min(CHUNK as u64);
            self.left -= length;
            let mut chunk = vec![0; usize::try_from(length).unwrap_or(CHUNK)];
            self.file.read_exact(&mut chunk)?;
            if self.left > 0 {
                sealer.seal_next(&mut chunk)?;
                self.sealer = Some(sealer);
            } else {
                sealer.seal_last(&mut chunk)?;
            }
            piece.extend_from_slice(&chunk);
        }
        Ok((!piece.is_empty()).then(|| (Bytes::from(piece), self)))
    }
}

/// Reload the settings
///
/// Reads the settings file again, as SIGHUP does. No connection is closed; requests in progress complete with the
/// previous settings. Every setting that changed is named; those that need a restart keep their values. If the new
/// settings are invalid, 422 is returned and nothing changes.
#[utoipa::path(post, path = "/api/v1/admin/reload", tag = "admin", operation_id = "reload_settings",
    responses((status = 200, description = "The settings that changed and those that need a restart", body = Reloaded),
        ReadErrors<Agent>))]
pub async fn reload(
    _guard: Guarded<Admin>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<Reloaded>, HttpError> {
    let reloaded = app.reload_by(&caller_of(&http)?.key.id).await;
    Ok(web::Json(
        reloaded
            .map_err(|error| HttpError(Error::field(Kind::Invalid, &["settings"], error.to_string(), Value::Null)))?,
    ))
}
