//! Reads the body of a complete answer.

use std::time::Duration;

use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use super::{Peeked, Reporter};
use crate::{Fault, Phase};

/// Maximum size of a complete answer, in bytes.
const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;

/// Maximum size of an answer that holds pictures in base64, in bytes.
const MAX_PICTURE_BODY_BYTES: usize = 96 * 1024 * 1024;

/// Maximum buffer reserved because of an announced length, in bytes.
const MAX_RESERVED_BYTES: u64 = 64 * 1024;

/// Reads the body within `limit` of its headers; faults carry `phase`.
pub(crate) async fn read_body(
    reporter: &Reporter,
    response: impl Into<Peeked>,
    limit: Duration,
    phase: Phase,
) -> Result<Vec<u8>, Fault> {
    read_body_up_to(MAX_BODY_BYTES, reporter, response, limit, phase).await
}

/// Does the same for an answer that holds pictures.
pub(crate) async fn read_picture_body(
    reporter: &Reporter,
    response: impl Into<Peeked>,
    limit: Duration,
) -> Result<Vec<u8>, Fault> {
    read_body_up_to(MAX_PICTURE_BODY_BYTES, reporter, response, limit, Phase::Body).await
}

async fn read_body_up_to(
    most: usize,
    reporter: &Reporter,
    response: impl Into<Peeked>,
    limit: Duration,
    phase: Phase,
) -> Result<Vec<u8>, Fault> {
    let Peeked { first, response, since } = response.into();
    let announced = response.content_length().unwrap_or(0).min(MAX_RESERVED_BYTES);
    let mut body = Vec::with_capacity(usize::try_from(announced).unwrap_or(0));
    body.extend_from_slice(&first);
    read_into(&mut body, response, most, since + limit).await.map_err(|error| match error {
        ReadError::TooLarge => reporter.transient(phase, format_args!("sent an answer of more than {most} bytes")),
        ReadError::TimedOut => reporter.transient(phase, format_args!("did not finish its answer within {limit:?}")),
        ReadError::Broken(error) => reporter.transport(phase, &error),
    })?;
    Ok(body)
}

/// Why a body could not be read to its end.
#[derive(Debug)]
pub(super) enum ReadError {
    TooLarge,
    TimedOut,
    Broken(reqwest::Error),
}

/// Appends the body to `out`; on an error `out` holds the part read so far.
pub(super) async fn read_into(
    out: &mut Vec<u8>,
    response: Response,
    limit: usize,
    deadline: Instant,
) -> Result<(), ReadError> {
    // One timer for the whole body, and none if it has already arrived.
    timeout_at(deadline, read_all(out, response, limit)).await.unwrap_or(Err(ReadError::TimedOut))
}

async fn read_all(out: &mut Vec<u8>, mut response: Response, limit: usize) -> Result<(), ReadError> {
    while let Some(chunk) = response.chunk().await.map_err(ReadError::Broken)? {
        if out.len() + chunk.len() > limit {
            return Err(ReadError::TooLarge);
        }
        out.extend_from_slice(&chunk);
    }
    Ok(())
}
