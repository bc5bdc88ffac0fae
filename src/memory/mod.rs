//! Semantic memory's parts, started together.

use std::sync::Arc;

use actix_rt::ArbiterHandle;
use muster_actors::Clock;
use muster_actors::memory::{IndexHealth, Memory, MemoryOptions, MemorySettings};
use muster_actors::supervise::Tree;
use muster_actors::upkeep::Job;
use muster_store::StoreHandle;

use crate::config::Config;

mod none;

/// What handlers ask.
#[derive(Debug)]
pub struct MemoryParts {
    pub entries: Memory,
    /// Most entries of one owner.
    pub max_entries: u64,
}

/// What they stand on.
pub(crate) struct Ground<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) arbiter: ArbiterHandle,
    pub(crate) store: &'a StoreHandle,
    pub(crate) clock: &'a Clock,
}

impl MemoryParts {
    pub(crate) fn start(config: &Config, ground: &Ground<'_>) -> Self {
        let max_entries = config.memory.max_entries_per_owner as u64;
        let options = MemoryOptions {
            store: Arc::clone(ground.store),
            clock: ground.clock.clone(),
            settings: MemorySettings { shared: config.memory.shared.clone(), max_entries },
            index: Arc::new(none::None),
        };
        Self { entries: Memory::start(&ground.tree.group("memory"), ground.arbiter.clone(), options), max_entries }
    }
}
