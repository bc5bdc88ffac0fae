//! Loads the catalogue: checks across its rows, and engines that a build may lack.

use std::collections::{HashMap, HashSet};

use muster_engines::Engine;
use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;

use super::agents::{Agent, Category};
use super::check;
use super::rows::{AgentRow, CategoryRow, Rows};

/// All mistakes in a catalogue, one per line. Those of an operator's file begin with its name and the line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the agents cannot be loaded:\n{}", .0.join("\n"))]
pub struct CatalogueErrors(pub Vec<String>);

/// A file with agents of the operator, in the format of the built-in catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueFile {
    /// Name of the file, for messages.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// The position of each agent of a text.
#[derive(Debug, Deserialize)]
struct Positions {
    #[serde(default)]
    agent: Vec<Position>,
}

#[derive(Debug, Deserialize)]
struct Position {
    id: Spanned<IgnoredAny>,
}

/// Returns the line of a position in a text, from 1.
fn line(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

impl CatalogueFile {
    /// Reads the rows, each agent with its place: the name of the file and a line.
    fn rows(&self) -> Result<(Rows, Vec<String>), String> {
        let rows: Rows = toml::from_str(&self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            format!("{}, line {}: {}", self.name, line(&self.text, at), error.message())
        })?;
        let positions = toml::from_str::<Positions>(&self.text).map_or_else(|_| Vec::new(), |found| found.agent);
        let place =
            |position: &Position| format!("{}, line {}: ", self.name, line(&self.text, position.id.span().start));
        Ok((rows, positions.iter().map(place).collect()))
    }
}

/// A valid catalogue.
#[derive(Debug)]
pub(super) struct CheckedCatalogue {
    pub(super) categories: Vec<Category>,
    pub(super) agents: Vec<Agent>,
    /// What is missing because this build does not include a family.
    pub(super) warnings: Vec<String>,
    /// What waits for engines of a family that is in this build.
    pub(super) pending: Vec<String>,
}

/// The available engines, and the families of the others.
#[derive(Debug)]
pub(super) struct AvailableEngines {
    engines: HashMap<&'static str, &'static Engine>,
    features: HashMap<String, String>,
    /// Families that this build does not include.
    absent: HashSet<String>,
}

impl AvailableEngines {
    pub(super) fn get(&self, id: &str) -> Option<&'static Engine> {
        self.engines.get(id).copied()
    }

    /// Returns the family of a missing engine.
    pub(super) fn feature(&self, id: &str) -> Option<&str> {
        if self.engines.contains_key(id) { None } else { self.features.get(id).map(String::as_str) }
    }

    /// Whether this build does not include its family.
    fn is_absent(&self, id: &str) -> bool {
        self.features.get(id).is_some_and(|feature| self.absent.contains(feature))
    }
}

