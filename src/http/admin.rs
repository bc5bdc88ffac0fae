//! What an operator asks of a running server. Scope `admin`.

use actix_web::body::SizedStream;
use actix_web::{HttpResponse, web};
use bytes::{Bytes, BytesMut};
use futures::stream::try_unfold;
use tokio::io::AsyncReadExt as _;

use crate::app::App;
use crate::error::{ErrorAgent, HttpError};
use crate::guard::{Admin, Guarded};

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
