//! Reference vectors of the registered engines.

pub use muster_engine::vector::Vector;

use crate::{Engine, registry};

/// Returns the engine's vector.
pub fn of(engine: &Engine) -> Option<&'static Vector> {
    registry::families().find(|family| family.has(engine.number))?.vector(engine)
}
