//! Engines of the family network. Networks & graph: q47 to q56.

#![warn(missing_docs)]

muster_engine::family!("network";);
