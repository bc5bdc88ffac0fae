//! `GET /api/v1/realtime/sse`

use actix_web::{HttpRequest, HttpResponse};
use muster_core::{Error, Kind};
use muster_feed::Position;
use muster_request::{Fields, Request};

use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{Listening, Queried, staying};
use crate::ws::{self, read_positions};

/// Most channels of one stream, as of one socket.
const MOST: usize = 128;

/// Which channels a stream carries.
#[derive(Debug, Request)]
#[request(query)]
pub struct ChannelsQuery {
    /// A channel; repeatable, 128 at most.
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

/// The live feed as server-sent events.
///
/// Each event's `data` is a frame as sockets get it: first, for each channel, `{"id":1,"ok":{"ch":…,"state":…}}` or
/// `{"id":1,"error":…}`, then publications. An event's `id` is `<epoch>-<offset>`, for several channels one for each in
/// the order of the `ch`, with commas between; sent back as `Last-Event-ID` it resumes each of them. Before the server
/// ends the stream it says `event: close` with a `code` and `reason` of the sockets' table. A stream ends with its token
/// (and 25 s of grace), as it cannot refresh.
#[utoipa::path(
    get, path = "/api/v1/realtime/sse", operation_id = "realtime_events", tag = "realtime",
    security(("token" = []), ("key" = [])),
    params(
        ChannelsQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "Where the listener stands in each channel"),
    ),
    responses(
        (status = 200, description = "Events until the stream ends", content_type = "text/event-stream", body = String),
        (status = 400, description = "No channel, or an id of other channels", body = ErrorDisaster),
        (status = 401, description = "No token, or none that is good", body = ErrorDisaster),
        (status = 403, description = "This needs the permission realtime:subscribe", body = ErrorDisaster),
        (status = 429, description = "Too many requests or live connections", body = ErrorDisaster),
        (status = 503, description = "The server stops", body = ErrorDisaster),
    ),
)]
pub async fn listen(
    request: HttpRequest,
    queried: Queried<Listening, ChannelsQuery>,
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
