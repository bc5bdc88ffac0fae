//! The bytes of a streamed answer on their way from the connection to the reader.
//!
//! The client hands over one piece at a time and has the connection's task look for the next one only then: a reader
//! that took the pieces itself would go to sleep and be woken for each of them, however many had arrived. A task beside
//! the connection's takes them as they come, and the reader finds together what came together.

use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Pieces that wait for the reader; then the provider waits.
const PIECES: usize = 32;

/// How long a connection waits for the end of its body after the end marker; then it is closed and not used again.
const TAIL_WAIT: Duration = Duration::from_secs(1);

/// Owns the connection: dropping it closes that at once.
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

    /// The next bytes; `None` at the end of the body.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, reqwest::Error>>> {
        self.pieces.poll_recv(cx)
    }

    /// The answer is over. Its connection can be used again once the end of the body was read, which may come a moment
    /// after the end marker; nobody has to wait for that.
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
