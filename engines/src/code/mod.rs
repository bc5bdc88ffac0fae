//! Source code and what surrounds it (q187 to q202).

mod code_clones;
#[cfg(feature = "ast")]
mod code_complexity;
#[cfg(feature = "ast")]
mod code_outline;
#[cfg(feature = "repository")]
mod code_search;
#[cfg(feature = "repository")]
mod repo_tree;
#[cfg(feature = "ast")]
mod structural_search;
#[cfg(feature = "ast")]
mod syntax;

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
];
