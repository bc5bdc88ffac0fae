//! Documents (q245).

use crate::Engine;

/// The engines of this family, by number.
pub static ENGINES: &[&Engine] = &[];
