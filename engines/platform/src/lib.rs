//! Engines of the family platform. Platform operations: q57 to q62.

#![warn(missing_docs)]

mod log_patterns;
mod slo_burn;

muster_engine::family!(
    "platform";
    58 log_patterns,
    59 slo_burn,
);
