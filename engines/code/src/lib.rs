//! Engines of the family code. Code analysis & software engineering: q187 to q202.

#![warn(missing_docs)]

mod changelog_build;
mod code_clones;
mod code_complexity;
mod code_outline;
mod code_search;
mod dependency_graph;
mod language;
mod licence_detect;
mod openapi_diff;
mod patch_analyse;
mod repo_tree;
mod sbom_build;
mod sql_analyse;
mod stacktrace_analyse;
mod structural_search;
mod syntax;
mod test_report;
mod version_resolve;
mod workspace;
mod xml;

muster_engine::family!(
    "code";
    187 repo_tree,
    188 code_search,
    189 code_outline,
    190 code_complexity,
    191 stacktrace_analyse,
    192 structural_search,
    193 code_clones,
    194 dependency_graph,
    195 sbom_build,
    196 licence_detect,
    197 version_resolve,
    198 patch_analyse,
    199 changelog_build,
    200 openapi_diff,
    201 sql_analyse,
    202 test_report,
);
