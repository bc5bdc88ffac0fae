//! `GET /api/v1/realtime/sse`

use actix_web::{HttpRequest, HttpResponse};
use muster_core::{Error, Kind};
use muster_feed::Position;
use muster_request::{Fields, Request};

use crate::error::HttpError;
use crate::error::sets::{Disaster, ReadErrors};
use crate::guard::{Listening, Queried, staying};
use crate::ws::{self, read_positions};

/// Maximum number of channels of a stream, the same as of a socket.
const MOST: usize = 128;

/// The channels of a stream.
#[derive(Debug, Request)]
#[request(query)]
pub struct ChannelsQuery {
    /// Channel; repeatable, at most 128.
    #[request(
        with = repeated,
        items = 1..=MOST,
        message = format!("name 1 to {MOST} channels, such as ?ch=incidents&ch=alerts"),
    )]
    ch: Vec<String>,
}

fn repeated(fields: &mut Fields<'_>, name: &str) -> Option<Vec<String>> {
    Some(fields.texts(name).map(str::to_owned).collect())
}

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
        ChannelsQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "Last received position in each channel"),
    ),
    responses((status = 200, description = "The events, until the stream ends", content_type = "text/event-stream", body = String),
        ReadErrors<Disaster>))]
pub async fn listen(
    queried: Queried<Listening, ChannelsQuery>,
    request: HttpRequest,
) -> Result<HttpResponse, HttpError> {
    let channels = positioned(queried.query.ch, &request)?;
    let shard = ws::shard_of(&request)?;
    if shard.sockets().ending() {
        return Err(HttpError::new(Kind::Unavailable, "the server is stopping: connect again"));
    }
    let admitted = staying(&request).await?;
    Ok(ws::listen(shard, &request, admitted, channels)?)
}

fn positioned(channels: Vec<String>, request: &HttpRequest) -> Result<Vec<(String, Option<Position>)>, Error> {
    let id = request.headers().get("Last-Event-ID").and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty());
    let Some(id) = id else { return Ok(channels.into_iter().map(|channel| (channel, None)).collect()) };
    let positions = read_positions(id).filter(|positions| positions.len() == channels.len());
    let positions = positions.ok_or_else(|| {
        let wrong = "must be <epoch>-<offset> for each `ch`, in their order, with commas between";
        Error::field(Kind::Invalid, &["header", "Last-Event-ID"], wrong, id.into())
    })?;
    Ok(channels.into_iter().zip(positions).collect())
}
