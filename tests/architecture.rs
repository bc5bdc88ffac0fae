//! The arrows that never exist, and the habits that a program can check (ARCHITECTURE.md says why).
//!
//! Two halves: this repository breaks no rule; and each rule reports a file that was made up to break it, and leaves its
//! innocent twin alone, so that a rule which has stopped looking is found out.

mod check;
mod house;
mod lexer;
mod manifest;
mod paths;
mod patterns;
mod rules;
mod samples;

use std::path::Path;

use check::check;
use house::{House, Kind};
use rules::RULES;
use samples::samples;

fn this_house() -> House {
    House::read(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn this_house_breaks_no_rule() {
    let breaches = check(&this_house());
    let told: Vec<String> = breaches
        .iter()
        .map(|breach| {
            let why = RULES.iter().find(|rule| rule.name == breach.rule).map_or("", |rule| rule.why);
            format!("{}:{}: {}: {}\n    {why}", breach.path, breach.line, breach.rule, breach.found)
        })
        .collect();
    assert!(told.is_empty(), "{} breaches\n{}", told.len(), told.join("\n"));
}

/// The test above says nothing if it reads nothing.
#[test]
fn every_member_of_the_workspace_is_read() {
    let house = this_house();
    let root = house.files.iter().find(|file| file.path == "Cargo.toml").unwrap();
    let Kind::Manifest(manifest) = &root.kind else { panic!("Cargo.toml is not read as a manifest") };
    assert!(manifest.members.contains(&"actors".to_owned()), "{:?}", manifest.members);
    for member in &manifest.members {
        let folder = if member == "." { String::new() } else { format!("{member}/") };
        let read = |file: &str| house.files.iter().any(|found| found.path == format!("{folder}{file}"));
        assert!(read("Cargo.toml"), "{member} has no manifest among what was read");
        assert!(read("src/lib.rs") || read("src/main.rs"), "{member} has no source among what was read");
    }
    let references = house.files.iter().filter_map(|file| match &file.kind {
        Kind::Rust(rust) => Some(rust.references.len()),
        _ => None,
    });
    assert!(references.sum::<usize>() > 500);
}

#[test]
fn every_rule_reports_what_breaks_it() {
    for sample in samples() {
        let breaches = check(&House::of(sample.offends.iter().map(|(path, text)| (*path, text.as_str()))));
        let reported = breaches.iter().any(|breach| breach.rule == sample.rule && breach.path == sample.offends[0].0);
        assert!(reported, "{} does not report {:?}; reported: {breaches:?}", sample.rule, sample.offends);
    }
}

#[test]
fn no_rule_reports_an_innocent_twin() {
    for sample in samples() {
        let breaches = check(&House::of(sample.innocent.iter().map(|(path, text)| (*path, text.as_str()))));
        let reported = breaches.iter().find(|breach| breach.rule == sample.rule);
        assert_eq!(reported, None, "{:?}", sample.innocent);
    }
}

#[test]
fn every_rule_has_a_sample() {
    let without: Vec<&str> = RULES
        .iter()
        .map(|rule| rule.name)
        .filter(|name| !samples().iter().any(|sample| sample.rule == *name))
        .collect();
    assert!(without.is_empty(), "{without:?}");
    let unknown = samples().into_iter().find(|sample| !RULES.iter().any(|rule| rule.name == sample.rule));
    assert!(unknown.is_none(), "{unknown:?}");
}

#[test]
fn the_line_of_a_breach_is_told() {
    let house =
        House::of([("src/ws/mod.rs", "//! Sockets.\n\nuse crate::error;\n\nfn f() {\n    crate::http::g();\n}\n")]);
    let breaches = check(&house);
    assert_eq!(breaches.len(), 1, "{breaches:?}");
    assert_eq!((breaches[0].line, breaches[0].found.as_str()), (6, "muster::http::g"));
}

#[test]
fn literals_and_comments_are_no_code() {
    for (text, code) in [
        ("a // b\nc", "a     \nc"),
        ("a /* b /* c */ d */ e", "a                   e"),
        (r#"f("x\"y", z)"#, "f(      , z)"),
        (r##"f(r#"x"y"#, z)"##, "f(        , z)"),
        ("f(br\"x\\\", z)", "f(      , z)"),
        ("f('\"', '\\'', 'é')", "f(   ,     ,     )"),
        ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
        ("let r#type = b\"x\";", "let r#type = b   ;"),
        ("\"open", "     "),
    ] {
        assert_eq!(lexer::strip(text).code, code, "{text}");
    }
}

#[test]
fn use_trees_are_written_out() {
    let text = "use a::{self, b::{c as d, *}, e}; pub(crate) use super::f; mod m { fn g() { self::h::<u8>::i(); } } use crate::k;";
    let found: Vec<String> = paths::references("actors/src/keys/actor.rs", &lexer::tokens(text))
        .iter()
        .map(|reference| reference.path.join("::"))
        .collect();
    let wanted = [
        "a",
        "a::b::c",
        "a::b::*",
        "a::e",
        "muster_identity::keys::f",
        "muster_identity::keys::actor::m::h",
        "muster_actors::k",
    ];
    assert_eq!(found, wanted);
}
