//! Engines of the family code. Code analysis & software engineering: q187 to q202.

#![warn(missing_docs)]

muster_engine::family!("code";);
