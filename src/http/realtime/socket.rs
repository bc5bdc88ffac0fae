//! `GET /api/v1/realtime`

use actix_web::{HttpRequest, HttpResponse};

use crate::error::HttpError;
use crate::error::sets::{Disaster, HandshakeErrors};
use crate::guard::{Open, app, request_url};
use crate::ws::{self, Endpoint};

/// Open the live feed
///
/// Opens a WebSocket with the subprotocol `muster.v1.json`: one JSON object in each text frame. `/asyncapi.json`
/// describes every message.
///
/// The credential is sent as `Authorization: Bearer` in the handshake, or, from a browser, in a first frame `{"id": 1,
/// "connect": {"token": "…"}}` within 10 seconds. A token in the query is refused. A device sends a token that it signs
/// and is subscribed to its own channel `devices:{id}`. An API key with the scope `agents` is admitted to the channels
/// of agents and tasks and to `system`. Pages of other origins are rejected unless `server.cors_origins` lists them.
#[utoipa::path(get, path = "/api/v1/realtime", tag = "realtime", operation_id = "realtime_socket",
    security((), ("token" = []), ("device" = [])),
    params(
        ("Upgrade" = Option<String>, Header, description = "`websocket`"),
        ("Sec-WebSocket-Protocol" = Option<String>, Header, description = "`muster.v1.json`"),
        ("Origin" = Option<String>, Header, description = "Origin of the page; without it the handshake needs a token"),
    ),
    responses((status = 101, description = "The WebSocket is open"), HandshakeErrors<Disaster>))]
pub async fn open(_counted: Open, request: HttpRequest) -> Result<HttpResponse, HttpError> {
    let url = request_url(&*app(&request)?, &request);
    Ok(ws::upgrade((ws::shard_of(&request)?, Endpoint::Feed), &request, &url).await?)
}
