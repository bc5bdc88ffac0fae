//! The catalogue as written, before validation.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::advice::AdviceRow;

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
    /// Sets of optional parameters of each of which a run needs one.
    #[serde(default)]
    pub(super) one_of: Vec<Vec<String>>,
    pub(super) engines: Vec<String>,
    pub(super) system_prompt: String,
    pub(super) plan: Vec<StepRow>,
    pub(super) writeup: Vec<SectionRow>,
    /// Sentences at the beginning of the report.
    #[serde(default)]
    pub(super) key_points: Vec<AdviceRow>,
    /// Sentences under its next steps.
    #[serde(default)]
    pub(super) next_steps: Vec<AdviceRow>,
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
    /// What it means that there is no value, or an empty list.
    pub(super) none: Option<String>,
    /// Records whose members are added to the rows with the same key.
    pub(super) join: Option<String>,
    /// The member of a row that is the key; `id` unless it is named.
    pub(super) key: Option<String>,
    /// The rows' order: a reference to a list of keys, or a member, with `-` before it for the largest first.
    pub(super) order: Option<String>,
    /// The names of the columns of rows that are lists.
    pub(super) header: Option<String>,
    /// Labels of the items whose numbers the value lists.
    pub(super) labels: Option<String>,
    /// A reference to the time zone in which times are written.
    pub(super) zone: Option<String>,
    /// Whether addresses are written so that they are no links.
    #[serde(default)]
    pub(super) defang: bool,
    /// The members that are columns, in order; all unless they are named.
    #[serde(default)]
    pub(super) columns: Vec<String>,
}
