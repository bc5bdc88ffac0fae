//! The protocol between the pool and its processes: frames of a length (4 bytes, big endian) and the content.
//!
//! A process first sends a [`Greeting`] as JSON.
//!
//! A call consists of two frames: the engine's number (2 bytes, big endian), followed by [`CallOptions`] as JSON if there
//! are any, and the input as JSON. Its answer consists of any number of [`Head`]s as JSON that only report progress, the
//! last [`Head`], and the output as JSON, empty if there is none. Inputs and outputs have frames of their own, so that
//! they may be nested as deeply as a request body.

use std::io::{self, Read, Write};

use super::runner::EngineProgress;
use muster_engines::{Answered, Explained, Failure};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Maximum size of a frame, in bytes: a picture of 20 MiB, or its pixels.
pub(super) const MAX_FRAME: usize = 20 << 20;

/// The first frame of a process, sent once it is restricted and before it reads a call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Greeting {
    /// Which restrictions are in force; `None` if they are switched off.
    pub(super) sandbox: Option<muster_sandbox::Report>,
}

/// What a call has beside its input.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct CallOptions {
    /// Whether steps and assumptions are returned.
    pub(super) explain: bool,
    /// Answers to the needs of earlier runs of this call.
    pub(super) answers: Vec<Answered>,
}

/// Describes the result of a call; precedes the output.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Head {
    /// The call still runs: no output follows, but another head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) progress: Option<EngineProgress>,
    /// `None` if there is an output.
    pub(super) failure: Option<Failure>,
    pub(super) warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) explained: Option<Explained>,
    /// Duration of the engine itself, in microseconds.
    pub(super) took_us: u64,
    /// Whether the process must not be reused: it uses too much memory or CPU time, its folder was not there when it
    /// started, or an engine panicked in it.
    pub(super) retire: bool,
}

fn too_large(length: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length} bytes"))
}

fn length_of(header: [u8; 4]) -> io::Result<usize> {
    let length = usize::try_from(u32::from_be_bytes(header)).unwrap_or(usize::MAX);
    if length > MAX_FRAME { Err(too_large(length)) } else { Ok(length) }
}

fn header_of(frame: &[u8]) -> io::Result<[u8; 4]> {
    match u32::try_from(frame.len()) {
        Ok(length) if frame.len() <= MAX_FRAME => Ok(length.to_be_bytes()),
        _ => Err(too_large(frame.len())),
    }
}

/// Reads a frame.
pub(super) fn read(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut header = [0; 4];
    from.read_exact(&mut header)?;
    let mut frame = vec![0; length_of(header)?];
    from.read_exact(&mut frame)?;
    Ok(frame)
}

/// Writes a frame.
pub(super) fn write(to: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    to.write_all(&header_of(frame)?)?;
    to.write_all(frame)
}

/// Reads a frame.
pub(super) async fn receive(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut header = [0; 4];
    from.read_exact(&mut header).await?;
    let mut frame = vec![0; length_of(header)?];
    from.read_exact(&mut frame).await?;
    Ok(frame)
}

/// Writes a frame.
pub(super) async fn send(to: &mut (impl AsyncWrite + Unpin), frame: &[u8]) -> io::Result<()> {
    to.write_all(&header_of(frame)?).await?;
    to.write_all(frame).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_round_trip_and_oversized_ones_are_rejected_unread() {
        let mut wire = Vec::new();
        write(&mut wire, b"abc").unwrap();
        assert_eq!(wire, b"\0\0\0\x03abc");
        assert_eq!(read(&mut wire.as_slice()).unwrap(), b"abc");
        assert_eq!(read(&mut [0xff; 8].as_slice()).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
