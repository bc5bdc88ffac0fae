//! The live monitor of agents (q62).

use actix_web::{HttpRequest, HttpResponse};

use crate::error::HttpError;
use crate::error::sets::{Agent, HandshakeErrors};
use crate::guard::{Open, app, request_url};
use crate::route::operations;
use crate::ws::{self, Endpoint};

operations! {
    open,
}

/// Open the live monitor of agents
///
/// Opens a WebSocket with the protocol of `GET /api/v1/realtime` (`muster.v1.json`; `/asyncapi.json` describes every
/// message), for API keys with the scope `agents` and users with the permission `agents:read` or `agents:control`.
///
/// The server subscribes the connection to `agents` with a snapshot of every live task that the caller may see: in the
/// reply to `connect`, or, if the handshake contained the credential, in a frame `{"ch": "agents", "subscribed": {…}}`.
/// Further channels are `agents:{id}`, `tasks:{id}`, `tasks:{id}:logs`, `agents:metrics` and `system`; commands are
/// `agent.pause`, `agent.resume`, `agent.kill` and `agent.redirect`. A connection whose key is revoked is closed at
/// once with the code 4011.
#[utoipa::path(get, path = "/api/q62/dashboard/agents", tag = "agents", operation_id = "agents_monitor",
    security((), ("key" = []), ("token" = [])),
    params(
        ("Upgrade" = Option<String>, Header, description = "`websocket`"),
        ("Sec-WebSocket-Protocol" = Option<String>, Header, description = "`muster.v1.json`"),
        ("Origin" = Option<String>, Header, description = "Origin of the page; without it the handshake needs a key or token"),
    ),
    responses((status = 101, description = "The WebSocket is open"), HandshakeErrors<Agent>))]
pub async fn open(_counted: Open, request: HttpRequest) -> Result<HttpResponse, HttpError> {
    let url = request_url(&*app(&request)?, &request);
    Ok(ws::upgrade((ws::shard_of(&request)?, Endpoint::Agents), &request, &url).await?)
}
