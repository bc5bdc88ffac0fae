//! Engines of the family platform. Platform operations: q57 to q62.

#![warn(missing_docs)]

muster_engine::family!("platform";);
