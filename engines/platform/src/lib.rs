//! Engines of the family platform. Platform operations: q57 to q62.

#![warn(missing_docs)]

mod agent_monitor;
mod availability_model;
mod cron_schedule;
mod log_patterns;
mod policy_evaluate;
mod slo_burn;

muster_engine::family!(
    "platform";
    57 cron_schedule,
    58 log_patterns,
    59 slo_burn,
    60 availability_model,
    61 policy_evaluate,
    62 agent_monitor,
);
