//! The actor of a connection, and the stream of what it writes.

use std::cell::OnceCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use actix::{Actor, ActorContext, Addr, AsyncContext, Handler, Message, StreamHandler};
use actix_web::error::PayloadError;
use actix_web::web;
use actix_web_actors::HttpContext;
use bytes::Bytes;
use futures::Stream;
use muster_core::{Error, Kind};
use muster_feed::ConnId;

use crate::ws::{AfterWrite, Opening, Shard, SocketHandle, TransportHandle};

/// Signals that there is something to write; sent at most once until it is written.
#[derive(Debug, Message)]
#[rtype(result = "()")]
struct Wake;

/// A connection. Its state is in the shard; the actor passes bytes to it.
struct Session {
    shard: Rc<Shard>,
    conn: ConnId,
    body: Option<web::Payload>,
}

impl Actor for Session {
    type Context = HttpContext<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        if let Some(body) = self.body.take() {
            context.add_stream(body);
        }
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.shard.closed(self.conn);
    }
}

impl Handler<Wake> for Session {
    type Result = ();

    /// The message only has to wake the actor, which then collects what to write.
    fn handle(&mut self, Wake: Wake, _: &mut Self::Context) {}
}

impl StreamHandler<Result<Bytes, PayloadError>> for Session {
    fn handle(&mut self, bytes: Result<Bytes, PayloadError>, context: &mut Self::Context) {
        match bytes {
            Ok(bytes) => self.shard.received(self.conn, &bytes),
            Err(error) => {
                tracing::debug!(%error, "a socket broke");
                context.stop();
            }
        }
    }
}

/// How the shard reaches the actor.
struct Reach {
    actor: Addr<Session>,
    line: Option<SocketHandle>,
}

impl TransportHandle for Reach {
    fn wake(&self) {
        // A full mailbox already contains a message that wakes the actor.
        let _ = self.actor.try_send(Wake);
    }

    fn cut(&self) {
        if let Some(line) = &self.line {
            line.cut();
        }
    }
}

/// Begins the connection. The actor runs while the response body is written, and whenever it is woken.
pub(super) fn stream(
    shard: Rc<Shard>,
    line: Option<SocketHandle>,
    opening: impl FnOnce(Box<dyn TransportHandle>) -> Opening + 'static,
    body: web::Payload,
) -> Result<impl Stream<Item = Result<Bytes, actix_web::Error>>, Error> {
    let opened = Rc::new(OnceCell::new());
    let (report_result, of_actor) = (Rc::clone(&opened), Rc::clone(&shard));
    let context = HttpContext::with_factory(move |context: &mut HttpContext<Session>| {
        let link = Box::new(Reach { actor: context.address(), line });
        let result = of_actor.open(opening(link));
        let conn = result.as_ref().map_or(ConnId(u64::MAX), |conn| *conn);
        // Set once, here only.
        let _ = report_result.set(result);
        Session { shard: of_actor, conn, body: Some(body) }
    });
    let conn = opened.get().cloned().unwrap_or_else(|| Err(Error::new(Kind::Internal, "no connection was opened")))?;
    Ok(Writer { actor: Box::pin(context), shard, conn, ended: false })
}

/// Runs the actor, then yields what its connection has to write, as the transport accepts it.
struct Writer<S> {
    actor: Pin<Box<S>>,
    shard: Rc<Shard>,
    conn: ConnId,
    ended: bool,
}

impl<S: Stream<Item = Result<Bytes, actix_web::Error>>> Stream for Writer<S> {
    type Item = Result<Bytes, actix_web::Error>;

    fn poll_next(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.ended {
            return Poll::Ready(None);
        }
        if this.actor.as_mut().poll_next(task).is_ready() {
            // The client has disconnected, or the actor has stopped.
            this.ended = true;
            return Poll::Ready(None);
        }
        let collected = this.shard.collect(this.conn);
        this.ended = collected.next == AfterWrite::End;
        match (collected.joined(), this.ended) {
            (Some(bytes), _) => Poll::Ready(Some(Ok(bytes))),
            (None, true) => Poll::Ready(None),
            (None, false) => Poll::Pending,
        }
    }
}

impl<S> Drop for Writer<S> {
    fn drop(&mut self) {
        self.shard.closed(self.conn);
    }
}
