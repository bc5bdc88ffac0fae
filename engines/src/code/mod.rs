//! Source code and what surrounds it (q187 to q202).

mod changelog_build;
mod patch_analyse;
mod version_resolve;

use crate::Engine;

/// The engines of this family, by number.
pub static ENGINES: &[&Engine] = &[&version_resolve::ENGINE, &patch_analyse::ENGINE, &changelog_build::ENGINE];
