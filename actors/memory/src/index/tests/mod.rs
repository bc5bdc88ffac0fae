//! Indexes with a store, under faults and kills.

mod checkpoints;
mod faults;
pub(crate) mod fixture;
mod forgetting;
mod properties;
mod rebuilds;
mod searches;
