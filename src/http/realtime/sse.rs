//! `GET /api/v1/realtime/sse`

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::{Error, Kind};
use muster_feed::Position;

use crate::error::HttpError;
use crate::error::sets::{Disaster, ReadErrors};
use crate::guard::{Guarded, Listening, staying};
use crate::ws::{self, read_positions};

/// Most channels of one stream, as of one socket.
const MOST: usize = 128;

/// Stream the live feed
///
/// Streams channels as server-sent events. The `data` of an event is a frame as on the WebSocket: first for each
/// channel `{"id": 1, "ok": {"ch": "…", "state": …}}` or `{"id": 1, "error": …}`, then publications.
///
/// The `id` of an event is `<epoch>-<offset>`; for several channels one for each, separated by commas, in the order of
/// the `ch` parameters. Sent back as `Last-Event-ID` it resumes every channel. The server ends a stream with `event:
/// close` and a `code` and `reason` of the WebSocket's table; a stream ends 25 seconds after its token expires.
#[utoipa::path(get, path = "/api/v1/realtime/sse", tag = "realtime", operation_id = "realtime_events",
    params(
        ("ch" = Vec<String>, Query, description = "A channel; repeatable, 128 at most"),
        ("Last-Event-ID" = Option<String>, Header, description = "Where the listener stands in each channel"),
    ),
    responses((status = 200, description = "The events, until the stream ends", content_type = "text/event-stream", body = String),
        ReadErrors<Disaster>))]
pub async fn listen(
    _guarded: Guarded<Listening>,
    request: HttpRequest,
    query: web::Query<Vec<(String, String)>>,
) -> Result<HttpResponse, HttpError> {
    let names = query.into_inner().into_iter().filter(|(name, _)| name == "ch").map(|(_, channel)| channel);
    let channels = positioned(names.collect(), &request)?;
    let shard = ws::shard_of(&request)?;
    if shard.sockets().ending() {
        return Err(HttpError::new(Kind::Unavailable, "the server is stopping: connect again"));
    }
    let admitted = staying(&request).await?;
    Ok(ws::listen(shard, &request, admitted, channels)?)
}

fn positioned(channels: Vec<String>, request: &HttpRequest) -> Result<Vec<(String, Option<Position>)>, Error> {
    if channels.is_empty() || channels.len() > MOST {
        let wrong = format!("name 1 to {MOST} channels, such as ?ch=incidents&ch=alerts");
        return Err(Error::field(Kind::Invalid, &["query", "ch"], wrong, serde_json::Value::Null));
    }
    let id = request.headers().get("Last-Event-ID").and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty());
    let Some(id) = id else { return Ok(channels.into_iter().map(|channel| (channel, None)).collect()) };
    let positions = read_positions(id).filter(|positions| positions.len() == channels.len());
    let positions = positions.ok_or_else(|| {
        let wrong = "must be <epoch>-<offset> for each `ch`, in their order, with commas between";
        Error::field(Kind::Invalid, &["header", "Last-Event-ID"], wrong, id.into())
    })?;
    Ok(channels.into_iter().zip(positions).collect())
}
