//! Takes sockets over from HTTP after a handshake through the server's routes.

use std::rc::Rc;

use actix_codec::Framed;
use actix_http::body::{BodySize, BoxBody, MessageBody};
use actix_http::h1::{Codec, Message};
use actix_http::{ConnectionType, HttpMessage, Request, Response, StatusCode};
use actix_service::{Service, ServiceFactory, fn_factory, fn_service};
use actix_web::dev::ServiceResponse;
use futures::SinkExt;

use super::TakeoverSlot;
use super::flusher::Flusher;
use super::io::ServerStream;
use super::peer::Connection;
use crate::connections::Activity;
use crate::ws::Shard;

/// An HTTP/1 connection.
type HttpStream<T> = Framed<T, Codec>;

/// Serves requests that want another protocol. Each is passed to `app`; if it admits a socket of the feed, the feed
/// takes the connection over. Any other response is sent, and the connection ends.
pub fn upgrades<T, F, B>(
    app: F,
    shard: Rc<Shard>,
) -> impl ServiceFactory<
    (Request, HttpStream<T>),
    Config = (),
    Response = (),
    Error = actix_web::Error,
    InitError = (),
    Future = impl Future + 'static,
>
where
    T: ServerStream,
    F: ServiceFactory<Request, Config = (), Response = ServiceResponse<B>, Error = actix_web::Error, InitError = ()>,
    F: 'static,
    B: MessageBody + 'static,
{
    let app = Rc::new(app);
    let flusher = Flusher::start(shard);
    fn_factory(move || {
        let (app, flusher) = (Rc::clone(&app), Rc::clone(&flusher));
        async move {
            let app = Rc::new(app.new_service(()).await?);
            Ok::<_, ()>(fn_service::<_, _, _, _, _, ()>(move |(request, stream)| {
                let (app, flusher) = (Rc::clone(&app), Rc::clone(&flusher));
                async move {
                    // Boxed separately, so that the memory of the handshake is freed while the connection is open.
                    let handshake = Box::pin(handshake(&*app, request, stream, flusher)).await;
                    drop(app);
                    if let Ok(Some(connection)) = handshake {
                        connection.await;
                    }
                    Ok::<_, actix_web::Error>(())
                }
            }))
        }
    })
}

/// Returns the new connection; `None` if there was another response.
async fn handshake<T, S, B>(
    app: &S,
    request: Request,
    mut stream: HttpStream<T>,
    flusher: Rc<Flusher>,
) -> Result<Option<Connection>, actix_web::Error>
where
    T: ServerStream,
    S: Service<Request, Response = ServiceResponse<B>, Error = actix_web::Error>,
    B: MessageBody + 'static,
{
    let activity = request.conn_data::<Rc<Activity>>().cloned();
    let slot = TakeoverSlot::default();
    request.extensions_mut().insert(slot.clone());
    let response: Response<BoxBody> = match app.call(request).await {
        Ok(response) => Response::from(response).map_body(|_, body: B| body.boxed()),
        Err(error) => error.into(),
    };
    let takeover = slot.take().filter(|_| response.status() == StatusCode::SWITCHING_PROTOCOLS);
    let Some(takeover) = takeover else {
        send_and_close(stream, response).await?;
        return Ok(None);
    };
    if let Some(activity) = activity {
        activity.taken_over();
    }
    stream.send(Message::Item((response.drop_body(), BodySize::None))).await?;
    let parts = stream.into_parts();
    Ok(Connection::open(parts.io.into_io(), &parts.read_buf, takeover, flusher))
}

/// Sends an ordinary response. A client that requested another protocol may have sent anything after its request, so
/// the connection ends.
async fn send_and_close<T: ServerStream>(
    mut stream: HttpStream<T>,
    response: Response<BoxBody>,
) -> Result<(), actix_web::Error> {
    let (mut head, mut body) = response.into_parts();
    head.head_mut().set_connection_type(ConnectionType::Close);
    let size = body.size();
    stream.send(Message::Item((head, size))).await?;
    if !matches!(size, BodySize::None) {
        while let Some(chunk) = std::future::poll_fn(|task| std::pin::Pin::new(&mut body).poll_next(task)).await {
            let chunk = chunk.map_err(actix_web::error::ErrorInternalServerError)?;
            stream.send(Message::Chunk(Some(chunk))).await?;
        }
        stream.send(Message::Chunk(None)).await?;
    }
    SinkExt::<Message<(Response<()>, BodySize)>>::close(&mut stream).await?;
    Ok(())
}
