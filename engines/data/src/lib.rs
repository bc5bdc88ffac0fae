//! Engines of the family data. Data wrangling: q105 to q121.

#![warn(missing_docs)]

muster_engine::family!("data";);
