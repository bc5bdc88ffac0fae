//! Engines of the family text. Text & language: q167 to q186.

#![warn(missing_docs)]

muster_engine::family!("text";);
