//! Dependencies that must not exist, and conventions that a program can check (ARCHITECTURE.md has the reasons).
//!
//! `edges.rs` checks the dependencies between crates from `cargo metadata`; `rules.rs` checks with `syn` what Cargo
//! cannot. The repository violates no rule; each rule reports a sample made to violate it and accepts a similar,
//! allowed sample, so that a rule that has stopped working is noticed.

mod edges;
mod rules;
mod samples;
mod scan;
mod source;

use std::path::Path;

use rules::{LOCKS, RULES, violations};
use samples::samples;
use source::Sources;

#[test]
fn the_workspace_violates_no_rule() {
    let sources = Sources::read(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    assert_all_is_read(&sources);
    assert_exceptions_are_needed(&sources);
    let messages: Vec<String> = violations(&sources)
        .iter()
        .map(|violation| {
            let reason = RULES.iter().find(|rule| rule.name == violation.rule).map_or("", |rule| rule.reason);
            format!("{}:{}: {}: {}\n    {reason}", violation.path, violation.line, violation.rule, violation.found)
        })
        .collect();
    assert!(messages.is_empty(), "{} violations\n{}", messages.len(), messages.join("\n"));
}

/// No violation among the files proves nothing where a package is not among them.
fn assert_all_is_read(sources: &Sources) {
    let packages = edges::Workspace::load().packages;
    assert!(packages.len() > 10, "{packages:?}");
    for package in packages {
        let folder = package.manifest_path.strip_suffix("Cargo.toml").unwrap();
        let inside = folder.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().trim_start_matches('/');
        let read = |file: &str| sources.files.iter().any(|found| found.path == format!("{inside}{file}"));
        assert!(read("Cargo.toml"), "{} has no manifest among the files read", package.name);
        assert!(read("src/lib.rs") || read("src/main.rs"), "{} has no source among the files read", package.name);
    }
    assert!(sources.files.iter().map(|file| file.scan.paths.len()).sum::<usize>() > 50_000);
}

fn assert_exceptions_are_needed(sources: &Sources) {
    for exception in LOCKS {
        assert!(!exception.reason.is_empty());
        let file = sources.files.iter().find(|file| file.path == exception.path);
        let file = file.unwrap_or_else(|| panic!("{} does not exist any more", exception.path));
        let locks = |path: &[String]| path.iter().any(|segment| segment == "Mutex" || segment == "RwLock");
        assert!(file.scan.product_paths().any(|(_, path)| locks(path)), "{} has no lock any more", exception.path);
    }
}

#[test]
fn every_rule_reports_a_violation() {
    for sample in samples() {
        let found = violations(&Sources::of(sample.violating.iter().map(|(path, text)| (*path, text.as_str()))));
        let expected =
            |violation: &rules::Violation| violation.rule == sample.rule && violation.path == sample.violating[0].0;
        assert!(found.iter().any(expected), "{} accepts {:?}; reported: {found:?}", sample.rule, sample.violating);
    }
}

#[test]
fn no_rule_reports_an_innocent_twin() {
    for sample in samples() {
        let found = violations(&Sources::of(sample.innocent.iter().map(|(path, text)| (*path, text.as_str()))));
        let reported = found.iter().find(|violation| violation.rule == sample.rule);
        assert_eq!(reported, None, "{:?}", sample.innocent);
    }
}

#[test]
fn every_rule_has_a_sample() {
    for rule in RULES {
        assert!(samples().iter().any(|sample| sample.rule == rule.name), "{} has no sample", rule.name);
    }
    for sample in samples() {
        assert!(RULES.iter().any(|rule| rule.name == sample.rule), "{} is no rule", sample.rule);
    }
}

#[test]
fn a_violation_has_its_line() {
    let text = "//! Sockets.\n\nuse crate::error;\n\nfn f() {\n    crate::http::g();\n}\n";
    let found = violations(&Sources::of([("src/ws/mod.rs", text)]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].line, found[0].found.as_str()), (6, "muster::http::g"));
}

#[test]
fn use_trees_are_expanded_and_relative_paths_resolved() {
    let text = "use a::{self, b::{c as d, *}, e}; pub(crate) use super::f; \
                mod m { fn g() { self::h::<u8>::i(); n!(super::o::p, \"q::r\") } } use crate::k;";
    let sources = Sources::of([("actors/identity/src/keys/actor.rs", text)]);
    let found: Vec<String> = sources.files[0].scan.product_paths().map(|(_, path)| path.join("::")).collect();
    for expected in [
        "a",
        "a::b::c",
        "a::b::*",
        "a::e",
        "muster_identity::keys::f",
        "muster_identity::keys::actor::m::h::i",
        "muster_identity::keys::actor::o::p",
        "muster_identity::k",
    ] {
        assert!(found.iter().any(|path| path == expected), "{expected} is not among {found:?}");
    }
    assert!(!found.iter().any(|path| path.starts_with('q')), "{found:?}");
}

/// Tests build the workspace, in which features of its crates are united: what `make run` builds has those of the root only.
#[test]
fn the_server_is_built_with_every_embedded_model() {
    let read = |path: &str| -> toml::Table {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        std::fs::read_to_string(path).unwrap().parse().unwrap()
    };
    let defaults = |manifest: &toml::Table| -> std::collections::BTreeSet<String> {
        let names = manifest["features"]["default"].as_array().unwrap();
        names.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let (models, server) = (read("crates/models/Cargo.toml"), read("Cargo.toml"));
    let missing: Vec<_> = defaults(&models).difference(&defaults(&server)).cloned().collect();
    assert!(missing.is_empty(), "default features of crates/models that the root's `default` lacks: {missing:?}");
}
