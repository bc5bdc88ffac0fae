//! Engines of the family stats. Statistics & time series: q83 to q104.

#![warn(missing_docs)]

muster_engine::family!("stats";);
