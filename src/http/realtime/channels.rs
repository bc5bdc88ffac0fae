//! `GET /api/v1/realtime/channels/{ch}/…`

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::principal::Viewer;
use muster_core::{Error, Kind};
use muster_feed::{Denied, HistoryError, Position, Refused};
use muster_identity::By;
use muster_request::{Fields, Request};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::envelope::{self, Data};
use crate::error::HttpError;
use crate::error::sets::{CallErrors, Disaster, NotFound, ReadErrors};
use crate::guard::{Guarded, Listening, Queried, app, caller_of};
use crate::ws::protocol::{Subject, outbound};
use crate::ws::read_positions;

const MOST: usize = 500;
const USUAL: usize = 50;

#[derive(Debug, Request)]
#[request(query)]
pub struct HistoryQuery {
    /// Position `<epoch>-<offset>`: returns later publications only. By default the page begins with the oldest stored
    /// publication.
    #[request(with = position, schema = String)]
    since: Option<Position>,
    /// Maximum number of publications.
    #[request(range = 1..=MOST, default = USUAL)]
    limit: usize,
}

/// A page of the history of a channel.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes a response")]
pub struct ChannelHistory {
    pub ch: String,
    /// The span within which offsets are gapless.
    pub epoch: String,
    /// Offset of the last publication of the channel.
    pub offset: u64,
    /// Whether the page follows `since` without a gap.
    pub recovered: bool,
    /// Why it does not: `gap` (older than the kept history), `epoch` (another epoch) or `limit` (too many).
    pub why: Option<String>,
    /// The publications, oldest first.
    pub publications: Vec<Publication>,
    /// Whether further publications follow: continue from the last `off`.
    pub more: bool,
}

/// A publication, as it is sent over the live feed.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes a response")]
pub struct Publication {
    pub ch: String,
    /// Offset within the channel and its epoch.
    #[schema(minimum = 1)]
    pub off: u64,
    /// Name of the event. `/asyncapi.json` describes the `data` of each.
    pub ev: String,
    #[schema(format = DateTime)]
    pub ts: String,
    /// Identifier of the event, unique over all channels; absent where only the latest value is kept.
    pub eid: Option<String>,
    #[schema(value_type = crate::schema::AnyObject)]
    pub data: Map<String, Value>,
}

/// The subscribers of a channel.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes a response")]
pub struct ChannelPresence {
    pub ch: String,
    /// The subscribers, the longest subscribed first.
    pub present: Vec<PresentSubscriber>,
}

/// A subscriber of a channel.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "describes a response")]
pub struct PresentSubscriber {
    /// Identifier of the user, device or key.
    pub user: String,
    /// Number of its connections.
    #[schema(minimum = 1)]
    pub connections: u64,
    /// Time of its first subscription.
    #[schema(format = DateTime)]
    pub since: String,
}

/// Get the history of a channel
///
/// Returns the kept publications of a channel after a position, as the frames that were sent. `recovered` is false if
/// the history does not reach back to `since` (`why` says the reason); `publications` then begins at the oldest
/// kept publication. If `more` is true, continue from the last `off`.
#[utoipa::path(get, path = "/api/v1/realtime/channels/{ch}/history", tag = "realtime", operation_id = "realtime_history",
    params(("ch" = String, Path, description = "The channel, such as `incidents`"), HistoryQuery),
    responses((status = 200, description = "The page", body = Data<ChannelHistory>),
        ReadErrors<Disaster>, NotFound<Disaster>))]
pub async fn history(
    queried: Queried<Listening, HistoryQuery>,
    request: HttpRequest,
    channel: web::Path<String>,
) -> Result<HttpResponse, HttpError> {
    let HistoryQuery { since, limit } = queried.query;
    let feed = &app(&request)?.feed;
    let page = feed.history(&channel, since, limit, viewer(&request)?).await.map_err(refused)?;
    Ok(envelope::data(outbound::history(&page)))
}

/// List the subscribers of a channel
///
/// Returns the subscribers of a channel to a caller who may subscribe to it: `user`, `connections` and `since`, the
/// longest subscribed first.
#[utoipa::path(get, path = "/api/v1/realtime/channels/{ch}/presence", tag = "realtime", operation_id = "realtime_presence",
    params(("ch" = String, Path, description = "The channel, such as `incidents`")),
    responses((status = 200, description = "The subscribers", body = Data<ChannelPresence>), CallErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn presence(
    _guarded: Guarded<Listening>,
    request: HttpRequest,
    channel: web::Path<String>,
) -> Result<HttpResponse, HttpError> {
    let feed = &app(&request)?.feed;
    if !subject(&request)?.may_see_others() {
        return Err(HttpError::new(
            Kind::Forbidden,
            "presence on this channel is visible only to callers who may see all tasks",
        ));
    }
    // A caller that may read a channel may also see its presence.
    feed.history(&channel, None, 1, viewer(&request)?).await.map_err(refused)?;
    let present = feed.presence(&channel).await?;
    Ok(envelope::data(outbound::presence(&channel, &present)))
}

fn viewer(request: &HttpRequest) -> Result<Viewer, HttpError> {
    Ok(subject(request)?.viewer())
}

fn subject(request: &HttpRequest) -> Result<Subject, HttpError> {
    let caller = caller_of(request)?;
    match caller.by {
        None => Ok(Subject::of_key(caller.key)),
        Some(By::Person(person)) => Ok(Subject::Person(person)),
        Some(By::Key(_) | By::Device(_) | By::System) => {
            Err(HttpError::new(Kind::Internal, "a route for people and keys let another in"))
        }
    }
}

fn position(fields: &mut Fields<'_>, name: &str) -> Option<Position> {
    let text = fields.string(name)?;
    let position = read_positions(&text).and_then(|all| match all.as_slice() {
        [Some(position)] => Some(position.clone()),
        _ => None,
    });
    if position.is_none() {
        fields.fail(name, "must be <epoch>-<offset>");
    }
    position
}

fn refused(error: HistoryError) -> Error {
    match error {
        HistoryError::Down(error) => error,
        HistoryError::Refused(Refused::Forbidden(permission)) => {
            Error::new(Kind::Forbidden, format!("this needs the permission `{permission}`"))
                .coded("permission_denied")
                .detailing(serde_json::json!({ "permission": permission }))
        }
        HistoryError::Refused(Refused::NoChannel | Refused::Denied(Denied::NotFound)) => {
            Error::new(Kind::NotFound, "the channel does not exist or is not visible to you")
        }
        HistoryError::Refused(Refused::Denied(Denied::Unavailable)) => {
            Error::new(Kind::Unavailable, "what the channel is about does not answer now: try again")
        }
    }
}
