//! The implementation for server-sent events: a response whose body is what its connection has to write.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use actix_web::http::{Version, header};
use actix_web::{HttpRequest, HttpResponse};
use bytes::{Bytes, BytesMut};
use futures::Stream;
use muster_core::Error;
use muster_feed::{ConnId, Position};

use super::protocol::Endpoint;
use super::{Admitted, AfterWrite, Collected, Framing, Opening, Positions, Shard, SocketHandle, TransportHandle};

/// Streams channels from the client's position in each.
///
/// # Errors
/// `Invalid` for an unknown channel, `RateLimited` for a user with too many connections.
pub fn listen(
    shard: Rc<Shard>,
    request: &HttpRequest,
    admitted: Admitted,
    channels: Vec<(String, Option<Position>)>,
) -> Result<HttpResponse, Error> {
    // With HTTP/2, other requests share the transport.
    let socket = request.conn_data::<SocketHandle>().filter(|_| request.version() < Version::HTTP_2).cloned();
    let waker = Rc::new(RefCell::new(None));
    let opening = Opening {
        link: Box::new(EventStreamHandle { waker: Rc::clone(&waker), socket }),
        framing: Framing::Events(Positions::new(channels.clone())),
        endpoint: Endpoint::Feed,
        admitted: Some(admitted),
        place: None,
        url: Rc::from(""),
        channels,
    };
    let conn = shard.open(opening)?;
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .insert_header(("x-accel-buffering", "no"))
        .streaming(EventStream { shard, conn, waker, ended: false }))
}

struct EventStreamHandle {
    waker: Rc<RefCell<Option<Waker>>>,
    socket: Option<SocketHandle>,
}

impl TransportHandle for EventStreamHandle {
    fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    fn cut(&self) {
        match &self.socket {
            Some(socket) => socket.cut(),
            // The stream is polled, sees that it was abandoned, and ends.
            None => self.wake(),
        }
    }
}

struct EventStream {
    shard: Rc<Shard>,
    conn: ConnId,
    waker: Rc<RefCell<Option<Waker>>>,
    ended: bool,
}

impl Stream for EventStream {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.ended {
            return Poll::Ready(None);
        }
        let Collected { frames, next } = this.shard.collect(this.conn);
        this.ended = next == AfterWrite::End;
        if !frames.is_empty() {
            let mut all = BytesMut::with_capacity(frames.iter().map(Bytes::len).sum());
            frames.iter().for_each(|frame| all.extend_from_slice(frame));
            return Poll::Ready(Some(Ok(all.freeze())));
        }
        if this.ended {
            return Poll::Ready(None);
        }
        this.waker.borrow_mut().replace(task.waker().clone());
        Poll::Pending
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.shard.closed(self.conn);
    }
}
