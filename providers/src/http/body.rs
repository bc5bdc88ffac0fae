//! The body of an answer that comes in one piece.

use std::time::Duration;

use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use super::Reporter;
use crate::{Fault, Phase};

/// The largest whole answer, in bytes.
const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;

/// Reads the body within `limit`; faults carry `phase`.
pub(crate) async fn read_body(
    reporter: &Reporter,
    response: Response,
    limit: Duration,
    phase: Phase,
) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    read_into(&mut body, response, MAX_BODY_BYTES, Instant::now() + limit).await.map_err(|error| match error {
        ReadError::TooLarge => {
            reporter.transient(phase, format_args!("sent an answer of more than {MAX_BODY_BYTES} bytes"))
        }
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

/// Appends the body to `out`; on an error `out` holds what came before it.
pub(super) async fn read_into(
    out: &mut Vec<u8>,
    mut response: Response,
    limit: usize,
    deadline: Instant,
) -> Result<(), ReadError> {
    loop {
        match timeout_at(deadline, response.chunk()).await {
            Err(_) => return Err(ReadError::TimedOut),
            Ok(Err(error)) => return Err(ReadError::Broken(error)),
            Ok(Ok(None)) => return Ok(()),
            Ok(Ok(Some(chunk))) if out.len() + chunk.len() > limit => {
                return Err(ReadError::TooLarge);
            }
            Ok(Ok(Some(chunk))) => out.extend_from_slice(&chunk),
        }
    }
}
