//! Agents: personas with a toolbox of engines and a plan, as data, and how their tasks are worked on.
//!
//! [`Agents`] is the catalogue, checked when it is read. [`AgentWork`] does their tasks: with a model that can call
//! tools it plans freely within the toolbox, without one it walks the plan; either way the write-up names the engine
//! behind each figure, and a model's prose stands only where the engines' outputs bear it out (`ground/`). All that is
//! decided is decided from the finished steps alone, so that a task goes on wherever it was left.

mod agents;
mod binding;
mod catalogue;
mod check;
mod failure;
mod fill;
mod free;
mod ground;
mod history;
mod material;
mod models;
mod parameter;
mod plan;
mod prompt;
mod reference;
mod render;
mod rows;
mod speech;
mod steer;
#[cfg(test)]
mod tests;
mod work;
mod writeup;

pub use agents::{Agent, Agents, Category, PlanStep, Section};
pub use binding::Binding;
pub use catalogue::Mistakes;
pub use models::{ChainModels, Models, NoModels, Settle, Speech};
pub use parameter::{Given, Parameter};
pub use reference::{Head, Hop, Reference};
pub use work::{AgentOptions, AgentWork};
