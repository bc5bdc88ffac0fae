//! Indexes with a store, under faults and kills.

mod checkpoints;
mod faults;
mod forgetting;
mod properties;
mod rebuilds;
mod searches;
pub(crate) mod site;
