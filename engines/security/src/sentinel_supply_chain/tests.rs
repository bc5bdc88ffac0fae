use std::cmp::Ordering;

use serde_json::json;

use super::order::Ordered;
use super::*;

fn run(input: Value) -> Value {
    crate::FAMILY.run(150, input, &Context::default()).unwrap()
}

fn ascends(ecosystem: Ecosystem, texts: &[&str]) {
    for pair in texts.windows(2) {
        let version = |text| Ordered::parse(ecosystem, text).unwrap();
        assert_eq!(version(pair[0]).cmp(&version(pair[1])), Ordering::Less, "{pair:?}");
    }
}

/// Debian Policy 4.7, section 5.6.12: `~~`, `~~a`, `~`, the empty part, `a`.
#[test]
fn debian_version_order() {
    ascends(Ecosystem::Debian, &["1~~", "1~~a", "1~", "1", "1a"]);
    ascends(Ecosystem::Debian, &["1.9-1", "1.10-1", "1.10-2", "1:0.1-1"]);
}

/// Apache Maven, "POM Reference", Version Order Specification: its examples.
#[test]
fn maven_version_order() {
    ascends(Ecosystem::Maven, &["1-alpha", "1-beta", "1-milestone", "1-rc", "1-snapshot", "1", "1-sp"]);
    ascends(Ecosystem::Maven, &["1-foo2", "1-foo10"]);
    ascends(Ecosystem::Maven, &["1", "1.1"]);
    let same = |a, b| Ordered::parse(Ecosystem::Maven, a).unwrap().cmp(&Ordered::parse(Ecosystem::Maven, b).unwrap());
    for (a, b) in [("1", "1.0"), ("1.0", "1-ga"), ("1", "1.final"), ("1-a1", "1-alpha-1")] {
        assert_eq!(same(a, b), Ordering::Equal, "{a} {b}");
    }
}

/// FIRST, "CVSS v3.1 Examples": CVE-2013-1937 6.1, CVE-2013-0375 6.4, CVE-2014-0160 7.5, CVE-2014-6271 9.8.
#[test]
fn base_scores_of_the_examples_document() {
    for (vector, score) in [
        ("CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N", 6.1),
        ("CVSS:3.1/AV:N/AC:L/PR:L/UI:N/S:C/C:L/I:L/A:N", 6.4),
        ("CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N", 7.5),
        ("CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", 9.8),
    ] {
        assert_eq!(cvss::base_score(vector), Some(score), "{vector}");
    }
}

fn advisory(id: &str, ecosystem: &str, name: &str, events: &Value) -> Value {
    let ranges = json!([{ "type": "ECOSYSTEM", "events": events }]);
    json!({ "id": id, "affected": [{ "package": { "ecosystem": ecosystem, "name": name }, "ranges": ranges }] })
}

/// GHSA-462w-v97r-4m45 (jinja2, sandbox escape): PyPI, introduced 0, fixed 2.10.1, high.
/// RUSTSEC-2020-0071 (time, segfault): introduced 0.1.0, fixed 0.2.23.
#[test]
fn published_advisories() {
    let mut jinja =
        advisory("GHSA-462w-v97r-4m45", "PyPI", "jinja2", &json!([{ "introduced": "0" }, { "fixed": "2.10.1" }]));
    jinja["database_specific"] = json!({ "severity": "HIGH" });
    let time =
        advisory("RUSTSEC-2020-0071", "crates.io", "time", &json!([{ "introduced": "0.1.0" }, { "fixed": "0.2.23" }]));
    let dependency = |name: &str, version: &str, ecosystem: &str| json!({ "name": name, "version": version, "ecosystem": ecosystem });
    let output = run(json!({
        "dependencies": [
            dependency("Jinja2", "2.10", "PyPI"), dependency("jinja2", "2.10.1", "PyPI"),
            dependency("time", "0.1.45", "cargo"), dependency("time", "0.2.23", "cargo"),
        ],
        "advisories": [jinja, time],
    }));
    assert_eq!(
        output["vulnerable"],
        json!([
            { "name": "Jinja2", "version": "2.10", "advisory": "GHSA-462w-v97r-4m45", "fixed": "2.10.1", "severity": "high" },
            { "name": "time", "version": "0.1.45", "advisory": "RUSTSEC-2020-0071", "fixed": "0.2.23", "severity": "unknown" },
        ])
    );
}

