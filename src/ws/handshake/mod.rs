//! The handshake of a socket: which pages and which tokens are admitted.

mod origin;
mod switch;

use std::rc::Rc;

use actix_web::http::header;
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use muster_core::{Error, Kind};

use super::direct::TakeoverSlot;
use super::protocol::{Endpoint, Refusal, SUBPROTOCOL};
use super::{Framing, Opening, Shard};

pub(crate) use switch::bearer;

/// Opens a socket: checks the origin, the handshake and its token, in this order, before the upgrade.
///
/// # Errors
/// `UpgradeRequired` for an ordinary request, `Forbidden` for a page of another origin, `Unauthenticated` for an
/// invalid token, `Unavailable` if there are too many connections, `Invalid` for a connection that cannot switch
/// protocols.
pub async fn upgrade(
    (shard, endpoint): (Rc<Shard>, Endpoint),
    request: &HttpRequest,
    url: &str,
) -> Result<HttpResponse, Error> {
    let sockets = shard.sockets();
    if !switch::is_requested(request) {
        let more = match endpoint {
            Endpoint::Feed | Endpoint::Echo => "",
            Endpoint::Agents => "; an API key with the scope `agents` is such a token. `muster monitor` is a client",
        };
        let message = format!(
            "this path speaks WebSocket: send `Upgrade: websocket` with the subprotocol `{SUBPROTOCOL}` and \
             `Authorization: Bearer <token>`, or a first frame {{\"id\":1,\"connect\":{{\"token\":\"<token>\"}}}}{more}"
        );
        return Err(Error::new(Kind::UpgradeRequired, message));
    }
    let token = bearer(request);
    origin::check(request, &sockets.options.origins, token.is_some())?;
    let mut response = switch::response(request)?;
    let Some(slot) = request.extensions().get::<TakeoverSlot>().cloned() else {
        return Err(Error::new(Kind::Invalid, "this connection cannot switch protocols: use HTTP/1.1, without a body")
            .coded("bad_handshake"));
    };
    if sockets.ending() {
        return Err(Error::new(Kind::Unavailable, "the server is stopping: connect again"));
    }
    let (admitted, place) = match token {
        Some((scheme, token)) => {
            let dpop = request.headers().get("DPoP").and_then(|proof| proof.to_str().ok()).map(str::to_owned);
            let checked = sockets.admission.authenticate(scheme, token, dpop, url).await.map_err(refused)?;
            if endpoint == Endpoint::Agents && !endpoint.admits(&checked.client.subject) {
                return Err(Error::new(Kind::Forbidden, "this needs the permission `agents:read` or `agents:control`")
                    .coded("permission_denied"));
            }
            (Some(checked), None)
        }
        None => {
            let place = sockets.counts.anonymous().ok_or_else(|| {
                Error::new(Kind::Unavailable, "too many connections are not authenticated yet: try again later")
                    .coded("connection_limit")
            })?;
            (None, Some(place))
        }
    };
    let url = Rc::from(url);
    let opening =
        move |link| Opening { link, framing: Framing::Socket, endpoint, admitted, place, url, channels: Vec::new() };
    response.insert_header((header::CACHE_CONTROL, "no-store"));
    slot.fill(shard, opening);
    Ok(response.finish())
}

/// Converts the rejection of a handshake's token.
pub(crate) fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::Invalid => {
            Error::new(Kind::Unauthenticated, "the token is invalid, expired or revoked: refresh it or log in again")
        }
        Refusal::Forbidden => {
            let message = "this needs the permission `realtime:subscribe`, or of an API key the scope `agents`";
            Error::new(Kind::Forbidden, message).coded("permission_denied")
        }
        Refusal::TooMany => Error::new(Kind::RateLimited, "too many live connections: close one first"),
        Refusal::Unavailable => Error::new(Kind::Unavailable, "tokens cannot be checked now: try again"),
    }
}
