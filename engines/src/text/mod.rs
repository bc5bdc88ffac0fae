//! Words and templates (q171, q185).

mod string_similarity;
mod template_render;

use crate::Engine;

/// The engines of this family, by number.
pub static ENGINES: &[&Engine] = &[&string_similarity::ENGINE, &template_render::ENGINE];
