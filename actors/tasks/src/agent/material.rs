//! The content of a result: outputs, sections and notes.

use std::collections::HashSet;

use serde_json::Value;

use super::agents::Agent;
use super::free::{self, Begun};
use super::history::{Past, Ran};
use super::plan;
use super::reference::Head;
use super::steer::{Note, Steered};
use crate::task::View;

/// An engine's output under its name in the result.
#[derive(Debug)]
pub(super) struct Use<'a> {
    pub(super) name: String,
    pub(super) ran: Ran<'a>,
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
    pub(super) fn gather(agent: &'a Agent, view: &'a View, past: &[Past<'a>], steered: &Steered) -> Self {
        let mut material = if free::begun(agent, past) == Some(Begun::Freely) {
            Self { notes: steered.notes.clone(), ..Self::of_calls(agent, past) }
        } else {
            Self { notes: steered.notes.clone(), ..Self::of_plan(agent, view, past, steered) }
        };
        material.inherit(agent, past);
        for Use { name, ran } in &material.uses {
            let said = ran.warnings.iter().map(|warning| format!("{} ({name}): {warning}", ran.label()));
            material.warnings.extend(said);
            if let Some(error) = ran.error {
                material.warnings.push(format!("{} ({name}) failed: {error}", ran.label()));
            }
        }
        material
    }

    fn empty() -> Self {
        Self { uses: Vec::new(), parts: Vec::new(), skipped: Vec::new(), notes: Vec::new(), warnings: Vec::new() }
    }

    fn of_plan(agent: &'a Agent, view: &'a View, past: &[Past<'a>], steered: &Steered) -> Self {
        let walked = plan::walk(agent, view, past, steered);
        let scope = walked.scope(view, steered);
        let mut material = Self::empty();
        for section in &agent.writeup {
            let source = match &section.from.head {
                Head::Step { name, .. } => {
                    let step = walked.outputs.iter().find(|(step, _)| step.name == *name);
                    let Some((_, ran)) = step else { continue };
                    ran.label()
                }
                Head::Param(_) => "params".to_owned(),
                Head::Task | Head::Now => "the task".to_owned(),
            };
            material.parts.push(Part { title: section.title.clone(), source, value: section.from.value(&scope) });
        }
        let skipped = walked.skipped.iter().map(|step| match &step.when {
            Some(when) => format!("{} (q{} {}): {when} is empty", step.name, step.engine.number, step.engine.id),
            None => step.name.clone(),
        });
        material.skipped = skipped.collect();
        drop(scope);
        material.uses = walked.outputs.into_iter().map(|(step, ran)| Use { name: step.name.clone(), ran }).collect();
        material
    }

    fn of_calls(agent: &'a Agent, past: &[Past<'a>]) -> Self {
        let mut material = Self::empty();
        for past in past {
            if let Past::Ran(ran) = past
                && ran.agent == agent.id
            {
                material.add(agent, ran);
            }
        }
        material
    }

    fn add(&mut self, agent: &Agent, ran: &Ran<'a>) {
        if ran.error.is_none() {
            let title = agent.engine(ran.engine).map_or(ran.engine, |engine| engine.name);
            self.parts.push(Part { title: title.to_owned(), source: ran.label(), value: ran.output.clone() });
        }
        self.uses.push(Use { name: ran.name.to_owned(), ran: ran.clone() });
    }

    /// Adds the outputs of previous agents under unused names.
    fn inherit(&mut self, agent: &Agent, past: &[Past<'a>]) {
        for past in past {
            let Past::Ran(ran) = past else { continue };
            let known = self.uses.iter().any(|used| std::ptr::eq(used.ran.output, ran.output));
            if ran.agent == agent.id || known {
                continue;
            }
            let taken: HashSet<&str> = self.uses.iter().map(|used| used.name.as_str()).collect();
            let name =
                if taken.contains(ran.name) { format!("{}/{}", ran.agent, ran.name) } else { ran.name.to_owned() };
            if ran.error.is_none() {
                let title = format!("{} (by {})", ran.engine, ran.agent);
                self.parts.push(Part { title, source: ran.label(), value: ran.output.clone() });
            }
            self.uses.push(Use { name, ran: ran.clone() });
        }
    }

    /// Returns the distinct labels of the engines, in the order of their first use.
    pub(super) fn engines(&self) -> Vec<String> {
        let mut labels: Vec<String> = Vec::new();
        for label in self.uses.iter().map(|used| used.ran.label()) {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels
    }
}
