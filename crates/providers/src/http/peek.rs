//! Tells by its first bytes what the body of a response is, whatever its content type says: some servers and proxies
//! stream with the type of JSON, and some answer a request for a stream with one JSON object.

use bytes::{Bytes, BytesMut};
use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use super::Reporter;
use crate::{Fault, Phase};

/// A response of which the first bytes were read.
#[derive(Debug)]
pub(crate) struct Peeked {
    /// The bytes read so far.
    pub(super) first: Bytes,
    pub(super) response: Response,
    /// When the headers arrived.
    pub(super) since: Instant,
}

/// Kind of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    /// Server-sent events; also a body that is none of the others.
    Events,
    Json,
    /// HTML or XML.
    Page,
}

impl From<Response> for Peeked {
    fn from(response: Response) -> Self {
        Self { first: Bytes::new(), response, since: Instant::now() }
    }
}

/// Reads up to the first visible byte of the body within `limit`.
pub(crate) async fn peek(
    reporter: &Reporter,
    response: Response,
    limit: std::time::Duration,
) -> Result<(BodyKind, Peeked), Fault> {
    let mut peeked = Peeked::from(response);
    let mut read = BytesMut::new();
    let kind = loop {
        if let Some(kind) = kind(&peeked.first) {
            break kind;
        }
        let chunk = timeout_at(peeked.since + limit, peeked.response.chunk()).await;
        let late = |_| reporter.transient(Phase::FirstDelta, format_args!("sent no text within {limit:?}"));
        match chunk.map_err(late)?.map_err(|error| reporter.transport(Phase::FirstDelta, &error))? {
            // One chunk suffices nearly always, and is not copied.
            Some(chunk) if peeked.first.is_empty() => peeked.first = chunk,
            Some(chunk) => {
                read.clear();
                read.extend_from_slice(&peeked.first);
                read.extend_from_slice(&chunk);
                peeked.first = read.split().freeze();
            }
            None => break BodyKind::Events,
        }
    };
    Ok((kind, peeked))
}

/// Returns the kind of a body by its beginning; `None` if nothing visible was read.
fn kind(body: &[u8]) -> Option<BodyKind> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    match body.iter().find(|byte| !byte.is_ascii_whitespace())? {
        // No field of an event begins with one of these.
        b'{' | b'[' => Some(BodyKind::Json),
        b'<' => Some(BodyKind::Page),
        _ => Some(BodyKind::Events),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_what_it_begins_like() {
        for (body, expected) in [
            ("", None),
            (" \r\n", None),
            ("data: {}", Some(BodyKind::Events)),
            (": keep-alive", Some(BodyKind::Events)),
            ("\n\nevent: x", Some(BodyKind::Events)),
            ("\u{feff} {\"a\"", Some(BodyKind::Json)),
            ("\n[{", Some(BodyKind::Json)),
            ("<!doctype html>", Some(BodyKind::Page)),
        ] {
            assert_eq!(kind(body.as_bytes()), expected, "{body:?}");
        }
    }
}
