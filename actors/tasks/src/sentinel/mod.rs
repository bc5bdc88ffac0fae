//! Sentinels on one subject: up to fourteen calls of engines, in waves, and one verdict.
//!
//! Which sentinels apply, what each is given, and how their answers become one is decided by functions of the family
//! security (`orchestrate`), which the engine q155 uses too. Here the sentinels run in processes of the pool (`swarm`), in a
//! share of it that is fair between callers (`turns`).

mod swarm;
#[cfg(test)]
mod tests;
mod turns;

pub use muster_engines_security::orchestrate::SENTINELS;
pub use swarm::{Orchestrated, Orchestration, RunReport, Sentinels, SwarmEvent};
