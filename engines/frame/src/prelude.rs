//! What the file of an engine uses.

pub use jiff::Timestamp;
pub use jiff::civil::Date;
pub use muster_engine_derive::{Input, Output, Words};
pub use serde_json::{Map, Value};

pub use crate::context::Context;
pub use crate::failure::{Failure, NoAnswer};
pub use crate::finding::{Finding, Severity};
pub use crate::need::{Answer, ChatMessage, MemoryRanking, Need};
pub use crate::wire::{Bbox, Bytes, LatLon, Words};
