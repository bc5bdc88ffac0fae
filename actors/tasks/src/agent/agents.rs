//! The validated catalogue of agents.

use std::collections::HashMap;
use std::sync::Arc;

use muster_engines::Engine;
use serde_json::Value;

use super::binding::Binding;
use super::catalogue::{self, Mistakes};
use super::parameter::{self, Parameter};
use super::reference::Reference;

/// An agent: a persona with a toolbox and a plan.
#[derive(Debug)]
pub struct Agent {
    pub id: String,
    pub name: String,
    /// Identifier of its category.
    pub category: String,
    pub summary: String,
    pub capabilities: Vec<String>,
    pub parameters: Vec<Parameter>,
    /// Engines that a model may call.
    pub toolbox: Vec<&'static Engine>,
    pub system_prompt: String,
    /// Steps in order, used if no model plans.
    pub plan: Vec<PlanStep>,
    pub writeup: Vec<Section>,
}

/// A step of a plan: a call of an engine.
#[derive(Debug)]
pub struct PlanStep {
    /// Name by which later steps and the write-up refer to it.
    pub name: String,
    pub engine: &'static Engine,
    /// Inputs by name.
    pub bind: Vec<(String, Binding)>,
    /// The step is skipped if this is null or empty.
    pub when: Option<Reference>,
}

/// A section of a result.
#[derive(Debug)]
pub struct Section {
    pub title: String,
    pub from: Reference,
}

/// A category of agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Category {
    pub id: String,
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

#[derive(Debug)]
struct Inner {
    categories: Vec<Category>,
    agents: Vec<Arc<Agent>>,
    by_id: HashMap<String, usize>,
    warnings: Vec<String>,
}

/// All agents of the server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Agents(Arc<Inner>);

impl Agents {
    /// Loads the built-in agents for the engines of this build ([`muster_engines::all`]). Agents whose plan needs an
    /// engine that is not in the build are omitted, and listed in [`Self::warnings`].
    ///
    /// # Errors
    ///
    /// Returns all mistakes in the catalogue: the server must not start.
    pub fn built_in(engines: &[&'static Engine]) -> Result<Self, Mistakes> {
        Self::parse(include_str!("catalogue.toml"), engines)
    }

    /// Loads the built-in agents and those of the operator's files, which have the catalogue's format.
    ///
    /// # Errors
    ///
    /// As for [`Self::built_in`].
    pub fn with_own(own: &[String], engines: &[&'static Engine]) -> Result<Self, Mistakes> {
        let built_in = include_str!("catalogue.toml");
        let text = own.iter().fold(built_in.to_owned(), |text, file| text + "\n" + file);
        Self::parse(&text, engines)
    }

    /// Parses and validates a catalogue.
    ///
    /// # Errors
    ///
    /// Returns all mistakes in it.
    pub fn parse(text: &str, engines: &[&'static Engine]) -> Result<Self, Mistakes> {
        let catalogue::Read { categories, agents, warnings } = catalogue::read(text, engines)?;
        for warning in &warnings {
            tracing::warn!(warning, "agents are not all there");
        }
        let agents: Vec<_> = agents.into_iter().map(Arc::new).collect();
        let by_id = agents.iter().enumerate().map(|(at, agent)| (agent.id.clone(), at)).collect();
        Ok(Self(Arc::new(Inner { categories, agents, by_id, warnings })))
    }

    /// Returns the agents in the catalogue's order.
    pub fn list(&self) -> &[Arc<Agent>] {
        &self.0.agents
    }

    pub fn get(&self, id: &str) -> Option<&Arc<Agent>> {
        self.0.agents.get(*self.0.by_id.get(id)?)
    }

    pub fn by_category<'a>(&'a self, category: &'a str) -> impl Iterator<Item = &'a Arc<Agent>> {
        self.0.agents.iter().filter(move |agent| agent.category == category)
    }

    /// Returns all categories, including empty ones.
    pub fn categories(&self) -> &[Category] {
        &self.0.categories
    }

    /// Returns messages about what is missing in this build, for people.
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }
}
