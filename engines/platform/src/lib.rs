//! Engines of the family platform. Platform operations: q57 to q62.

#![warn(missing_docs)]

mod availability_model;
mod cron_schedule;

muster_engine::family!("platform";
    57 cron_schedule,
    60 availability_model,
);
