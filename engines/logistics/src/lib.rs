//! Engines of the family logistics. Emergency logistics & operations research: q63 to q82.

#![warn(missing_docs)]

muster_engine::family!("logistics";);
