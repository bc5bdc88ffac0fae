//! The validated catalogue of agents.

use std::collections::HashMap;
use std::sync::Arc;

use muster_engines::Engine;
use muster_engines::grammar::Type;
use serde_json::Value;

use super::advice::Advice;
use super::arrange::Arrangement;
use super::binding::Binding;
use super::catalogue::{self, CatalogueErrors, CatalogueFile};
use super::parameter::{self, Parameter};
use super::reference::{Reference, Scope};

/// An agent: a persona with a toolbox and a plan.
#[derive(Debug)]
pub struct Agent {
    /// Identifier, in kebab-case.
    pub id: String,
    /// Name for people; unique.
    pub name: String,
    /// Identifier of its category.
    pub category: String,
    /// One sentence for people.
    pub summary: String,
    /// Capabilities, in words; never empty.
    pub capabilities: Vec<String>,
    /// Parameters of a run, in the catalogue's order.
    pub(crate) parameters: Vec<Parameter>,
    /// Sets of optional parameters of each of which a run needs one.
    pub(crate) one_of: Vec<Vec<String>>,
    /// Engines that a model may call.
    pub toolbox: Vec<&'static Engine>,
    /// System prompt of a model that plans or writes for the agent.
    pub system_prompt: String,
    /// Steps in order, used if no model plans.
    pub plan: Vec<PlanStep>,
    /// Sections of the result, in order.
    pub writeup: Vec<Section>,
    /// Sentences at the beginning of the report.
    pub key_points: Vec<Advice>,
    /// Sentences under its next steps.
    pub next_steps: Vec<Advice>,
}

/// A step of a plan: a call of an engine.
#[derive(Debug)]
pub struct PlanStep {
    /// Name by which later steps and the write-up refer to it.
    pub name: String,
    /// Engine that the step calls.
    pub engine: &'static Engine,
    /// Inputs by name.
    pub bind: Vec<(String, Binding)>,
    /// The step is skipped if this is null or empty.
    pub when: Option<Reference>,
}

/// A section of a result.
#[derive(Debug)]
pub struct Section {
    /// Heading.
    pub title: String,
    /// Value of the section.
    pub from: Reference,
    /// What it means that there is no value, or an empty list; empty for the usual words.
    pub none: String,
    /// How its rows are arranged.
    pub arrangement: Option<Arrangement>,
    /// Type of the value.
    pub(crate) kind: Type,
    /// Unit of the value; empty for none.
    pub(crate) unit: String,
}

/// A category of agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Category {
    /// Identifier, to which agents refer.
    pub id: String,
    /// Name for people.
    pub name: String,
}

impl Agent {
    /// Returns the JSON Schema of the agent's params.
    pub fn params_schema(&self) -> Value {
        parameter::schema(&self.parameters)
    }

    /// Returns an engine of the toolbox.
    pub(super) fn tool(&self, id: &str) -> Option<&'static Engine> {
        self.toolbox.iter().copied().find(|engine| engine.id == id)
    }

    /// Returns an engine of the toolbox or the plan.
    pub(super) fn engine(&self, id: &str) -> Option<&'static Engine> {
        self.tool(id).or_else(|| self.plan.iter().map(|step| step.engine).find(|engine| engine.id == id))
    }
}

impl Section {
    /// Returns its value, with its rows arranged.
    pub(super) fn value(&self, scope: &Scope<'_>) -> Value {
        let value = self.from.value(scope);
        match &self.arrangement {
            Some(arrangement) => arrangement.apply(value, scope),
            None => value,
        }
    }
}

#[derive(Debug)]
struct Inner {
    categories: Vec<Category>,
    agents: Vec<Arc<Agent>>,
    by_id: HashMap<String, usize>,
    warnings: Vec<String>,
    pending: Vec<String>,
}

/// The built-in agents: the ids of all engines, and a file for each category.
const BUILT_IN: [&str; 13] = [
    include_str!("catalogue/engines.toml"),
    include_str!("catalogue/incident.toml"),
    include_str!("catalogue/hazards.toml"),
    include_str!("catalogue/logistics.toml"),
    include_str!("catalogue/comms.toml"),
    include_str!("catalogue/medical.toml"),
    include_str!("catalogue/devices.toml"),
    include_str!("catalogue/security.toml"),
    include_str!("catalogue/code.toml"),
    include_str!("catalogue/data.toml"),
    include_str!("catalogue/research.toml"),
    include_str!("catalogue/governance.toml"),
    include_str!("catalogue/platform.toml"),
];

/// All agents of the server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Agents(Arc<Inner>);

impl Agents {
    /// Loads the built-in agents for the engines of this build ([`muster_engines::all`]). Agents whose plan needs an
    /// engine that is not in the build are omitted, and listed in [`Self::warnings`] or [`Self::pending`].
    ///
    /// # Errors
    ///
    /// Returns all mistakes in the catalogue: the server must not start.
    pub fn built_in(engines: &[&'static Engine]) -> Result<Self, CatalogueErrors> {
        Self::of(&BUILT_IN, &[], engines)
    }

    /// Loads the built-in agents and those of the operator's files, which have the catalogue's format.
    ///
    /// # Errors
    ///
    /// As for [`Self::built_in`].
    pub fn with_own(own: &[CatalogueFile], engines: &[&'static Engine]) -> Result<Self, CatalogueErrors> {
        Self::of(&BUILT_IN, own, engines)
    }

    /// Parses and validates a catalogue.
    ///
    /// # Errors
    ///
    /// Returns all mistakes in it.
    pub fn parse(text: &str, engines: &[&'static Engine]) -> Result<Self, CatalogueErrors> {
        Self::of(&[text], &[], engines)
    }

    fn of(texts: &[&str], own: &[CatalogueFile], engines: &[&'static Engine]) -> Result<Self, CatalogueErrors> {
        let catalogue::CheckedCatalogue { categories, agents, warnings, pending } =
            catalogue::read(texts, own, engines)?;
        let agents: Vec<_> = agents.into_iter().map(Arc::new).collect();
        let by_id = agents.iter().enumerate().map(|(at, agent)| (agent.id.clone(), at)).collect();
        Ok(Self(Arc::new(Inner { categories, agents, by_id, warnings, pending })))
    }

    /// Returns the agents in the catalogue's order.
    pub fn list(&self) -> &[Arc<Agent>] {
        &self.0.agents
    }

    /// Returns an agent by its identifier.
    pub fn get(&self, id: &str) -> Option<&Arc<Agent>> {
        self.0.agents.get(*self.0.by_id.get(id)?)
    }

    /// Returns the agents of a category, in the catalogue's order.
    pub fn by_category<'a>(&'a self, category: &'a str) -> impl Iterator<Item = &'a Arc<Agent>> {
        self.0.agents.iter().filter(move |agent| agent.category == category)
    }

    /// Returns all categories, including empty ones.
    pub fn categories(&self) -> &[Category] {
        &self.0.categories
    }

    /// Returns messages about what is missing because this build does not include a family, for people.
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    /// Returns messages about agents and toolboxes that wait for engines which are not built yet, for people.
    pub fn pending(&self) -> &[String] {
        &self.0.pending
    }
}
