//! The content of an image: uploaded in pieces, downloaded in ranges.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::{Method, StatusCode, header};
use actix_web::{FromRequest, HttpRequest, HttpResponse, HttpResponseBuilder, web};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use muster_core::{Error, Kind};
use muster_network::firmware::{ArtifactState, UploadPiece};
use serde_json::json;

use super::describe::UploadBody;
use crate::app::App;
use crate::body::broken;
use crate::envelope::{self, Data};
use crate::error::HttpError;
use crate::error::sets::{Conflict, Disaster, NotFound, RangeNotSatisfiable, ReadErrors, TimedOut, TooLarge};
use crate::guard::{AnyDevice, FirmwareRead, FirmwareWrite, Guard, Guarded, Requirement, by_of};

/// Guard that admits a user with `firmware:read`, or a device with its own token.
#[derive(Debug)]
pub struct Reader(());

impl FromRequest for Reader {
    type Error = HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, HttpError>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let sent = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = sent.and_then(|sent| sent.split_once(' ')).map_or("", |(_, token)| token.trim());
        if muster_auth::device::peek(token).is_some() {
            let guard = Guarded::<AnyDevice>::from_request(request, payload);
            return Box::pin(async move { guard.await.map(|_| Self(())) });
        }
        let guard = Guarded::<FirmwareRead>::from_request(request, payload);
        Box::pin(async move { guard.await.map(|_| Self(())) })
    }
}

impl Guard for Reader {
    const REQUIREMENT: Requirement = Requirement::of::<FirmwareRead>().or_devices();
}

/// Upload the content of an artifact
///
/// Uploads an image as a whole or in pieces. A piece has `Content-Range: bytes <first>-<last>/<total>` and begins where
/// the previous one ended; a piece that begins elsewhere is rejected with 409 `wrong_offset` and `received`.
/// Acknowledged bytes are durable. After an interruption, `HEAD` returns the position to continue at in
/// `Upload-Offset`.
#[utoipa::path(put, path = "/api/v1/firmware/artifacts/{id}/content", tag = "firmware", operation_id = "upload_firmware_content",
    request_body(content = String, content_type = "application/octet-stream"),
    params(("id" = String, Path), ("Content-Range" = Option<String>, Header, description = "bytes a-b/total")),
    responses((status = 200, description = "The number of bytes received", body = Data<UploadBody>),
        ReadErrors<Disaster>, NotFound<Disaster>, Conflict<Disaster>, TimedOut<Disaster>, TooLarge<Disaster>))]
pub async fn put(
    _guard: Guarded<FirmwareWrite>,
    http: HttpRequest,
    id: web::Path<String>,
    payload: web::Payload,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let piece = http.headers().get(header::CONTENT_RANGE).map(|value| {
        let read = value.to_str().ok().and_then(piece_of);
        let why = "must be `bytes <first>-<last>/<total>`";
        read.ok_or_else(|| Error::field(Kind::Invalid, &["header", "Content-Range"], why, json!(null)))
    });
    let received = app.firmware.upload(&id, piece.transpose()?, payload.map_err(|error| broken(&error))).await?;
    let size = app.firmware.artifact(&id).await?.manifest.size;
    let mut answer = envelope::data(UploadBody { received, size, complete: received == size });
    answer.headers_mut().insert(header::HeaderName::from_static("upload-offset"), received.into());
    Ok(answer)
}

/// Parses `bytes a-b/total`.
fn piece_of(text: &str) -> Option<UploadPiece> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (start, last, total): (u64, u64, u64) = (first.parse().ok()?, last.parse().ok()?, total.parse().ok()?);
    (start <= last && last < total).then_some(UploadPiece { start, total })
}

/// Download the content of an artifact
///
/// Returns the image of a `ready` artifact, or a range of it. The `ETag` is its SHA-256. A device needs a job with this
/// artifact in progress. Each block is compared with the verified content before it is sent; a replaced image is
/// rejected with 409 `image_replaced`. For an artifact in the state `uploading`, `HEAD` returns `Upload-Offset`.
#[utoipa::path(get, path = "/api/v1/firmware/artifacts/{id}/content", tag = "firmware", operation_id = "get_firmware_content",
    params(("id" = String, Path), ("Range" = Option<String>, Header), ("If-Range" = Option<String>, Header),
        ("If-None-Match" = Option<String>, Header)),
    responses((status = 200, description = "The image", body = String, content_type = "application/octet-stream"),
        (status = 206, description = "The requested range of the image", body = String, content_type = "application/octet-stream"),
        (status = 304, description = "The image matches `If-None-Match`"), ReadErrors<Disaster>, NotFound<Disaster>,
        Conflict<Disaster>, RangeNotSatisfiable<Disaster>))]
