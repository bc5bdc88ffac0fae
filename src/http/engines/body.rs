//! What is told of engines.

use muster_engines::Engine;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// An engine in the list.
#[derive(Debug, Serialize, ToSchema)]
pub struct EngineEntry {
    /// Its address is `/api/q<number>`.
    pub number: u16,
    pub id: &'static str,
    pub name: &'static str,
    /// `platform`, `data`, `security`, `text`, `code` or `docs`.
    pub family: &'static str,
    pub summary: &'static str,
    /// `pure` (nothing but its input counts) or `workspace` (it reads files below the workspace folder).
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
    /// All of them are on this page: always null.
    pub next_cursor: Option<String>,
}

/// One engine.
#[derive(Debug, Serialize, ToSchema)]
pub struct EngineBody {
    #[serde(flatten)]
    pub entry: EngineEntry,
    /// JSON Schema of the body of its run. `x-unit` is a field's unit.
    #[schema(value_type = Object)]
    pub input_schema: Value,
    /// JSON Schema of the `output` of its run.
    #[schema(value_type = Object)]
    pub output_schema: Value,
    /// A good input.
    #[schema(value_type = Object)]
    pub example: Value,
    /// How it computes.
    pub method: &'static str,
    /// Where the method is from.
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

/// What a run gave.
#[derive(Debug, Serialize)]
pub struct EngineRun {
    pub engine: &'static str,
    pub number: u16,
    pub output: Value,
    pub duration_ms: u64,
    pub warnings: Vec<String>,
}
