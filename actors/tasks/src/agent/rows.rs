//! The catalogue as written, before validation.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rows {
    #[serde(default)]
    pub(super) optional: Vec<OptionalRow>,
    #[serde(default)]
    pub(super) category: Vec<CategoryRow>,
    #[serde(default)]
    pub(super) agent: Vec<AgentRow>,
}

/// Engines of a family that may be missing in a build.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OptionalRow {
    /// The family, which is the cargo feature that includes it.
    pub(super) feature: String,
    pub(super) engines: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CategoryRow {
    pub(super) id: String,
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) category: String,
    pub(super) summary: String,
    pub(super) capabilities: Vec<String>,
    #[serde(default)]
    pub(super) parameters: Vec<String>,
    /// Other words by which texts name parameters.
    #[serde(default)]
    pub(super) words: BTreeMap<String, Vec<String>>,
    pub(super) engines: Vec<String>,
    pub(super) system_prompt: String,
    pub(super) plan: Vec<StepRow>,
    pub(super) writeup: Vec<SectionRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepRow {
    #[serde(rename = "as")]
    pub(super) name: String,
    pub(super) engine: String,
    pub(super) when: Option<String>,
    #[serde(default)]
    pub(super) bind: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SectionRow {
    pub(super) title: String,
    pub(super) from: String,
}