#[test]
fn withdrawn_and_invalid_advisories_do_not_count() {
    let mut withdrawn = advisory("X-1", "npm", "left-pad", &json!([{ "introduced": "0" }]));
    withdrawn["withdrawn"] = json!("2024-01-01T00:00:00Z");
    let dependencies = json!([{ "name": "left-pad", "version": "1.3.0", "ecosystem": "npm" }]);
    let output = run(json!({ "dependencies": dependencies, "advisories": [withdrawn, 7] }));
    assert_eq!((&output["verdict"], &output["vulnerable"]), (&json!("clear"), &json!([])));
}

/// Packages that were taken down as squats: crossenv (npm, 2017), python3-dateutil and jeIlyfish (PyPI, 2019),
/// rustdecimal (crates.io, 2022, of rust_decimal, protected here).
#[test]
fn real_typosquats_are_detected() {
    let protected = ["jellyfish".to_owned(), "rust_decimal".to_owned()];
    for (name, ecosystem, known) in [
        ("crossenv", Ecosystem::Npm, "cross-env"),
        ("jeilyfish", Ecosystem::PyPI, "jellyfish"),
        ("rustdecimal", Ecosystem::Cargo, "rust_decimal"),
        ("reqeusts", Ecosystem::PyPI, "requests"),
    ] {
        assert_eq!(squat::find(name, ecosystem, &protected).map(|(_, known)| known).as_deref(), Some(known), "{name}");
    }
    for (name, ecosystem) in [
        ("requests", Ecosystem::PyPI),
        ("tokio-util", Ecosystem::Cargo),
        ("scikit_learn", Ecosystem::PyPI),
        ("libm", Ecosystem::Cargo),
        ("preact", Ecosystem::Npm),
    ] {
        assert_eq!(squat::find(name, ecosystem, &protected), None, "{name}");
    }
}

#[test]
fn sources_and_loose_versions() {
    let dependency = |version: &str, source: &str| json!({ "name": "own", "version": version, "ecosystem": "npm", "source": source });
    let output = run(json!({ "dependencies": [
        dependency("1.0.0", "git+https://example.org/own.git#4f2a9c1e"), dependency("^1.0", "http://example.org/own.tgz"),
    ] }));
    let rules: Vec<_> = output["findings"].as_array().unwrap().iter().map(|f| f["rule"].clone()).collect();
    assert_eq!(rules, ["git-source", "insecure-source", "unpinned-version", "not-assessed"]);
}

/// Without advisories nothing is known of vulnerabilities: neither an empty list nor a clear verdict may say otherwise.
#[test]
fn absent_advisories_are_no_clean_bill() {
    let context = Context::default();
    let input = json!({ "dependencies": [{ "name": "jinja2", "version": "2.4.1", "ecosystem": "PyPI" }] });
    let output = crate::FAMILY.run(150, input, &context).unwrap();
    assert!(output.get("vulnerable").is_none(), "{output}");
    assert_eq!((&output["verdict"], &output["findings"][0]["rule"]), (&json!("notice"), &json!("not-assessed")));
    assert!(context.into_warnings()[0].starts_with("not_assessed: known vulnerabilities"), "the warning has its word");
    // The look-alike is found all the same.
    let squat = run(json!({ "dependencies": [{ "name": "reqeusts", "version": "1.0.0", "ecosystem": "PyPI" }] }));
    assert_eq!((&squat["suspicious"][0]["similar_to"], &squat["verdict"]), (&json!("requests"), &json!("warn")));
    // Advisories of another ecosystem only.
    let context = Context::default();
    let input = json!({
        "dependencies": [{ "name": "jinja2", "version": "2.4.1", "ecosystem": "PyPI" }],
        "advisories": [advisory("X-1", "npm", "lodash", &json!([{ "introduced": "0" }]))],
    });
    crate::FAMILY.run(150, input, &context).unwrap();
    assert!(context.into_warnings()[0].starts_with("not_assessed: no advisory is for PyPI"));
}
