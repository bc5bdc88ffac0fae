//! Engines of the family security. Security & sentinels: q131 to q155.

#![warn(missing_docs)]

mod mask;
mod sentinel_misconfig;
mod sentinel_secrets;
mod sentinel_supply_chain;
mod verdict;

muster_engine::family!(
    "security";
    141 sentinel_secrets,
    150 sentinel_supply_chain,
    151 sentinel_misconfig,
);
