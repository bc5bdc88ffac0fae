//! Source code and what surrounds it (q187 to q202).

mod changelog_build;
mod dependency_graph;
mod licence_detect;
mod openapi_diff;
mod patch_analyse;
mod sbom_build;
mod sql_analyse;
mod stacktrace_analyse;
mod test_report;
mod version_resolve;
mod xml;

use crate::Engine;

/// The engines of this family, by number.
pub static ENGINES: &[&Engine] = &[
    &stacktrace_analyse::ENGINE,
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
