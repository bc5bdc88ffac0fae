//! Requests and responses of the handshake of RFC 6455, section 4.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponseBuilder};
use actix_web_actors::ws;
use muster_core::{Error, Kind};
use muster_identity::Scheme;

use crate::ws::protocol::SUBPROTOCOL;

/// Returns whether the request is for a WebSocket.
pub(super) fn is_requested(request: &HttpRequest) -> bool {
    let upgrade = request.headers().get(header::UPGRADE).and_then(|value| value.to_str().ok());
    upgrade.is_some_and(|value| value.to_ascii_lowercase().contains("websocket"))
}

/// Returns the response that switches protocols.
///
/// # Errors
/// The request is not a valid handshake, or offers only other subprotocols.
pub(super) fn response(request: &HttpRequest) -> Result<HttpResponseBuilder, Error> {
    let mut offered = request.headers().get_all(header::SEC_WEBSOCKET_PROTOCOL).peekable();
    let some = offered.peek().is_some();
    let ours = offered.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    if some && !ours.map(str::trim).any(|protocol| protocol == SUBPROTOCOL) {
        let message = format!("Sec-WebSocket-Protocol must offer `{SUBPROTOCOL}`");
        return Err(Error::new(Kind::Invalid, message).coded("bad_handshake"));
    }
    ws::handshake_with_protocols(request, &[SUBPROTOCOL])
        .map_err(|error| Error::new(Kind::Invalid, format!("no WebSocket handshake: {error}")).coded("bad_handshake"))
}

/// Returns scheme and token of the header `Authorization`. A token in the query is never accepted, because it ends in
/// logs (RFC 9700).
pub(crate) fn bearer(request: &HttpRequest) -> Option<(Scheme, String)> {
    let sent = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = sent.split_once(' ')?;
    let known = [("bearer", Scheme::Bearer), ("dpop", Scheme::Dpop)];
    let (_, known) = known.into_iter().find(|(name, _)| scheme.eq_ignore_ascii_case(name))?;
    Some((known, token.trim().to_owned()))
}
