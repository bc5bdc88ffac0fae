//! Documents (q245).

#[cfg(feature = "docs")]
mod document_render;

use crate::Engine;

/// The engines of this family, by number.
pub static ENGINES: &[&Engine] = &[
    #[cfg(feature = "docs")]
    &document_render::ENGINE,
];
