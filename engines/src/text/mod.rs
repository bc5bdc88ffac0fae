//! Words and templates (q171, q185).

use crate::Engine;

/// The engines of this family, by number.
pub static ENGINES: &[&Engine] = &[];
