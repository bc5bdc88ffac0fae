//! The catalogue of agents.

use actix_web::web;
use muster_core::{Error, Kind};
use muster_request::Request;
use muster_tasks::agent::{Agent, PlanStep};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{self, CallErrors, NotFound, ReadErrors};
use crate::guard::{AgentsRead, Guarded, Queried};

#[derive(Debug, Request)]
#[request(query)]
pub struct AgentQuery {
    /// Returns only the agents of this category.
    category: Option<String>,
    /// Returns only agents whose id, name, summary or capabilities contain all these words, in any case.
    q: Option<String>,
}

/// An agent in the list.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentEntry {
    pub id: String,
    pub name: String,
    pub category: String,
    pub summary: String,
    pub capabilities: Vec<String>,
    /// JSON Schema of the run's `params`, with defaults.
    #[schema(value_type = Object)]
    pub parameters: Value,
}

/// A category of agents.
#[derive(Debug, Serialize, ToSchema)]
pub struct CategoryEntry {
    pub id: String,
    pub name: String,
    /// Number of agents in the category.
    pub agents: usize,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct AgentList {
    pub agents: Vec<AgentEntry>,
    /// Every category that has an agent, whatever the filters.
    pub categories: Vec<CategoryEntry>,
    /// Always null: the list has one page.
    pub next_cursor: Option<String>,
}

/// An engine of a toolbox.
#[derive(Debug, Serialize, ToSchema)]
pub struct ToolEntry {
    /// The engine's path is `/api/q<number>`.
    pub number: u16,
    pub id: &'static str,
    pub name: &'static str,
}

/// One engine call of a plan.
#[derive(Debug, Serialize, ToSchema)]
pub struct PlanEntry {
    /// Name by which later steps and the result refer to the step.
    pub r#as: String,
    pub engine: &'static str,
    /// Names of the engine's inputs that the plan sets.
    pub inputs: Vec<String>,
    /// Whether the step has a condition and may be skipped.
    pub conditional: bool,
}

/// An agent with its engines and plan.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentBody {
    #[serde(flatten)]
    pub entry: AgentEntry,
    /// Engines that a planning model may call.
    pub engines: Vec<ToolEntry>,
    /// System prompt of a planning model.
    pub system_prompt: String,
    /// Steps in order, executed if no model plans.
    pub plan: Vec<PlanEntry>,
}

fn entry(agent: &Agent) -> AgentEntry {
    AgentEntry {
        id: agent.id.clone(),
        name: agent.name.clone(),
        category: agent.category.clone(),
        summary: agent.summary.clone(),
        capabilities: agent.capabilities.clone(),
        parameters: agent.params_schema(),
    }
}

fn planned(step: &PlanStep) -> PlanEntry {
    PlanEntry {
        r#as: step.name.clone(),
        engine: step.engine.id,
        inputs: step.bind.iter().map(|(name, _)| name.clone()).collect(),
        conditional: step.when.is_some(),
    }
}

/// List agents
///
/// Returns the agents of this server, optionally of one category or matching words.
#[utoipa::path(get, path = "/api/v1/agents", tag = "agents", operation_id = "list_agents", params(AgentQuery),
    responses((status = 200, description = "The agents and their categories", body = AgentList),
        ReadErrors<sets::Agent>))]
pub async fn list(
    request: Queried<AgentsRead, AgentQuery>,
    app: web::Data<App>,
) -> Result<web::Json<AgentList>, HttpError> {
    let AgentQuery { category, q } = request.query;
    let agents = &app.agency.agents;
    let of = |id: &str| agents.by_category(id).count();
    let known = agents.categories().iter().map(|it| CategoryEntry {
        id: it.id.clone(),
        name: it.name.clone(),
        agents: of(&it.id),
    });
    let categories: Vec<CategoryEntry> = known.filter(|it| it.agents > 0).collect();
    if let Some(category) = &category
        && !agents.categories().iter().any(|it| it.id == *category)
    {
        let names: Vec<&str> = categories.iter().map(|it| it.id.as_str()).collect();
        let wrong = format!("must be one of {}", names.join(", "));
        return Err(HttpError(Error::field(Kind::Invalid, &["query", "category"], wrong, category.as_str().into())));
    }
    let words: Vec<String> = q.unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
    let wanted = |agent: &Agent| {
        let text = format!("{} {} {} {}", agent.id, agent.name, agent.summary, agent.capabilities.join(" "));
        let text = text.to_lowercase();
        category.as_ref().is_none_or(|category| agent.category == *category)
            && words.iter().all(|word| text.contains(word.as_str()))
    };
    let agents = agents.list().iter().filter(|agent| wanted(agent)).map(|agent| entry(agent)).collect();
    Ok(web::Json(AgentList { agents, categories, next_cursor: None }))
}

/// Get an agent
///
/// Returns one agent with its parameters, engines, system prompt and plan.
#[utoipa::path(get, path = "/api/v1/agents/{id}", tag = "agents", operation_id = "get_agent", params(("id" = String, Path)),
    responses((status = 200, description = "The agent", body = AgentBody),
        CallErrors<sets::Agent>, NotFound<sets::Agent>))]
pub async fn get(
    _guard: Guarded<AgentsRead>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<web::Json<AgentBody>, HttpError> {
    let agent = app.agency.agents.get(&id).ok_or_else(|| {
        let id: String = id.chars().take(100).collect();
        Error::new(Kind::NotFound, format!("there is no agent {id:?}: GET /api/v1/agents lists them"))
    })?;
    let tool = |engine: &&'static muster_engines::Engine| ToolEntry {
        number: engine.number,
        id: engine.id,
        name: engine.name,
    };
    Ok(web::Json(AgentBody {
        entry: entry(agent),
        engines: agent.toolbox.iter().map(tool).collect(),
        system_prompt: agent.system_prompt.clone(),
        plan: agent.plan.iter().map(planned).collect(),
    }))
}
