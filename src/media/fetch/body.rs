//! The body of a fetched picture, counted as it comes.

use futures::StreamExt;
use muster_media::{Recognised, recognise};
use reqwest::Response;
use reqwest::header::CONTENT_ENCODING;

use super::{FetchError, MAX_BYTES, Reason, hop};

/// Bytes after which it is judged whether a picture comes.
const JUDGED: usize = 16;

/// Reads a picture.
pub(super) async fn read(response: Response) -> Result<Vec<u8>, FetchError> {
    let identity = |value: &reqwest::header::HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    if !response.headers().get_all(CONTENT_ENCODING).iter().all(identity) {
        return Err(FetchError::Failed(Reason::NotAPicture));
    }
    if response.content_length().is_some_and(|length| length > MAX_BYTES as u64) {
        return Err(FetchError::Failed(Reason::Size));
    }
    let mut bytes = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| FetchError::Failed(hop::reason(&error)))?;
        if bytes.len() + chunk.len() > MAX_BYTES {
            return Err(FetchError::Failed(Reason::Size));
        }
        let before = bytes.len();
        bytes.extend_from_slice(&chunk);
        if before < JUDGED && bytes.len() >= JUDGED && !begins_a_picture(&bytes) {
            return Err(FetchError::Failed(Reason::NotAPicture));
        }
    }
    match recognise(&bytes) {
        Some(Recognised::Picture(_)) => Ok(bytes),
        _ => Err(FetchError::Failed(Reason::NotAPicture)),
    }
}

/// Whether a picture may follow. A bitmap is known by its 18th byte only.
fn begins_a_picture(bytes: &[u8]) -> bool {
    matches!(recognise(bytes), Some(Recognised::Picture(_))) || bytes.starts_with(b"BM")
}
