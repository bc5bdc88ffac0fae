//! The pace of request bodies: a client that stops sending is answered and disconnected.
//!
//! Every body passes through here, whatever its route does with it. HTTP/1 reads on after a response to find the next
//! request, without any limit of time; so a body that was not read to its end is kept until the response is sent, which
//! makes the connection end with it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::HttpMessage;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::error::PayloadError;
use bytes::Bytes;
use futures::Stream;
use tokio::time::{Instant, Sleep, sleep_until};

/// Least speed of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Time over which the speed is measured.
    pub window: Duration,
    /// Bytes that must arrive in each window.
    pub least: usize,
}

/// The client sent too few bytes within a window.
#[derive(Debug)]
pub(super) struct TooSlow(Pace);

impl fmt::Display for TooSlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pace { window, least } = self.0;
        write!(f, "fewer than {least} bytes of the body arrived within {} s", window.as_secs_f32())
    }
}

impl std::error::Error for TooSlow {}

/// The body of a request, shared with its response.
#[derive(Clone)]
pub struct SharedBody(Rc<Shared>);

struct Shared {
    payload: RefCell<Payload>,
    ended: Cell<bool>,
}

impl SharedBody {
    /// Puts the body of a request under a pace. `None` if it has no body.
    pub fn pace(request: &mut ServiceRequest, pace: Pace) -> Option<Self> {
        let payload = request.take_payload();
        if matches!(payload, Payload::None) {
            return None;
        }
        let shared = Self(Rc::new(Shared { payload: RefCell::new(payload), ended: Cell::new(false) }));
        let paced = PacedBody { shared: shared.clone(), pace, bytes: 0, begun: None, given: None, timer: None };
        request.set_payload(Payload::Stream { payload: Box::pin(paced) });
        Some(shared)
    }

    /// Lets the connection end after the response if the body was not read to its end.
    pub fn close_unless_read(self, response: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
        if self.0.ended.get() {
            return response;
        }
        keeping(self, response)
    }
}

/// Keeps a value until the response is sent.
pub fn keeping<T: 'static>(kept: T, response: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
    response.map_body(|_, body| BoxBody::new(Keeping { body, _kept: kept }))
}

/// A body whose client must keep the pace.
struct PacedBody {
    shared: SharedBody,
    pace: Pace,
    /// Bytes of the present window.
    bytes: usize,
    /// Begin of the present window: the first wait for the client.
    begun: Option<Instant>,
    /// When the last bytes were given to the reader. Its own time is not the client's.
    given: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Stream for PacedBody {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = Pin::new(&mut *self.shared.0.payload.borrow_mut()).poll_next(task);
        match polled {
            Poll::Ready(Some(Ok(chunk))) => {
                self.bytes = self.bytes.saturating_add(chunk.len());
                self.given = self.begun.map(|_| Instant::now());
                Poll::Ready(Some(Ok(chunk)))
            }
            Poll::Ready(end) => {
                self.shared.0.ended.set(true);
                Poll::Ready(end)
            }
            Poll::Pending => self.poll_window(task).map(|slow| {
                let error = io::Error::new(io::ErrorKind::TimedOut, slow);
                Some(Err(PayloadError::Io(error)))
            }),
        }
    }
}

impl PacedBody {
    /// Waits for the end of the window; ready if the client was too slow in it.
    fn poll_window(&mut self, task: &mut Context<'_>) -> Poll<TooSlow> {
        let now = Instant::now();
        let readers = self.given.take().map_or(Duration::ZERO, |given| now.duration_since(given));
        let mut begun = self.begun.map_or(now, |begun| begun + readers);
        if begun + self.pace.window <= now {
            if self.bytes < self.pace.least {
                return Poll::Ready(TooSlow(self.pace));
            }
            (self.bytes, begun) = (0, now);
        }
        self.begun = Some(begun);
        let ends = begun + self.pace.window;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(ends)));
        if timer.deadline() != ends {
            timer.as_mut().reset(ends);
        }
        match timer.as_mut().poll(task) {
            Poll::Pending => Poll::Pending,
            // It ended between the two looks at the clock.
            Poll::Ready(()) => {
                task.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

struct Keeping<T> {
    body: BoxBody,
    _kept: T,
}

// The kept value is never pinned.
impl<T> Unpin for Keeping<T> {}

impl<T> MessageBody for Keeping<T> {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        self.body.as_pin_mut().poll_next(task)
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt};
    use tokio::sync::mpsc;

    use super::*;

    const PACE: Pace = Pace { window: Duration::from_secs(10), least: 1_000 };

    type Sender = mpsc::UnboundedSender<Result<Bytes, PayloadError>>;

    fn paced() -> (Sender, PacedBody) {
        let (sender, mut received) = mpsc::unbounded_channel();
        let payload = futures::stream::poll_fn(move |task| received.poll_recv(task));
        let payload: Payload = Payload::Stream { payload: Box::pin(payload) };
        let payload = RefCell::new(payload);
        let shared = SharedBody(Rc::new(Shared { payload, ended: Cell::new(false) }));
        (sender, PacedBody { shared, pace: PACE, bytes: 0, begun: None, given: None, timer: None })
    }

    fn chunk(bytes: usize) -> Result<Bytes, PayloadError> {
        Ok(Bytes::from(vec![b'x'; bytes]))
    }

    /// Lets virtual time pass.
    async fn later(by: Duration) {
        // The timeout is expected to elapse.
        let _ = tokio::time::timeout(by, std::future::pending::<()>()).await;
    }

    /// Waits until the body fails; returns the seconds that it took.
    async fn fails_after(body: &mut PacedBody) -> u64 {
        let begun = Instant::now();
        let Some(Err(PayloadError::Io(error))) = body.next().await else { panic!("it did not fail") };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        begun.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_stops_fails_after_a_window() {
        let (_sender, mut body) = paced();
        assert_eq!(fails_after(&mut body).await, 10);

        // What it sent before is no credit: a megabyte keeps no connection open for a quarter of an hour.
        let (sender, mut body) = paced();
        sender.send(chunk(1_000_000)).unwrap();
        assert!(body.next().await.unwrap().is_ok());
        assert!((10..=20).contains(&fails_after(&mut body).await));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_client_above_the_least_speed_is_read_to_the_end() {
        let (sender, mut body) = paced();
        tokio::spawn(async move {
            for _ in 0..60 {
                // Two or three pieces within each window.
                later(Duration::from_secs(4)).await;
                sender.send(chunk(600)).unwrap();
            }
        });
        let mut read = 0;
        while let Some(chunk) = body.next().await {
            read += chunk.unwrap().len();
        }
        assert_eq!(read, 36_000);
        assert!(body.shared.0.ended.get());
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_slow_reader_is_not_the_clients() {
        let (sender, mut body) = paced();
        assert!(body.next().now_or_never().is_none(), "the window begins");
        for _ in 0..5 {
            sender.send(chunk(10)).unwrap();
            assert!(body.next().await.unwrap().is_ok());
            // Such as a disk that takes a minute.
            later(Duration::from_secs(60)).await;
            assert!(body.next().now_or_never().is_none());
        }
        assert!((9..=10).contains(&fails_after(&mut body).await));
    }
}
