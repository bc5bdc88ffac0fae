//! Takes sockets over from HTTP after a handshake through the server's routes.

use std::rc::Rc;

use actix_codec::Framed;
use actix_http::body::{BodySize, BoxBody, MessageBody};
use actix_http::h1::{Codec, Message};
use actix_http::{ConnectionType, HttpMessage, Request, Response, StatusCode};
use actix_service::{Service, ServiceFactory, fn_factory, fn_service};
use actix_web::dev::ServiceResponse;
use actix_web::rt::net::TcpStream;
use futures::SinkExt;

use super::TakeoverSlot;
use super::flusher::Flusher;
use super::peer::Connection;
use crate::ws::Shard;

type Socket = Framed<TcpStream, Codec>;

/// Serves requests that want another protocol. Each is passed to `app`; if it admits a socket of the feed, the feed
/// takes the connection over. Any other response is sent, and the connection ends.
pub(crate) fn upgrades<F, B>(
    app: F,
    shard: Rc<Shard>,
) -> impl ServiceFactory<
    (Request, Socket),
    Config = (),
    Response = (),
    Error = actix_web::Error,
    InitError = (),
    Future = impl Future + 'static,
>
where
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
            Ok::<_, ()>(fn_service::<_, _, _, _, _, ()>(move |(request, socket)| {
                let (app, flusher) = (Rc::clone(&app), Rc::clone(&flusher));
                async move {
                    // Boxed separately, so that the memory of the handshake is freed while the connection is open.
                    let shaken = Box::pin(shake(&*app, request, socket, flusher)).await;
                    drop(app);
                    if let Ok(Some(connection)) = shaken {
                        connection.await;
                    }
                    Ok::<_, actix_web::Error>(())
                }
            }))
        }
    })
}

/// Returns the new connection; `None` if there was another response.
async fn shake<S, B>(
    app: &S,
    request: Request,
    mut socket: Socket,
    flusher: Rc<Flusher>,
) -> Result<Option<Connection>, actix_web::Error>
where
    S: Service<Request, Response = ServiceResponse<B>, Error = actix_web::Error>,
    B: MessageBody + 'static,
{
    let slot = TakeoverSlot::default();
    request.extensions_mut().insert(slot.clone());
    let response: Response<BoxBody> = match app.call(request).await {
        Ok(answered) => Response::from(answered).map_body(|_, body: B| body.boxed()),
        Err(error) => error.into(),
    };
    let Some(begin) = slot.taken().filter(|_| response.status() == StatusCode::SWITCHING_PROTOCOLS) else {
        answer(socket, response).await?;
        return Ok(None);
    };
    socket.send(Message::Item((response.drop_body(), BodySize::None))).await?;
    let parts = socket.into_parts();
    Ok(Connection::begin(parts.io, &parts.read_buf, begin, flusher))
}

/// Sends an ordinary response. A client that asked for another protocol may have sent anything after it, so the
/// connection ends.
async fn answer(mut socket: Socket, response: Response<BoxBody>) -> Result<(), actix_web::Error> {
    let (mut head, mut body) = response.into_parts();
    head.head_mut().set_connection_type(ConnectionType::Close);
    let size = body.size();
    socket.send(Message::Item((head, size))).await?;
    if !matches!(size, BodySize::None) {
        while let Some(chunk) = std::future::poll_fn(|task| std::pin::Pin::new(&mut body).poll_next(task)).await {
            let chunk = chunk.map_err(actix_web::error::ErrorInternalServerError)?;
            socket.send(Message::Chunk(Some(chunk))).await?;
        }
        socket.send(Message::Chunk(None)).await?;
    }
    SinkExt::<Message<(Response<()>, BodySize)>>::close(&mut socket).await?;
    Ok(())
}
