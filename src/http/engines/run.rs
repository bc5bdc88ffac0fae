//! The handlers.

use actix_web::{HttpRequest, web};
use muster_core::{Error, Kind};
use muster_engines::{Engine, Family};
use muster_request::{Fields, Rejection, Request};
use muster_tasks::{engine::EngineCall, engine::EngineCaller, engine::EngineRunner as _};
use serde_json::Value;

use super::body::{EngineBody, EngineEntry, EngineList, EngineRun};
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, ReadErrors};
use crate::guard::{EnginesRead, EnginesRun, Guarded, Queried, Sent, acting};

#[derive(Debug, Request)]
#[request(query)]
pub struct EngineQuery {
    /// One family only: `platform`, `data`, `security`, `text`, `code` or `docs`.
    #[request(with = family, schema = String)]
    family: Option<Family>,
    /// Words that must all stand in the id, the name or the summary, in any case.
    q: Option<String>,
}

/// List engines
///
/// Returns the engines of this server, optionally of one family or matching words.
#[utoipa::path(get, path = "/api/engines", tag = "engines", operation_id = "list_engines", params(EngineQuery),
    responses((status = 200, description = "The engines", body = EngineList), ReadErrors<Agent>))]
pub async fn list(request: Queried<EnginesRead, EngineQuery>) -> Result<web::Json<EngineList>, HttpError> {
    let EngineQuery { family, q } = request.query;
    let words: Vec<String> = q.unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
    let wanted = |engine: &&'static Engine| {
        let text = format!("{} {} {}", engine.id, engine.name, engine.summary).to_lowercase();
        family.is_none_or(|family| engine.family == family) && words.iter().all(|word| text.contains(word.as_str()))
    };
    let engines = muster_engines::all().filter(wanted).map(EngineEntry::from).collect();
    Ok(web::Json(EngineList { engines, next_cursor: None }))
}

fn family(fields: &mut Fields<'_>, name: &str) -> Option<Family> {
    let text = fields.string(name)?;
    let family = Family::ALL.into_iter().find(|family| family.name() == text);
    if family.is_none() {
        fields.fail(name, format!("must be one of {}", Family::ALL.map(Family::name).join(", ")));
    }
    family
}

/// One engine.
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

/// An engine's input: whatever is JSON. The engine says what is wrong with it.
#[derive(Debug)]
pub struct Input(Value);

impl Request for Input {
    fn read(_: &mut Fields<'_>) -> Option<Self> {
        None
    }

    fn from_json(value: &Value) -> Result<Self, Rejection> {
        Ok(Self(value.clone()))
    }
}

/// Runs an engine.
pub async fn run(
    request: Sent<EnginesRun, Input>,
    number: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<EngineRun>, HttpError> {
    let engine = engine_of(&number)?;
    let call = EngineCall { engine, input: request.body.0, caller: EngineCaller::of(&acting(&http)?) };
    let answer = app.engines.run(call).await?;
    Ok(web::Json(EngineRun {
        engine: engine.id,
        number: engine.number,
        output: answer.output,
        duration_ms: u64::try_from(answer.took.as_millis()).unwrap_or(u64::MAX),
        warnings: answer.warnings,
    }))
}
