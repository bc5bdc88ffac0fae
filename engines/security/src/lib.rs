//! Engines of the family security. Security & sentinels: q131 to q155.

#![warn(missing_docs)]

muster_engine::family!("security";);
