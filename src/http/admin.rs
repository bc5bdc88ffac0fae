//! Backup and reload of a running server. Scope `admin`.

use actix_web::body::SizedStream;
use actix_web::{HttpResponse, web};
use bytes::{Bytes, BytesMut};
use futures::stream::try_unfold;
use muster_core::{Error, Kind};
use tokio::io::AsyncReadExt as _;

use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, CallErrors, Internal, ReadErrors};
use crate::guard::{Admin, Guarded};
use crate::live::Reloaded;

const PIECE: usize = 256 << 10;

/// Create a backup
///
/// Returns a backup of the running server for `muster restore`. It contains everything acknowledged before the call and
/// ends with a checksum. Requests continue meanwhile; writes wait while the snapshot is taken. `muster backup --server`
/// calls this operation and verifies the result.
#[utoipa::path(post, path = "/api/v1/admin/backup", tag = "admin", operation_id = "create_backup",
    responses((status = 200, description = "The backup", body = String, content_type = "application/octet-stream"),
        CallErrors<Agent>, Internal<Agent>))]
pub async fn backup(_guard: Guarded<Admin>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let backup = app.backup().await?;
    let pieces = try_unfold(tokio::fs::File::from_std(backup.file), |mut file| async move {
        let mut piece = BytesMut::with_capacity(PIECE);
        let read = file.read_buf(&mut piece).await?;
        Ok::<Option<(Bytes, _)>, std::io::Error>((read > 0).then(|| (piece.freeze(), file)))
    });
    Ok(HttpResponse::Ok()
        .content_type("application/octet-stream")
        .insert_header(("Content-Disposition", format!("attachment; filename=\"{}\"", backup.name)))
        .body(SizedStream::new(backup.bytes, Box::pin(pieces))))
}

/// Reload the settings
///
/// Reads the settings file again, as SIGHUP does. No connection is closed; requests in progress complete with the
/// previous settings. Sections that need a restart are listed and not changed. If the new settings are invalid, 422 is
/// returned and nothing changes.
#[utoipa::path(post, path = "/api/v1/admin/reload", tag = "admin", operation_id = "reload_settings",
    responses((status = 200, description = "The sections that changed and those that need a restart", body = Reloaded),
        ReadErrors<Agent>))]
pub async fn reload(_guard: Guarded<Admin>, app: web::Data<App>) -> Result<web::Json<Reloaded>, HttpError> {
    let reloaded = app.reload().await;
    Ok(web::Json(reloaded.map_err(|error| {
        HttpError(Error::field(Kind::Invalid, &["settings"], error.to_string(), serde_json::Value::Null))
    })?))
}
