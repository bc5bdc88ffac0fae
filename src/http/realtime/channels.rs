//! `GET /api/v1/realtime/channels/{ch}/…`

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::principal::Viewer;
use muster_core::{Error, Kind};
use muster_feed::{Denied, HistoryError, Position, Refused};
use muster_identity::By;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::envelope;
use crate::error::HttpError;
use crate::error::sets::{CallErrors, Disaster, NotFound, ReadErrors};
use crate::guard::{Guarded, Listening, app, caller_of};
use crate::ws::protocol::{Subject, outbound};
use crate::ws::read_positions;

const MOST: usize = 500;
const USUAL: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HistoryQuery {
    /// `<epoch>-<offset>`: what came after it; left out: from the oldest that is kept.
    since: Option<String>,
    /// 1 to 500, 50 by default.
    limit: Option<String>,
}

/// Get the history of a channel
///
/// Returns the kept publications of a channel after a position, as the frames that were sent. `recovered` is false if
/// the history does not reach back to `since` (`why` is `gap`, `epoch` or `limit`); `pubs` then begins at the oldest
/// kept publication. If `more` is true, continue from the last `off`.
#[utoipa::path(get, path = "/api/v1/realtime/channels/{ch}/history", tag = "realtime", operation_id = "realtime_history",
    params(("ch" = String, Path, description = "The channel, such as `incidents`"), HistoryQuery),
    responses((status = 200, description = "`ch`, `epoch`, `offset`, `recovered`, `pubs` and `more` of the channel", body = Object),
        ReadErrors<Disaster>, NotFound<Disaster>))]
pub async fn history(
    _guarded: Guarded<Listening>,
    request: HttpRequest,
    channel: web::Path<String>,
    query: web::Query<HistoryQuery>,
) -> Result<HttpResponse, HttpError> {
    let since = query.since.as_deref().map(position).transpose()?;
    let limit = match query.limit.as_deref() {
        None => USUAL,
        Some(text) => text.parse().ok().filter(|limit| (1..=MOST).contains(limit)).ok_or_else(|| {
            Error::field(Kind::Invalid, &["query", "limit"], format!("must be 1 to {MOST}"), text.into())
        })?,
    };
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
    responses((status = 200, description = "`ch` and `present` of the channel", body = Object), CallErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn presence(
    _guarded: Guarded<Listening>,
    request: HttpRequest,
    channel: web::Path<String>,
) -> Result<HttpResponse, HttpError> {
    let feed = &app(&request)?.feed;
    if !subject(&request)?.may_see_others() {
        return Err(HttpError::new(Kind::Forbidden, "who else watches is told to those who may see everybody's tasks"));
    }
    // Who may read a channel may know who else does.
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

fn position(text: &str) -> Result<Position, Error> {
    let one = read_positions(text).and_then(|all| match all.as_slice() {
        [Some(position)] => Some(position.clone()),
        _ => None,
    });
    one.ok_or_else(|| Error::field(Kind::Invalid, &["query", "since"], "must be <epoch>-<offset>", text.into()))
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
