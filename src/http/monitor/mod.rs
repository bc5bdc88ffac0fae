//! The live monitor of agents (q62).

use actix_web::{HttpRequest, HttpResponse, web};
use utoipa::OpenApi;

use crate::error::{ErrorAgent, HttpError};
use crate::guard::{Open, address_of, app};
use crate::route::resource;
use crate::ws::{self, Endpoint};

/// The routes of this room.
pub fn routes(config: &mut web::ServiceConfig) {
    config.service(resource!("/api/q62/dashboard/agents", get => open));
}

/// Their description.
#[derive(OpenApi, Debug)]
#[openapi(paths(open))]
pub struct Api;

/// Opens a WebSocket of the live monitor.
///
/// The protocol of `GET /api/v1/realtime` (`muster.v1.json`; `/asyncapi.json` describes every frame), for API keys with the
/// scope `agents` and for people with `agents:read` or `agents:control`. The server subscribes the monitor to `agents`
/// with a snapshot of every live task that it may see: in the reply to `connect`, or, where the handshake carried the
/// token, in a frame `{"ch":"agents","subscribed":{…}}`. Further channels are `agents:{id}` of one agent, `tasks:{id}`,
/// `tasks:{id}:logs`, `agents:metrics` and `system`; commands are `agent.pause`, `agent.resume`, `agent.kill` and
/// `agent.redirect`. A key that is revoked is closed with 4011 at once.
#[utoipa::path(
    get, path = "/api/q62/dashboard/agents", operation_id = "agents_monitor", tag = "agents",
    security((), ("key" = []), ("token" = [])),
    params(
        ("Upgrade" = Option<String>, Header, description = "`websocket`"),
        ("Sec-WebSocket-Protocol" = Option<String>, Header, description = "`muster.v1.json`"),
        ("Origin" = Option<String>, Header, description = "The page's origin; without it a key or token is needed here"),
    ),
    responses(
        (status = 101, description = "The socket is open"),
        (status = 400, description = "No WebSocket handshake, or none for this subprotocol", body = ErrorAgent),
        (status = 401, description = "The key or token is not good; nothing was upgraded", body = ErrorAgent),
        (status = 403, description = "The key lacks the scope, the person the permission, or a page of another origin", body = ErrorAgent),
        (status = 426, description = "An ordinary request: says how to connect", body = ErrorAgent),
        (status = 429, description = "Too many handshakes", body = ErrorAgent),
        (status = 503, description = "Too many sockets wait to say who they are, or the server stops", body = ErrorAgent),
    ),
)]
pub async fn open(request: HttpRequest, _counted: Open, body: web::Payload) -> Result<HttpResponse, HttpError> {
    let url = address_of(&*app(&request)?, &request);
    Ok(ws::upgrade((ws::shard_of(&request)?, Endpoint::Agents), &request, &url, body).await?)
}
