//! The content of a result: outputs, sections and notes.

use std::collections::HashSet;

use serde_json::Value;

use super::agents::Agent;
use super::free::{self, PlanningMode};
use super::history::{EngineStep, HistoryStep};
use super::plan;
use super::reference::Head;
use super::steer::{Note, SteeredParams};
use crate::task::TaskView;

/// An engine's output under its name in the result.
#[derive(Debug)]
pub(super) struct Use<'a> {
    pub(super) name: String,
    pub(super) engine_step: EngineStep<'a>,
}

/// A section.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) title: String,
    /// Origin of its value, such as `q187 repo-tree`.
    pub(super) source: String,
    pub(super) value: Value,
}

#[derive(Debug)]
pub(super) struct Material<'a> {
    pub(super) uses: Vec<Use<'a>>,
    pub(super) parts: Vec<Part>,
    /// Skipped steps of the plan, with the reason.
    pub(super) skipped: Vec<String>,
    pub(super) notes: Vec<Note>,
    pub(super) warnings: Vec<String>,
}

impl<'a> Material<'a> {
    pub(super) fn gather(
        agent: &'a Agent,
        view: &'a TaskView,
        past: &[HistoryStep<'a>],
        steered: &SteeredParams,
    ) -> Self {
        let mut material = if free::planning_mode(agent, past) == Some(PlanningMode::ByModel) {
            Self { notes: steered.notes.clone(), ..Self::of_calls(agent, past) }
        } else {
            Self { notes: steered.notes.clone(), ..Self::of_plan(agent, view, past, steered) }
        };
        material.inherit(agent, past);
        for Use { name, engine_step } in &material.uses {
            let warnings =
                engine_step.warnings.iter().map(|warning| format!("{} ({name}): {warning}", engine_step.label()));
            material.warnings.extend(warnings);
            if let Some(error) = engine_step.error {
                material.warnings.push(format!("{} ({name}) failed: {error}", engine_step.label()));
            }
        }
        material
    }

    fn empty() -> Self {
        Self { uses: Vec::new(), parts: Vec::new(), skipped: Vec::new(), notes: Vec::new(), warnings: Vec::new() }
    }

    fn of_plan(agent: &'a Agent, view: &'a TaskView, past: &[HistoryStep<'a>], steered: &SteeredParams) -> Self {
        let progress = plan::progress(agent, view, past, steered);
        let scope = progress.scope(view, steered);
        let mut material = Self::empty();
        for section in &agent.writeup {
            let source = match &section.from.head {
                Head::Step { name, .. } => {
                    let step = progress.outputs.iter().find(|(step, _)| step.name == *name);
                    let Some((_, engine_step)) = step else { continue };
                    engine_step.label()
                }
                Head::Param(_) => "params".to_owned(),
                Head::Task | Head::Now => "the task".to_owned(),
            };
            material.parts.push(Part { title: section.title.clone(), source, value: section.from.value(&scope) });
        }
        let skipped = progress.skipped.iter().map(|step| match &step.when {
            Some(when) => format!("{} (q{} {}): {when} is empty", step.name, step.engine.number, step.engine.id),
            None => step.name.clone(),
        });
        material.skipped = skipped.collect();
        drop(scope);
        material.uses = progress
            .outputs
            .into_iter()
            .map(|(step, engine_step)| Use { name: step.name.clone(), engine_step })
            .collect();
        material
    }

    fn of_calls(agent: &'a Agent, past: &[HistoryStep<'a>]) -> Self {
        let mut material = Self::empty();
        for past in past {
            if let HistoryStep::Engine(engine_step) = past
                && engine_step.agent == agent.id
            {
                material.add(agent, engine_step);
            }
        }
        material
    }

    fn add(&mut self, agent: &Agent, engine_step: &EngineStep<'a>) {
        if engine_step.error.is_none() {
            let title = agent.engine(engine_step.engine).map_or(engine_step.engine, |engine| engine.name);
            self.parts.push(Part {
                title: title.to_owned(),
                source: engine_step.label(),
                value: engine_step.output.clone(),
            });
        }
        self.uses.push(Use { name: engine_step.name.to_owned(), engine_step: engine_step.clone() });
    }

    /// Adds the outputs of previous agents under unused names.
    fn inherit(&mut self, agent: &Agent, past: &[HistoryStep<'a>]) {
        for past in past {
            let HistoryStep::Engine(engine_step) = past else { continue };
            let known = self.uses.iter().any(|used| std::ptr::eq(used.engine_step.output, engine_step.output));
            if engine_step.agent == agent.id || known {
                continue;
            }
            let taken: HashSet<&str> = self.uses.iter().map(|used| used.name.as_str()).collect();
            let name = if taken.contains(engine_step.name) {
                format!("{}/{}", engine_step.agent, engine_step.name)
            } else {
                engine_step.name.to_owned()
            };
            if engine_step.error.is_none() {
                let title = format!("{} (by {})", engine_step.engine, engine_step.agent);
                self.parts.push(Part { title, source: engine_step.label(), value: engine_step.output.clone() });
            }
            self.uses.push(Use { name, engine_step: engine_step.clone() });
        }
    }

    /// Returns the distinct labels of the engines, in the order of their first use.
    pub(super) fn engines(&self) -> Vec<String> {
        let mut labels: Vec<String> = Vec::new();
        for label in self.uses.iter().map(|used| used.engine_step.label()) {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels
    }
}
