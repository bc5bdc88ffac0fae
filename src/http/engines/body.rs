//! Responses of engines.

use muster_engines::{DataSource, Engine, Explained, Step};
use muster_tasks::engine::EngineAnswer;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// An engine in the list.
#[derive(Debug, Serialize, ToSchema)]
pub struct EngineEntry {
    /// The engine's path is `/api/q<number>`.
    pub number: u16,
    pub id: &'static str,
    pub name: &'static str,
    /// Family, such as `hazard`.
    pub family: &'static str,
    pub summary: &'static str,
    /// `pure` (the output depends on the input only), `workspace` (the engine reads files below the workspace folder),
    /// `model` (it may call a model in the name of the caller) or `state` (it reads the state of the server).
    pub nature: &'static str,
}

impl From<&'static Engine> for EngineEntry {
    fn from(engine: &'static Engine) -> Self {
        let Engine { number, id, name, summary, .. } = *engine;
        Self { number, id, name, family: engine.family.name(), summary, nature: engine.nature.name() }
    }
}

/// The engines of this server, by family and number.
#[derive(Debug, Serialize, ToSchema)]
pub struct EngineList {
    pub engines: Vec<EngineEntry>,
    /// Null on the last page, and where no `limit` was given.
    pub next_cursor: Option<String>,
}

/// Data that an engine contains.
#[derive(Debug, Serialize, ToSchema)]
pub struct EngineData {
    pub id: &'static str,
    /// Edition of the data.
    pub version: &'static str,
    pub licence: &'static str,
    /// `unreviewed` while there is only one source of it, else how it was checked.
    pub review: &'static str,
}

impl From<&'static DataSource> for EngineData {
    fn from(data: &'static DataSource) -> Self {
        Self { id: &data.id, version: &data.version, licence: &data.licence, review: &data.review }
    }
}

/// An engine with its schemas.
#[derive(Debug, Serialize, ToSchema)]
pub struct EngineBody {
    #[serde(flatten)]
    pub entry: EngineEntry,
    /// JSON Schema of the request body of a run. `x-unit` is the unit of a field.
    #[schema(value_type = Object)]
    pub input_schema: Value,
    /// JSON Schema of the `output` of a run.
    #[schema(value_type = Object)]
    pub output_schema: Value,
    /// A valid input.
    #[schema(value_type = Object)]
    pub example: Value,
    /// Description of the method.
    pub method: &'static str,
    /// Source of the method.
    pub reference: &'static str,
    /// Version of the method: major for fields, minor for numbers beyond the tolerance, patch for neither.
    pub version: &'static str,
    /// How accurate the output is, and against what that was checked.
    pub accuracy: &'static str,
    /// Range in which the method holds.
    pub valid: &'static str,
    /// Largest input.
    pub limits: &'static str,
    /// `long` for calls of up to a minute, which report their progress with `Accept: text/event-stream`.
    pub cost: &'static str,
    /// Data that it contains.
    pub data: Vec<EngineData>,
}

impl From<&'static Engine> for EngineBody {
    fn from(engine: &'static Engine) -> Self {
        Self {
            entry: engine.into(),
            input_schema: engine.input_schema(),
            output_schema: engine.output_schema(),
            example: engine.example(),
            method: engine.method,
            reference: engine.reference,
            version: engine.version,
            accuracy: engine.accuracy,
            valid: engine.valid,
            limits: engine.limits,
            cost: engine.cost.name(),
            data: engine.data.iter().map(EngineData::from).collect(),
        }
    }
}

/// The result of a run.
#[derive(Debug, Serialize)]
pub struct EngineRun {
    pub engine: &'static str,
    pub number: u16,
    /// Version of the method.
    pub version: &'static str,
    pub output: Value,
    pub duration_ms: u64,
    pub warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<Explanation>,
}

impl EngineRun {
    pub fn of(engine: &'static Engine, answer: EngineAnswer) -> Self {
        Self {
            engine: engine.id,
            number: engine.number,
            version: engine.version,
            output: answer.output,
            duration_ms: u64::try_from(answer.took.as_millis()).unwrap_or(u64::MAX),
            warnings: answer.warnings,
            explain: answer.explained.map(|explained| Explanation::of(engine, explained)),
        }
    }
}

/// How an engine came to its output.
#[derive(Debug, Serialize, ToSchema)]
pub struct Explanation {
    /// Intermediate results, in order.
    pub steps: Vec<ExplainedStep>,
    /// What was assumed where the input says nothing.
    pub assumptions: Vec<String>,
    /// Sources of the method.
    pub references: Vec<&'static str>,
    /// Data that the engine contains.
    pub data: Vec<EngineData>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ExplainedStep {
    pub name: String,
    pub value: Value,
    /// Empty for none.
    pub unit: String,
}

impl Explanation {
    fn of(engine: &'static Engine, explained: Explained) -> Self {
        let step = |step: Step| ExplainedStep { name: step.name, value: step.value, unit: step.unit };
        Self {
            steps: explained.steps.into_iter().map(step).collect(),
            assumptions: explained.assumptions,
            references: engine.reference.split("; ").filter(|reference| !reference.is_empty()).collect(),
            data: engine.data.iter().map(EngineData::from).collect(),
        }
    }
}
