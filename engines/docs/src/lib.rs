//! Engines of the family docs. Documents & media: q237 to q247.

#![warn(missing_docs)]

muster_engine::family!("docs";);
