//! Engines of the family crypto. Cryptography & encoding: q203 to q213.

#![warn(missing_docs)]

muster_engine::family!("crypto";);
