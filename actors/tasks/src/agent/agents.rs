//! The catalogue of agents, checked.

use std::collections::HashMap;
use std::sync::Arc;

use muster_engines::Engine;
use serde_json::Value;

use super::binding::Binding;
use super::catalogue::{self, Mistakes};
use super::parameter::{self, Parameter};
use super::reference::Reference;

/// A persona with a toolbox and a plan.
#[derive(Debug)]
pub struct Agent {
    pub id: String,
    pub name: String,
    /// The id of its category.
    pub category: String,
    pub summary: String,
    pub capabilities: Vec<String>,
    pub parameters: Vec<Parameter>,
    /// What a model may call.
    pub toolbox: Vec<&'static Engine>,
    pub system_prompt: String,
    /// What is done, in order, where no model plans.
    pub plan: Vec<PlanStep>,
    pub writeup: Vec<Section>,
}

/// One engine's call of a plan.
#[derive(Debug)]
pub struct PlanStep {
    /// By which later steps and the write-up refer to it.
    pub name: String,
    pub engine: &'static Engine,
    /// Its inputs by name.
    pub bind: Vec<(String, Binding)>,
    /// The step is left out where this is null or empty.
    pub when: Option<Reference>,
}

/// One section of a result.
#[derive(Debug)]
pub struct Section {
    pub title: String,
    pub from: Reference,
}

/// What agents are sorted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Category {
    pub id: String,
    pub name: String,
}

impl Agent {
    /// JSON Schema of its params.
    pub fn params_schema(&self) -> Value {
        parameter::schema(&self.parameters)
    }

    /// An engine of its toolbox.
    pub(super) fn tool(&self, id: &str) -> Option<&'static Engine> {
        self.toolbox.iter().copied().find(|engine| engine.id == id)
    }

    /// Every engine that it may call, its plan's included.
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

/// Every agent of this server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Agents(Arc<Inner>);

impl Agents {
    /// The agents that are built in, over the engines of this build ([`muster_engines::all`]). Those whose plan needs an
    /// engine that was left out of the build are left out, and [`Self::warnings`] names them.
    ///
    /// # Errors
    /// Everything that is wrong with the catalogue: the server must not start.
    pub fn built_in(engines: &[&'static Engine]) -> Result<Self, Mistakes> {
        Self::parse(include_str!("catalogue.toml"), engines)
    }

    /// The agents that are built in, and behind them those of the operator's own files, which are written as the catalogue
    /// is.
    ///
    /// # Errors
    /// As [`Self::built_in`].
    pub fn with_own(own: &[String], engines: &[&'static Engine]) -> Result<Self, Mistakes> {
        let built_in = include_str!("catalogue.toml");
        let text = own.iter().fold(built_in.to_owned(), |text, file| text + "\n" + file);
        Self::parse(&text, engines)
    }

    /// Reads and checks a catalogue.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str, engines: &[&'static Engine]) -> Result<Self, Mistakes> {
        let catalogue::Read { categories, agents, warnings } = catalogue::read(text, engines)?;
        for warning in &warnings {
            tracing::warn!(warning, "agents are not all there");
        }
        let agents: Vec<_> = agents.into_iter().map(Arc::new).collect();
        let by_id = agents.iter().enumerate().map(|(at, agent)| (agent.id.clone(), at)).collect();
        Ok(Self(Arc::new(Inner { categories, agents, by_id, warnings })))
    }

    /// In the catalogue's order.
    pub fn list(&self) -> &[Arc<Agent>] {
        &self.0.agents
    }

    pub fn get(&self, id: &str) -> Option<&Arc<Agent>> {
        self.0.agents.get(*self.0.by_id.get(id)?)
    }

    pub fn by_category<'a>(&'a self, category: &'a str) -> impl Iterator<Item = &'a Arc<Agent>> {
        self.0.agents.iter().filter(move |agent| agent.category == category)
    }

    /// All of them, those without an agent included.
    pub fn categories(&self) -> &[Category] {
        &self.0.categories
    }

    /// What this build's agents lack, for people.
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }
}
