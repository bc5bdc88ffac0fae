//! Source code and what surrounds it (q187 to q202).

mod changelog_build;
mod code_clones;
#[cfg(feature = "ast")]
mod code_complexity;
#[cfg(feature = "ast")]
mod code_outline;
#[cfg(feature = "repository")]
mod code_search;
mod dependency_graph;
#[cfg(feature = "ast")]
mod language;
mod licence_detect;
mod openapi_diff;
mod patch_analyse;
#[cfg(feature = "repository")]
mod repo_tree;
mod sbom_build;
mod sql_analyse;
mod stacktrace_analyse;
#[cfg(feature = "ast")]
mod structural_search;
#[cfg(feature = "ast")]
mod syntax;
mod test_report;
mod version_resolve;
mod xml;

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
    &stacktrace_analyse::ENGINE,
    #[cfg(feature = "ast")]
    &structural_search::ENGINE,
    &code_clones::ENGINE,
    &dependency_graph::ENGINE,
    &sbom_build::ENGINE,
    &licence_detect::ENGINE,
    &version_resolve::ENGINE,
    &patch_analyse::ENGINE,
    &changelog_build::ENGINE,
    &openapi_diff::ENGINE,
    &sql_analyse::ENGINE,
    &test_report::ENGINE,
];
