//! Backup and reload of a running server. Scope `admin`; a backup needs a role too.

use std::io::Read as _;
use std::ops::ControlFlow;

use actix_web::body::SizedStream;
use actix_web::{HttpRequest, HttpResponse, web};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::stream::try_unfold;
use muster_core::{Error, Kind};
use muster_identity::keys::Role;
use muster_request::Request;
use serde_json::Value;

use crate::app::App;
use crate::audit_log;
use crate::backup::{Protection, SealedBackup};
use crate::error::HttpError;
use crate::error::sets::{Agent, BodyErrors, Gone, Internal, ReadErrors};
use crate::governance;
use crate::guard::{Admin, Backups, Guarded, Sent, caller_of};
use crate::live::Reloaded;

/// Bytes of the backup that are read at a time.
const PIECE: usize = 256 << 10;

/// How to encrypt a backup.
#[derive(Request)]
#[request(example = { "passphrase": "a long sentence that is kept elsewhere" })]
pub struct BackupBody {
    /// Passphrase with which the backup is encrypted, 12 to 4,096 bytes. It is not stored: without it nobody can restore
    /// the backup. Required where the settings name no recipients (`backup.recipients`), refused where they do.
    pub passphrase: Option<String>,
}

/// Create a backup
///
/// Returns a signed and encrypted backup of the running server for `muster restore`. It contains everything acknowledged
/// before the call, keys and passwords in hashed form included, and any change of it is detected. Where the settings name
/// recipients, it is a file in the format age v1 that only they can read; without recipients it is encrypted with the
/// passphrase, and the caller needs the role `super_admin` and an approval (`backup.read`). `Repr-Digest` has the SHA-256 of the file (RFC 9530), for who
/// fetches it and cannot read it back. Requests continue meanwhile; writes wait while the snapshot is taken. `muster backup
/// --server` calls this operation and verifies the result.
#[utoipa::path(post, path = "/api/v1/admin/backup", tag = "admin", operation_id = "create_backup",
    request_body = BackupBody,
    responses((status = 200, description = "The backup", body = String, content_type = "application/octet-stream",
            headers(("Repr-Digest" = String, description = "SHA-256 of the file: `sha-256=:…:`"))),
        BodyErrors<Agent>, Internal<Agent>, Gone<Agent>))]
pub async fn backup(
    request: Sent<Backups, BackupBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let recipients = app.live().config.backup.recipients();
    if recipients.is_empty() && !caller_of(&http)?.key.roles.contains(&Role::SuperAdmin) {
        let message = "a backup that is not encrypted to recipients (`backup.recipients`) needs the role `super_admin`";
        return Err(HttpError(Error::new(Kind::Forbidden, message).coded("permission_denied")));
    }
    let is_for_recipients = !recipients.is_empty();
    let protection = Protection::of(recipients, request.body.passphrase.as_deref())?;
    // Logged before it is taken: the backup has the entry, and nothing is handed out that is not logged.
    let approval = if is_for_recipients {
        let by = caller_of(&http)?.key.id.clone();
        audit_log::log(&app.audit, app.clock.now(), &by, "backup.created", "store", Value::Null).await?;
        None
    } else {
        let (admitted, caller) = (app.clone(), governance::caller(&app, &http)?);
        let run = move |permit| async move { governance::admit_backup(&admitted, &caller, permit).await };
        match governance::guarded(&app, &http, &request.sent, run).await? {
            ControlFlow::Break(opened) => return Ok(opened),
            ControlFlow::Continue(approval) => approval,
        }
    };
    let SealedBackup { name, file, bytes, sha256, permit } = app.sealed_backup(protection, approval).await?;
    let pieces = try_unfold((file, permit), |(mut file, permit)| async move {
        let read = web::block(move || {
            let mut piece = Vec::with_capacity(PIECE);
            std::io::Read::take(&mut file, PIECE as u64).read_to_end(&mut piece).map(|_| (piece, file))
        });
        let (piece, file) = read.await.map_err(std::io::Error::other)??;
        Ok::<_, std::io::Error>((!piece.is_empty()).then(|| (Bytes::from(piece), (file, permit))))
    });
    Ok(HttpResponse::Ok()
        .content_type("application/octet-stream")
        .insert_header(("Content-Disposition", format!("attachment; filename=\"{name}\"")))
        .insert_header(("Repr-Digest", format!("sha-256=:{}:", STANDARD.encode(sha256))))
        .body(SizedStream::new(bytes, Box::pin(pieces))))
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
