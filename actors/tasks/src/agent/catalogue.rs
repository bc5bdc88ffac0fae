//! Loads the catalogue: checks across its rows, and engines that a build may lack.

use std::collections::{HashMap, HashSet};

use muster_engines::Engine;

use super::agents::{Agent, Category};
use super::check;
use super::rows::{AgentRow, Rows};

/// All mistakes in a catalogue, one per line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the catalogue of agents has {} mistakes:\n{}", .0.len(), .0.join("\n"))]
pub struct CatalogueErrors(pub Vec<String>);

/// A valid catalogue.
#[derive(Debug)]
pub(super) struct CheckedCatalogue {
    pub(super) categories: Vec<Category>,
    pub(super) agents: Vec<Agent>,
    pub(super) warnings: Vec<String>,
}

/// The available engines, and the cargo features of the others.
#[derive(Debug)]
pub(super) struct AvailableEngines {
    engines: HashMap<&'static str, &'static Engine>,
    features: HashMap<String, String>,
}

impl AvailableEngines {
    pub(super) fn get(&self, id: &str) -> Option<&'static Engine> {
        self.engines.get(id).copied()
    }

    /// Returns the feature that would include a missing engine.
    pub(super) fn feature(&self, id: &str) -> Option<&str> {
        if self.engines.contains_key(id) { None } else { self.features.get(id).map(String::as_str) }
    }
}

pub(super) fn read(text: &str, engines: &[&'static Engine]) -> Result<CheckedCatalogue, CatalogueErrors> {
    let rows: Rows = toml::from_str(text).map_err(|error| CatalogueErrors(vec![error.to_string()]))?;
    let mut mistakes = Vec::new();
    duplicates(&mut mistakes, "category", rows.category.iter().map(|row| row.id.as_str()));
    duplicates(&mut mistakes, "agent", rows.agent.iter().map(|row| row.id.as_str()));
    duplicates(&mut mistakes, "agent's name", rows.agent.iter().map(|row| row.name.as_str()));
    let features = rows.optional.iter();
    let features = features.flat_map(|row| row.engines.iter().map(|id| (id.clone(), row.feature.clone()))).collect();
    let built = AvailableEngines { engines: engines.iter().map(|&engine| (engine.id, engine)).collect(), features };
    let categories: Vec<Category> =
        rows.category.into_iter().map(|row| Category { id: row.id, name: row.name }).collect();
    same_plans(&mut mistakes, &rows.agent);
    let (mut agents, mut warnings) = (Vec::new(), Vec::new());
    for row in &rows.agent {
        if !categories.iter().any(|category| category.id == row.category) {
            mistakes.push(format!("agent {}: there is no category {:?}", row.id, row.category));
        }
        if let Some(warning) = omission_warning(row, &built) {
            warnings.push(warning);
            continue;
        }
        match check::agent(row, &built) {
            Ok(agent) => {
                warnings.extend(toolbox_warning(row, &built));
                agents.push(agent);
            }
            Err(found) => mistakes.extend(found),
        }
    }
    if mistakes.is_empty() {
        Ok(CheckedCatalogue { categories, agents, warnings })
    } else {
        Err(CatalogueErrors(mistakes))
    }
}

fn duplicates<'a>(mistakes: &mut Vec<String>, what: &str, ids: impl Iterator<Item = &'a str>) {
    let mut seen = HashSet::new();
    mistakes.extend(ids.filter(|id| !seen.insert(*id)).map(|id| format!("the {what} {id:?} is defined twice")));
}

/// Rejects agents with identical plans.
fn same_plans(mistakes: &mut Vec<String>, rows: &[AgentRow]) {
    let mut seen: HashMap<Vec<&str>, &str> = HashMap::new();
    for row in rows {
        let plan = row.plan.iter().map(|step| step.engine.as_str()).collect();
        if let Some(other) = seen.insert(plan, &row.id) {
            mistakes.push(format!("agent {}: its plan calls the same engines as that of {other}", row.id));
        }
    }
}

/// Returns why an agent is omitted from this build, if it is. An agent that names an unknown engine is a mistake
/// instead.
fn omission_warning(row: &AgentRow, built: &AvailableEngines) -> Option<String> {
    let named = row.plan.iter().map(|step| &step.engine).chain(&row.engines);
    if named.into_iter().any(|id| built.get(id).is_none() && built.feature(id).is_none()) {
        return None;
    }
    let needs = |id: &str| built.feature(id).map(|feature| format!("{id} (cargo feature {feature})"));
    let mut lacks: Vec<String> = row.plan.iter().filter_map(|step| needs(&step.engine)).collect();
    lacks.dedup();
    (!lacks.is_empty())
        .then(|| format!("agent {} is omitted: its plan needs {}, not in this build", row.id, lacks.join(", ")))
}

fn toolbox_warning(row: &AgentRow, built: &AvailableEngines) -> Option<String> {
    let lacks: Vec<&str> =
        row.engines.iter().map(String::as_str).filter(|engine| built.feature(engine).is_some()).collect();
    (!lacks.is_empty())
        .then(|| format!("agent {} lacks {} in its toolbox, not in this build", row.id, lacks.join(", ")))
}