pub async fn get(
    _guard: Reader,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    if http.method() == Method::HEAD
        && let Ok(artifact) = app.firmware.artifact(&id).await
        && matches!(artifact.state, ArtifactState::Uploading | ArtifactState::Verifying)
        && matches!(by, muster_identity::By::Person(_))
    {
        let received = app.firmware.received(&id).await;
        let mut answer = HttpResponse::Ok();
        answer.insert_header(("Upload-Offset", received)).insert_header(("Upload-Length", artifact.manifest.size));
        return Ok(answer.finish());
    }
    let content = app.firmware.content(&id, &by).await?;
    let manifest = &content.artifact.manifest;
    let (size, tag) = (manifest.size, format!("\"{}\"", manifest.sha256));
    let sent = |name: header::HeaderName| http.headers().get(name).and_then(|value| value.to_str().ok());
    if envelope::is_known(&http, &tag) {
        return Ok(HttpResponse::NotModified().insert_header((header::ETAG, tag)).finish());
    }
    let fresh = sent(header::IF_RANGE).is_none_or(|known| known.trim() == tag);
    let requested = sent(header::RANGE).filter(|_| fresh).and_then(|range| range_of(range, size));
    let (from, to, status) = match requested {
        None => (0, size.saturating_sub(1), StatusCode::OK),
        Some(Ok((from, to))) => (from, to, StatusCode::PARTIAL_CONTENT),
        Some(Err(())) => {
            let message = format!("the image has {size} bytes");
            let details = json!({ "size": size });
            return Err(HttpError(Error::new(Kind::RangeNotSatisfiable, message).detailing(details)));
        }
    };
    let mut answer = HttpResponse::build(status);
    answer
        .insert_header((header::ETAG, tag))
        .insert_header((header::ACCEPT_RANGES, "bytes"))
        .insert_header((header::CONTENT_TYPE, content.artifact.content_type.clone()));
    if status == StatusCode::PARTIAL_CONTENT {
        answer.insert_header((header::CONTENT_RANGE, format!("bytes {from}-{to}/{size}")));
    }
    let length = to - from + 1;
    if http.method() == Method::HEAD {
        return Ok(answer.no_chunking(length).body(Head(length)));
    }
    stream(answer, length, Box::pin(app.firmware.bytes(&content, from, to))).await
}

type Pieces = Pin<Box<dyn futures::Stream<Item = Result<Bytes, Error>>>>;

/// Streams the content. The first block is compared before the response begins, so that a replaced image is rejected by
/// the status.
async fn stream(mut answer: HttpResponseBuilder, length: u64, mut pieces: Pieces) -> Result<HttpResponse, HttpError> {
    let first = pieces.next().await.transpose()?.unwrap_or_default();
    let whole = futures::stream::iter([Ok(first)]).chain(pieces);
    Ok(answer.no_chunking(length).streaming(whole))
}

/// A body of a known length that is not sent.
struct Head(u64);

impl actix_web::body::MessageBody for Head {
    type Error = std::convert::Infallible;

    fn size(&self) -> actix_web::body::BodySize {
        actix_web::body::BodySize::Sized(self.0)
    }

    fn poll_next(
        self: Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Bytes, Self::Error>>> {
        std::task::Poll::Ready(None)
    }
}

/// Parses a single range into its first and last byte. Returns `None` for anything else, which counts as no range (RFC
/// 9110, section 14.2), and `Err` for a range outside the image.
fn range_of(text: &str, size: u64) -> Option<Result<(u64, u64), ()>> {
    let (first, last) = text.trim().strip_prefix("bytes=").filter(|range| !range.contains(','))?.split_once('-')?;
    let (first, last) = (first.trim(), last.trim());
    if first.is_empty() {
        let suffix: u64 = last.parse().ok()?;
        return Some(if suffix == 0 { Err(()) } else { Ok((size.saturating_sub(suffix), size.saturating_sub(1))) });
    }
    let first: u64 = first.parse().ok()?;
    let last = if last.is_empty() { size.saturating_sub(1) } else { last.parse().ok()? };
    if last < first {
        return if first >= size { Some(Err(())) } else { None };
    }
    Some(if first >= size { Err(()) } else { Ok((first, last.min(size - 1))) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_rfc_9110_says() {
        // RFC 9110, section 14.1.2, for an image of 10,000 bytes.
        for (text, range) in [
            ("bytes=0-499", Some(Ok((0, 499)))),
            ("bytes=500-999", Some(Ok((500, 999)))),
            ("bytes=-500", Some(Ok((9500, 9999)))),
            ("bytes=9500-", Some(Ok((9500, 9999)))),
            ("bytes=9500-20000", Some(Ok((9500, 9999)))),
            ("bytes=10000-", Some(Err(()))),
            ("bytes=-0", Some(Err(()))),
            ("bytes=0-0,-1", None),
            ("bytes=5-2", None),
            ("lines=1-2", None),
        ] {
            assert_eq!(range_of(text, 10_000), range, "{text}");
        }
    }

    #[test]
    fn a_content_range_has_first_byte_last_byte_and_total() {
        assert_eq!(piece_of("bytes 0-3/10"), Some(UploadPiece { start: 0, total: 10 }));
        for wrong in ["bytes 4-3/10", "bytes 0-10/10", "bytes */10", "0-3/10", "bytes 0-3/*"] {
            assert_eq!(piece_of(wrong), None, "{wrong}");
        }
    }
}
