//! Translation (q165).

mod translate;

use crate::Engine;

/// The engines of this family, by number.
pub static ENGINES: &[&Engine] = &[&translate::ENGINE];
