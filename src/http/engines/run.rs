//! Handlers of engines.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::page::Page;
use muster_core::principal::Permission;
use muster_core::{Error, Kind};
use muster_engines::{Engine, Family, Nature};
use muster_identity::keys::Scope;
use muster_providers::Usage;
use muster_request::{Fields, Rejection, Request};
use muster_tasks::{engine::EngineCall, engine::EngineCaller, engine::EngineRunner as _};
use serde_json::Value;

use super::body::{EngineBody, EngineEntry, EngineList, EngineRun};
use super::stream;
use crate::app::App;
use crate::chat::payer;
use crate::error::HttpError;
use crate::error::sets::{Agent, NotFound, ReadErrors};
use crate::guard::{EnginesRead, EnginesRun, Guarded, Queried, SentQueried, acting, caller_of};

#[derive(Debug, Request)]
#[request(query)]
pub struct EngineQuery {
    /// Returns only the engines of this family, such as `hazard`.
    #[request(with = family, schema = String)]
    family: Option<Family>,
    /// Returns only engines whose id, name or summary contains all these words, in any case.
    q: Option<String>,
    /// Maximum number of engines of the page; all, if it is not given.
    #[request(range = 1..=500)]
    limit: Option<usize>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// List engines
///
/// Returns the engines of this server by family and number, optionally of one family, matching words, or in pages.
#[utoipa::path(get, path = "/api/engines", tag = "engines", operation_id = "list_engines", params(EngineQuery),
    responses((status = 200, description = "The engines", body = EngineList), ReadErrors<Agent>))]
pub async fn list(request: Queried<EnginesRead, EngineQuery>) -> Result<web::Json<EngineList>, HttpError> {
    let EngineQuery { family, q, limit, cursor } = request.query;
    let found: Vec<_> = muster_engines::search(family, &q.unwrap_or_default()).collect();
    let begin = match cursor.filter(|cursor| !cursor.is_empty()) {
        None => 0,
        Some(cursor) => match found.iter().position(|engine| engine.id == cursor) {
            Some(last) => last + 1,
            None => {
                let message = "is not the `next_cursor` of a page of this list";
                return Err(Error::field(Kind::Invalid, &["query", "cursor"], message, cursor.into()).into());
            }
        },
    };
    let from = found.into_iter().skip(begin);
    let page = Page::of(from, limit.unwrap_or(usize::MAX), |engine| engine.id.to_owned()).map(EngineEntry::from);
    Ok(web::Json(EngineList { engines: page.items, next_cursor: page.next }))
}

fn family(fields: &mut Fields<'_>, name: &str) -> Option<Family> {
    let text = fields.string(name)?;
    let family = Family::of_name(&text);
    if family.is_none() {
        fields.fail(name, format!("must be one of {}", Family::ALL.map(Family::name).join(", ")));
    }
    family
}

/// Describe an engine
///
/// Returns the input and output schemas of an engine, an example input, its method and the source of the method.
#[utoipa::path(get, path = "/api/q{number}", tag = "engines", operation_id = "get_engine",
    params(("number" = u16, Path, description = "Number of the engine, 1 to 247", example = 109)),
    responses((status = 200, description = "The engine with its schemas", body = EngineBody), ReadErrors<Agent>,
        NotFound<Agent>))]
pub async fn get(_guard: Guarded<EnginesRead>, number: web::Path<String>) -> Result<web::Json<EngineBody>, HttpError> {
    Ok(web::Json(EngineBody::from(engine_of(&number)?)))
}

fn engine_of(number: &str) -> Result<&'static Engine, Error> {
    let canonical = |parsed: &u16| parsed.to_string() == number;
    let found = number.parse().ok().filter(canonical).and_then(muster_engines::by_number);
    found.ok_or_else(|| {
        let number: String = number.chars().take(20).collect();
        Error::new(Kind::NotFound, format!("this server has no engine q{number}: GET /api/engines lists those it has"))
    })
}

/// The input of an engine: any JSON value, which the engine validates itself.
#[derive(Debug)]
pub struct Input(pub(super) Value);

impl Request for Input {
    fn read(_: &mut Fields<'_>) -> Option<Self> {
        None
    }

    fn from_json(value: &Value) -> Result<Self, Rejection> {
        Ok(Self(value.clone()))
    }
}

/// The parameters of a run.
#[derive(Debug, Request)]
#[request(query)]
pub struct RunQuery {
    /// Whether the answer explains itself: intermediate results, assumptions, sources and the data that was used.
    #[request(default = false)]
    explain: bool,
}

/// Returns the caller of an engine, with what its needs may use: models with the scope `chat`, tasks with the scope `agents`
/// or the permission to read them, memory with the scope `memory`.
fn caller(app: &App, http: &HttpRequest, engine: &Engine) -> Result<EngineCaller, HttpError> {
    let (key, by) = (caller_of(http)?.key, acting(http)?);
    // Most calls are of engines that need nothing.
    if !matches!(engine.nature, Nature::Model | Nature::State) {
        return Ok(EngineCaller::of(&by));
    }
    let pays = || payer::spend(&app.keys, &app.live().config.budget, &key, Vec::new(), Usage::default());
    let watches = key.has(Scope::Agents) || by.may(Permission::AgentsRead) || by.may(Permission::AgentsControl);
    Ok(EngineCaller {
        payer: key.has(Scope::Chat).then(|| Box::new(pays())),
        watcher: watches.then(|| by.clone()),
        reader: key.has(Scope::Memory).then(|| by.clone()),
        ..EngineCaller::of(&by)
    })
}

/// Runs an engine.
pub async fn run(
    request: SentQueried<EnginesRun, Input, RunQuery>,
    number: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let engine = engine_of(&number)?;
    let caller = caller(&app, &http, engine)?;
    let call = EngineCall { explain: request.query.explain, ..EngineCall::new(engine, request.body.0, caller) };
    if stream::is_wanted(&http) {
        return Ok(stream::run(&app, call));
    }
    let answer = app.engines.run(call).await?;
    Ok(HttpResponse::Ok().json(EngineRun::of(engine, answer)))
}
