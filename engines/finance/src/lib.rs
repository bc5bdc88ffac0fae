//! Engines of the family finance. Finance & cost: q122 to q130.

#![warn(missing_docs)]

muster_engine::family!("finance";);
