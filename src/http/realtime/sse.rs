//! `GET /api/v1/realtime/sse`

use actix_web::{HttpRequest, HttpResponse, web};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_actors::feed::Position;
use muster_actors::identity::{By, Scheme};
use muster_actors::{Error, Kind, Millis};
use serde::Deserialize;

use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{Guarded, Listening, address_of, app, caller_of};
use crate::ws::protocol::{Subject, Who};
use crate::ws::{self, Admitted, Shard, read_positions};

/// Most channels of one stream, as of one socket.
const MOST: usize = 128;

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
        ("ch" = Vec<String>, Query, description = "A channel; repeatable, 128 at most"),
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
    _guarded: Guarded<Listening>,
    query: web::Query<Vec<(String, String)>>,
) -> Result<HttpResponse, HttpError> {
    let names = query.into_inner().into_iter().filter(|(name, _)| name == "ch").map(|(_, channel)| channel);
    let channels = positioned(names.collect(), &request)?;
    let shard = ws::shard_of(&request)?;
    if shard.sockets().ending() {
        return Err(HttpError::new(Kind::Unavailable, "the server is stopping: connect again"));
    }
    let admitted = admitted(&request, &shard).await?;
    Ok(ws::listen(shard, &request, admitted, channels)?)
}

/// The caller, with what becomes of its session or key while the stream is open.
async fn admitted(request: &HttpRequest, shard: &Shard) -> Result<Admitted, HttpError> {
    let admission = &shard.sockets().admission;
    let (scheme, token) = ws::bearer(request).unwrap_or((Scheme::Bearer, String::new()));
    match caller_of(request)?.by {
        Some(By::Person(person)) => {
            let watch = admission.watch(&person.session_id);
            let watch =
                watch.ok_or_else(|| HttpError::new(Kind::Unauthenticated, "the session is over: log in again"))?;
            Ok(Admitted { who: Who { subject: Subject::Person(person), exp: end_of(&token) }, watch })
        }
        _ => {
            let url = address_of(&*app(request)?, request);
            let admitted = admission.authenticate(scheme, token, None, &url).await;
            admitted.map_err(|_| HttpError::new(Kind::Unauthenticated, "the key is not good any more"))
        }
    }
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

/// When a token that the guard let in ends.
fn end_of(token: &str) -> Millis {
    #[derive(Deserialize)]
    struct Claims {
        exp: u64,
    }
    let claims = token.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
    let claims = claims.and_then(|claims| serde_json::from_slice::<Claims>(&claims).ok());
    Millis(claims.map_or(0, |claims| claims.exp.saturating_mul(1000)))
}
