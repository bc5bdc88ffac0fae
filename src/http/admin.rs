//! What an operator asks of a running server. Scope `admin`.

use actix_web::body::SizedStream;
use actix_web::{HttpResponse, web};
use bytes::{Bytes, BytesMut};
use futures::stream::try_unfold;
use muster_core::{Error, Kind};
use tokio::io::AsyncReadExt as _;

use crate::app::App;
use crate::error::{ErrorAgent, HttpError};
use crate::guard::{Admin, Guarded};
use crate::live::Reloaded;

const PIECE: usize = 256 << 10;

/// A backup of the running server, for `muster restore`: it holds everything acknowledged before this was called, and
/// its last bytes are a checksum of all before. `muster backup --server` calls this and checks it. Requests go on
/// meanwhile; writes wait while the snapshot is taken.
#[utoipa::path(post, path = "/api/v1/admin/backup", tag = "admin",
    responses((status = 200, body = String, content_type = "application/octet-stream"), (status = 401, body = ErrorAgent),
        (status = 403, body = ErrorAgent), (status = 429, body = ErrorAgent), (status = 500, body = ErrorAgent),
        (status = 503, body = ErrorAgent)))]
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

/// Reads the settings again, as SIGHUP does. No connection is lost; requests under way end under the old settings.
/// Sections that take a restart are named and stay as they were. 422 where the new settings cannot be used: everything
/// then stays as it was.
#[utoipa::path(post, path = "/api/v1/admin/reload", tag = "admin",
    responses((status = 200, body = Reloaded), (status = 401, body = ErrorAgent), (status = 403, body = ErrorAgent),
        (status = 422, body = ErrorAgent), (status = 429, body = ErrorAgent), (status = 503, body = ErrorAgent)))]
pub async fn reload(_guard: Guarded<Admin>, app: web::Data<App>) -> Result<web::Json<Reloaded>, HttpError> {
    let reloaded = app.reload().await;
    Ok(web::Json(reloaded.map_err(|error| {
        HttpError(Error::field(Kind::Invalid, &["settings"], error.to_string(), serde_json::Value::Null))
    })?))
}
