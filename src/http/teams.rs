//! Teams of API keys: create, list, get, edit, delete. Scope `admin`.

use actix_web::http::StatusCode;
use actix_web::http::header::ETAG;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::page::PageParams;
use muster_core::{Error, Kind, Millis};
use muster_identity::keys::{KeyIssuer, NewTeam, TeamPatch, TeamRecord};
use muster_limits::ledger::{Budget, nanos_of_usd};
use muster_request::Request;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::envelope::{self, IdempotencyReplay};
use crate::error::HttpError;
use crate::error::sets::{Agent, CallErrors, Conflict, NotFound, ReadErrors, VersionErrors, WriteErrors};
use crate::guard::{Admin, Guarded, Queried, Sent, caller_of};
use crate::month_budget::MonthBudget;
use crate::parameters::{self, PageQuery};

/// A new team.
#[derive(Debug, Request)]
#[request(into = NewTeam, example = { "name": "research", "budget_usd": 200.0, "models": ["fast", "openai/*"] })]
pub struct NewTeamBody {
    /// 1 to 100 characters, unique.
    name: String,
    /// Budget of all keys of the team for a calendar month, in USD; none by default.
    #[request(range = 0.0..=1e12)]
    budget_usd: Option<f64>,
    /// The models that keys of the team may use: names of models, aliases or families, `provider/model`, or `provider/*`. By
    /// default all.
    #[request(default)]
    models: Vec<String>,
    /// Time for which answers are cached and shared among the keys of the team, in seconds; off by default.
    #[request(range = 0..=2_592_000)]
    cache_seconds: Option<u64>,
}

/// Changes of a team. Fields that are left out keep their values; null removes a budget or turns the cache off.
#[derive(Debug, Request)]
#[request(into = TeamPatch, example = { "budget_usd": 500.0 })]
pub struct TeamPatchBody {
    name: Option<String>,
    #[request(range = 0.0..=1e12)]
    budget_usd: Option<Option<f64>>,
    /// Replaces the present models; an empty list allows all.
    models: Option<Vec<String>>,
    #[request(range = 0..=2_592_000)]
    cache_seconds: Option<Option<u64>>,
}

/// A team.
#[derive(Debug, Serialize, ToSchema)]
pub struct TeamBody {
    /// Identifier, `team_…`.
    pub id: String,
    pub name: String,
    pub budget_usd: Option<f64>,
    pub models: Vec<String>,
    pub cache_seconds: Option<u64>,
    pub created_at: String,
    pub updated_at: String,
    /// Version of the record, for `If-Match`; also the `ETag`.
    pub version: u64,
    /// State of the budget this month; only in the answer for a single team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<MonthBudget>,
}

impl From<&TeamRecord> for TeamBody {
    fn from(team: &TeamRecord) -> Self {
        Self {
            id: team.id.clone(),
            name: team.name.clone(),
            budget_usd: team.budget_usd,
            models: team.models.clone(),
            cache_seconds: team.cache_seconds,
            created_at: Millis::rfc3339(team.created_at),
            updated_at: Millis::rfc3339(team.updated_at),
            version: team.version,
            budget: None,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct TeamList {
    pub teams: Vec<TeamBody>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

fn with_etag(team: TeamBody) -> HttpResponse {
    HttpResponse::Ok().insert_header((ETAG, envelope::etag(team.version))).json(team)
}

/// Create a team
///
/// Creates a team. Its keys share a budget, a list of models and, if it has a time for it, a cache of answers. `PATCH
/// /api/v1/keys/{id}` or the creation of a key puts a key into it. `Idempotency-Key` is honoured until the server restarts.
#[utoipa::path(post, path = "/api/v1/teams", tag = "keys", operation_id = "create_team", request_body = NewTeamBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    responses((status = 201, description = "The new team", body = TeamBody), WriteErrors<Agent>))]
pub async fn create(
    request: Sent<Admin, NewTeamBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let maker = caller_of(&http)?.key;
    let idempotency = parameters::idempotency(&http, &maker.id, &request.sent)?;
    let (team, replayed) = app.keys.create_team(request.body.into(), KeyIssuer::Key(maker), idempotency).await?;
    let mut response = HttpResponse::build(StatusCode::CREATED);
    IdempotencyReplay::from(replayed).write_to(&mut response);
    Ok(response.insert_header((ETAG, envelope::etag(team.version))).json(TeamBody::from(&*team)))
}

/// List teams
///
/// Returns a page of the teams, newest first.
#[utoipa::path(get, path = "/api/v1/teams", tag = "keys", operation_id = "list_teams", params(PageQuery),
    responses((status = 200, description = "A page of teams", body = TeamList), ReadErrors<Agent>))]
pub async fn list(request: Queried<Admin, PageQuery>, app: web::Data<App>) -> Result<web::Json<TeamList>, HttpError> {
    let PageParams { limit, after } = request.query.into();
    let mut teams = app.keys.teams(limit + 1, after.as_deref());
    let more = teams.len() > limit;
    teams.truncate(limit);
    let next_cursor = teams.last().filter(|_| more).map(|team| team.id.clone());
    Ok(web::Json(TeamList { teams: teams.iter().map(|team| TeamBody::from(&**team)).collect(), next_cursor }))
}

/// Get a team
///
/// Returns one team with the state of its budget, and its version as `ETag`.
#[utoipa::path(get, path = "/api/v1/teams/{id}", tag = "keys", operation_id = "get_team", params(("id" = String, Path)),
    responses((status = 200, description = "The team", body = TeamBody), CallErrors<Agent>, NotFound<Agent>))]
pub async fn get(
    _guard: Guarded<Admin>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let id = id.into_inner();
    let missing = || Error::new(Kind::NotFound, format!("no team has the id {id}"));
    let team = app.keys.team(&id).ok_or_else(missing)?;
    let budget = app.ledger.budget(Budget::Team, &id, team.budget_usd.map(nanos_of_usd)).await?;
    Ok(with_etag(TeamBody { budget: Some(budget.into()), ..TeamBody::from(&*team) }))
}

/// Edit a team
///
/// Changes a team, for all of its keys at once. A key that belongs to the team, or that is bound to less than the team would
/// grant, needs the role `super_admin`.
#[utoipa::path(patch, path = "/api/v1/teams/{id}", tag = "keys", operation_id = "edit_team", request_body = TeamPatchBody,
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    responses((status = 200, description = "The changed team", body = TeamBody), WriteErrors<Agent>,
        VersionErrors<Agent>, NotFound<Agent>))]
pub async fn edit(
    request: Sent<Admin, TeamPatchBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (issuer, if_match) = (KeyIssuer::Key(caller_of(&http)?.key), parameters::if_match(&http)?);
    let team = app.keys.edit_team(id.into_inner(), request.body.into(), issuer, if_match).await?;
    Ok(with_etag(TeamBody::from(&*team)))
}

/// Delete a team
///
/// Deletes a team that has no keys, except revoked ones. Its usage stays in the ledger.
#[utoipa::path(delete, path = "/api/v1/teams/{id}", tag = "keys", operation_id = "delete_team",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    responses((status = 200, description = "The deleted team", body = TeamBody), ReadErrors<Agent>, VersionErrors<Agent>,
        NotFound<Agent>, Conflict<Agent>))]
pub async fn delete(
    _guard: Guarded<Admin>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<TeamBody>, HttpError> {
    let (issuer, if_match) = (KeyIssuer::Key(caller_of(&http)?.key), parameters::if_match(&http)?);
    let team = app.keys.delete_team(id.into_inner(), issuer, if_match).await?;
    Ok(web::Json(TeamBody::from(&*team)))
}
