//! Moves the bytes of a streamed answer from the connection to the reader.
//!
//! The HTTP client hands over one chunk at a time, and its connection task fetches the next one only then: a reader
//! that took the chunks directly would sleep and be woken for each, however many had arrived. A task beside the
//! connection takes them as they arrive, and the reader gets everything that has accumulated.

use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Chunks queued for the reader; beyond that the provider waits.
const PIECES: usize = 32;

/// How long a connection waits for the end of its body after the end marker; then it is closed and not reused.
const TAIL_WAIT: Duration = Duration::from_secs(1);

/// Owns the connection: dropping it closes the connection immediately.
#[derive(Debug)]
pub(super) struct Pump {
    pieces: mpsc::Receiver<Result<Bytes, reqwest::Error>>,
    task: Option<JoinHandle<()>>,
}

impl Pump {
    pub(super) fn start(mut response: Response) -> Self {
        let (out, pieces) = mpsc::channel(PIECES);
        let task = tokio::spawn(async move {
            while let Some(piece) = response.chunk().await.transpose() {
                let broken = piece.is_err();
                if out.send(piece).await.is_err() || broken {
                    return;
                }
            }
        });
        Self { pieces, task: Some(task) }
    }

    /// Returns the next bytes; `None` at the end of the body.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, reqwest::Error>>> {
        self.pieces.poll_recv(cx)
    }

    /// Called at the end of the answer. The connection can be reused once the end of the body has been read, which may
    /// come shortly after the end marker; the caller does not wait for it.
    pub(super) fn finish(mut self) {
        let Some(mut task) = self.task.take().filter(|task| !task.is_finished()) else { return };
        tokio::spawn(async move {
            if timeout(TAIL_WAIT, &mut task).await.is_err() {
                task.abort();
            }
        });
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
