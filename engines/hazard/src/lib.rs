//! Engines of the family hazard. Weather & hazard: q21 to q46.

#![warn(missing_docs)]

muster_engine::family!("hazard";);
