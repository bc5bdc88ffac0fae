//! Agents: personas with a toolbox of engines and a plan, defined as data, and the execution of their tasks.
//!
//! [`Agents`] is the catalogue, which is validated when it is loaded. [`AgentExecutor`] executes tasks: with a model
//! that supports tool calls it plans freely within the toolbox, without one it follows the plan. In both cases the
//! write-up names the engine behind each figure, and a model's prose is only used if the engines' outputs support it
//! (`ground/`). All decisions are based on the finished steps alone, so that a task can continue from wherever it was
//! interrupted.

mod advice;
mod agents;
mod answer;
mod arrange;
mod binding;
mod bounds;
mod catalogue;
mod check;
mod commits;
mod executor;
mod failure;
mod file_table;
mod files;
mod fill;
mod filler;
mod free;
mod ground;
mod history;
mod instruction;
mod markdown;
mod material;
mod models;
mod needs;
mod parameter;
mod plan;
mod prompt;
mod reference;
mod render;
mod rows;
mod steer;
#[cfg(test)]
mod tests;
mod trace;
mod writeup;

pub use advice::Advice;
pub use agents::{Agent, Agents, Category, PlanStep, Section};
pub use arrange::Arrangement;
pub use binding::Binding;
pub use catalogue::{CatalogueErrors, CatalogueFile};
pub use executor::{AgentExecutor, AgentOptions};
pub use models::{ChainModels, ModelStream, Models, SettleCallback};
#[cfg(test)]
pub(crate) use parameter::ParameterDefault;
pub use reference::{Head, Hop, Reference};
pub use trace::call_trace;
