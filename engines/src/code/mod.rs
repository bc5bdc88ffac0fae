//! Source code and what surrounds it (q187 to q202).

mod changelog_build;
mod code_clones;
#[cfg(feature = "ast")]
mod code_complexity;
#[cfg(feature = "ast")]
mod code_outline;
#[cfg(feature = "repository")]
mod code_search;
mod patch_analyse;
#[cfg(feature = "repository")]
mod repo_tree;
#[cfg(feature = "ast")]
mod structural_search;
#[cfg(feature = "ast")]
mod syntax;
mod version_resolve;

use crate::Engine;

/// The engines of this family, by number.
pub static ENGINES: &[&Engine] = &[
    #[cfg(feature = "repository")]
    &repo_tree::ENGINE,
    #[cfg(feature = "repository")]
    &code_search::ENGINE,
    #[cfg(feature = "ast")]
    &code_outline::ENGINE,
    #[cfg(feature = "ast")]
    &code_complexity::ENGINE,
    #[cfg(feature = "ast")]
    &structural_search::ENGINE,
    &code_clones::ENGINE,
    &version_resolve::ENGINE,
    &patch_analyse::ENGINE,
    &changelog_build::ENGINE,
];
