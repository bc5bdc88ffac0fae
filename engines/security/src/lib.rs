//! Engines of the family security. Security & sentinels: q131 to q155.
//!
//! [`orchestrate`] has the plan and the fusion of the sentinels, for callers that run them in processes of their own.

#![warn(missing_docs)]

mod address;
mod binary_inspect;
mod certificate_inspect;
mod cvss_score;
mod decode;
mod firewall_analyse;
mod gapped;
mod http_header_audit;
mod indicator_extract;
mod jwt_inspect;
#[cfg(test)]
mod labelled;
mod mask;
mod password_strength;
mod sentinel_agent_runaway;
mod sentinel_auth_abuse;
mod sentinel_content_safety;
mod sentinel_exfiltration;
mod sentinel_flood;
mod sentinel_integrity;
mod sentinel_misconfig;
mod sentinel_orchestrator;
mod sentinel_phishing;
mod sentinel_pii;
mod sentinel_prompt_injection;
mod sentinel_secrets;
mod sentinel_sensor_fault;
mod sentinel_supply_chain;
mod sentinel_web_attack;
mod sigma_match;
mod subnet_plan;
mod verdict;

pub use verdict::Verdict;

/// Plan and fusion of q155.
pub mod orchestrate {
    pub use muster_engine::wire::{ToValue, Words};

    pub use crate::sentinel_orchestrator::MAX_LISTED;
    pub use crate::sentinel_orchestrator::fuse::{Fused, Run, Status, check_weights, fuse};
    pub use crate::sentinel_orchestrator::plan::{Mode, Planned, SENTINELS, Sentinel, WAVES, plan};
    pub use crate::verdict::truncate;
}

muster_engine::family!(
    "security";
    131 cvss_score,
    132 password_strength,
    133 jwt_inspect,
    134 certificate_inspect,
    135 http_header_audit,
    136 subnet_plan,
    137 firewall_analyse,
    138 indicator_extract,
    139 sigma_match,
    140 binary_inspect,
    141 sentinel_secrets,
    142 sentinel_pii,
    143 sentinel_prompt_injection,
    144 sentinel_content_safety,
    145 sentinel_phishing,
    146 sentinel_web_attack,
    147 sentinel_auth_abuse,
    148 sentinel_flood,
    149 sentinel_exfiltration,
    150 sentinel_supply_chain,
    151 sentinel_misconfig,
    152 sentinel_integrity,
    153 sentinel_agent_runaway,
    154 sentinel_sensor_fault,
    155 sentinel_orchestrator,
);
