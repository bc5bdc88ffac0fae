//! Engines of the family medical. Medical scores & public health: q214 to q236.

#![warn(missing_docs)]

muster_engine::family!("medical";);
