//! Agents: personas with a toolbox of engines and a plan, defined as data, and the execution of their tasks.
//!
//! [`Agents`] is the catalogue, which is validated when it is loaded. [`AgentWork`] executes tasks: with a model that
//! supports tool calls it plans freely within the toolbox, without one it follows the plan. In both cases the write-up
//! names the engine behind each figure, and a model's prose is only used if the engines' outputs support it
//! (`ground/`). All decisions are based on the finished steps alone, so that a task can continue from wherever it was
//! interrupted.

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
