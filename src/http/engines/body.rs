//! Responses of engines.

use muster_engines::Engine;
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
    /// Family: `platform`, `data`, `security`, `text`, `code` or `docs`.
    pub family: &'static str,
    pub summary: &'static str,
    /// `pure` (the output depends on the input only) or `workspace` (the engine reads files below the workspace
    /// folder).
    pub nature: &'static str,
}

impl From<&'static Engine> for EngineEntry {
    fn from(engine: &'static Engine) -> Self {
        let Engine { number, id, name, summary, .. } = *engine;
        Self { number, id, name, family: engine.family.name(), summary, nature: super::describe::nature(engine) }
    }
}

/// The engines of this server, by family and number.
#[derive(Debug, Serialize, ToSchema)]
pub struct EngineList {
    pub engines: Vec<EngineEntry>,
    /// Always null: the list has one page.
    pub next_cursor: Option<String>,
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
        }
    }
}

/// The result of a run.
#[derive(Debug, Serialize)]
pub struct EngineRun {
    pub engine: &'static str,
    pub number: u16,
    pub output: Value,
    pub duration_ms: u64,
    pub warnings: Vec<String>,
}
