//! Defensive checks (q141, q150, q151).

use crate::Engine;

/// The engines of this family, by number.
pub static ENGINES: &[&Engine] = &[];
