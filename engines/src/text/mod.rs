//! Words and templates and languages (q167, q171, q185).

mod language_detect;
mod string_similarity;
mod template_render;

use crate::Engine;

/// The engines of this family, by number.
pub static ENGINES: &[&Engine] = &[&language_detect::ENGINE, &string_similarity::ENGINE, &template_render::ENGINE];