/// Reads a catalogue and the operator's files.
pub(super) fn read(
    texts: &[&str],
    own: &[CatalogueFile],
    engines: &[&'static Engine],
) -> Result<CheckedCatalogue, CatalogueErrors> {
    let mut rows = Rows::default();
    for text in texts {
        let more: Rows = toml::from_str(text).map_err(|error| CatalogueErrors(vec![error.to_string()]))?;
        rows.optional.extend(more.optional);
        rows.category.extend(more.category);
        rows.agent.extend(more.agent);
    }
    let (mut mistakes, mut places) = (Vec::new(), vec![String::new(); rows.agent.len()]);
    for file in own {
        match file.rows() {
            Ok((more, found)) => {
                rows.optional.extend(more.optional);
                rows.category.extend(more.category);
                places
                    .extend(more.agent.iter().enumerate().map(|(nth, _)| found.get(nth).cloned().unwrap_or_default()));
                rows.agent.extend(more.agent);
            }
            Err(mistake) => mistakes.push(mistake),
        }
    }
    let agents = || places.iter().map(String::as_str).zip(&rows.agent);
    duplicates(&mut mistakes, "category", rows.category.iter().map(|row| ("", row.id.as_str())));
    duplicates(&mut mistakes, "agent", agents().map(|(place, row)| (place, row.id.as_str())));
    duplicates(&mut mistakes, "agent's name", agents().map(|(place, row)| (place, row.name.as_str())));
    same_plans(&mut mistakes, agents());
    let engines: HashMap<&str, &Engine> = engines.iter().map(|&engine| (engine.id, engine)).collect();
    let included: HashSet<&str> = muster_engines::registry::families().map(|family| family.name()).collect();
    let absent = rows.optional.iter().filter(|row| !included.contains(row.feature.as_str()));
    let absent = absent.map(|row| row.feature.clone()).collect();
    let features = rows.optional.iter();
    let features = features.flat_map(|row| row.engines.iter().map(|id| (id.clone(), row.feature.clone()))).collect();
    let built = AvailableEngines { engines, features, absent };
    let category = |row: &CategoryRow| Category { id: row.id.clone(), name: row.name.clone() };
    let categories: Vec<Category> = rows.category.iter().map(category).collect();
    let (mut agents, mut warnings, mut pending) = (Vec::new(), Vec::new(), Vec::new());
    for (place, row) in places.iter().zip(&rows.agent) {
        if !categories.iter().any(|category| category.id == row.category) {
            mistakes.push(format!("{place}agent {}: there is no category {:?}", row.id, row.category));
        }
        if let Some(lacks) = lacking(row, &built) {
            let names = lacks.iter().map(|id| format!("{id} (family {})", built.feature(id).unwrap_or_default()));
            let names: Vec<String> = names.collect();
            let note = format!("agent {} is omitted: its plan needs {}, not in this build", row.id, names.join(", "));
            let absent = lacks.iter().any(|id| built.is_absent(id));
            if absent {
                warnings.push(note)
            } else {
                pending.push(note)
            }
            continue;
        }
        match check::agent(row, &built) {
            Ok(agent) => {
                let lacks: Vec<&str> =
                    row.engines.iter().map(String::as_str).filter(|id| built.feature(id).is_some()).collect();
                if !lacks.is_empty() {
                    let note = format!("agent {} lacks {} in its toolbox, not in this build", row.id, lacks.join(", "));
                    if lacks.iter().any(|id| built.is_absent(id)) { warnings.push(note) } else { pending.push(note) }
                }
                agents.push(agent);
            }
            Err(found) => mistakes.extend(found.into_iter().map(|mistake| format!("{place}{mistake}"))),
        }
    }
    if mistakes.is_empty() {
        Ok(CheckedCatalogue { categories, agents, warnings, pending })
    } else {
        Err(CatalogueErrors(mistakes))
    }
}

/// Rejects identifiers that occur twice. Each comes with its place.
fn duplicates<'a>(mistakes: &mut Vec<String>, what: &str, ids: impl Iterator<Item = (&'a str, &'a str)>) {
    let mut seen = HashSet::new();
    let twice = ids.filter(|(_, id)| !seen.insert(*id));
    mistakes.extend(twice.map(|(place, id)| format!("{place}the {what} {id:?} is defined twice")));
}

/// Rejects agents with identical plans.
fn same_plans<'a>(mistakes: &mut Vec<String>, rows: impl Iterator<Item = (&'a str, &'a AgentRow)>) {
    let mut seen: HashMap<Vec<&str>, &str> = HashMap::new();
    for (place, row) in rows {
        let plan = row.plan.iter().map(|step| step.engine.as_str()).collect();
        if let Some(other) = seen.insert(plan, &row.id) {
            mistakes.push(format!("{place}agent {}: its plan calls the same engines as that of {other}", row.id));
        }
    }
}

/// Returns the engines that an agent's plan lacks; `None` if it has all. An agent that names an unknown engine is a
/// mistake instead.
fn lacking<'a>(row: &'a AgentRow, built: &AvailableEngines) -> Option<Vec<&'a str>> {
    let named = row.plan.iter().map(|step| &step.engine).chain(&row.engines);
    if named.into_iter().any(|id| built.get(id).is_none() && built.feature(id).is_none()) {
        return None;
    }
    let mut lacks: Vec<&str> =
        row.plan.iter().map(|step| step.engine.as_str()).filter(|id| built.feature(id).is_some()).collect();
    lacks.dedup();
    (!lacks.is_empty()).then_some(lacks)
}
