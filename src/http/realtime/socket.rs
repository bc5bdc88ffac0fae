//! `GET /api/v1/realtime`

use actix_web::{HttpRequest, HttpResponse, web};

use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{Open, address_of, app};
use crate::ws::{self, Endpoint};

/// Opens a WebSocket of the live feed.
///
/// Speaks the subprotocol `muster.v1.json`: one JSON object per text frame; `/asyncapi.json` describes every one. Send
/// `Authorization: Bearer` at the handshake, or, from a browser, a first frame `{"id":1,"connect":{"token":…}}` within
/// 10 s. A device sends the token that it signs, and hears its own channel `devices:{id}`. An API key with the scope
/// `agents` is let in too, to the channels of agents and tasks and to `system`. A token in the query is
/// never read. Pages of other origins are refused unless `server.cors_origins` names them.
#[utoipa::path(
    get, path = "/api/v1/realtime", operation_id = "realtime_socket", tag = "realtime",
    security((), ("token" = []), ("device" = [])),
    params(
        ("Upgrade" = Option<String>, Header, description = "`websocket`"),
        ("Sec-WebSocket-Protocol" = Option<String>, Header, description = "`muster.v1.json`"),
        ("Origin" = Option<String>, Header, description = "The page's origin; without it a token is needed here"),
    ),
    responses(
        (status = 101, description = "The socket is open"),
        (status = 400, description = "No WebSocket handshake, or none for this subprotocol", body = ErrorDisaster),
        (status = 401, description = "The token is not good; nothing was upgraded", body = ErrorDisaster),
        (status = 403, description = "A page of another origin, or no origin and no token", body = ErrorDisaster),
        (status = 426, description = "An ordinary request: says how to connect", body = ErrorDisaster),
        (status = 429, description = "Too many handshakes", body = ErrorDisaster),
        (status = 503, description = "Too many sockets wait to say who they are, or the server stops", body = ErrorDisaster),
    ),
)]
pub async fn open(request: HttpRequest, _counted: Open, body: web::Payload) -> Result<HttpResponse, HttpError> {
    let url = address_of(&*app(&request)?, &request);
    Ok(ws::upgrade((ws::shard_of(&request)?, Endpoint::Feed), &request, &url, body).await?)
}
