//! Defensive checks (q141, q150, q151).

mod sentinel_misconfig;
mod sentinel_secrets;
mod sentinel_supply_chain;
mod verdict;

use crate::Engine;

/// The engines of this family, by number.
pub static ENGINES: &[&Engine] =
    &[&sentinel_secrets::ENGINE, &sentinel_supply_chain::ENGINE, &sentinel_misconfig::ENGINE];
