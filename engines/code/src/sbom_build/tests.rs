use serde_json::{Value, json};

use super::*;

fn run(input: Value) -> Value {
    crate::FAMILY.run(195, input, &Context::default()).unwrap()
}

/// purl-spec, tests/data/test-suite-data.json, the `canonical_purl` of those without qualifiers and subpath.
#[test]
fn the_test_suite_of_purl() {
    for (ecosystem, name, version, expect) in [
        ("maven", "org.apache.commons:io", "1.3.4", "pkg:maven/org.apache.commons/io@1.3.4"),
        ("maven", "org.apache.commons/io", "", "pkg:maven/org.apache.commons/io"),
        ("maven", "HTTPClient:HTTPClient", "0.3-3", "pkg:maven/HTTPClient/HTTPClient@0.3-3"),
        (
            "golang",
            "github.com/nats-io/nats-server/v2/server",
            "v1.2.9",
            "pkg:golang/github.com/nats-io/nats-server/v2/server@v1.2.9",
        ),
        (
            "bitbucket",
            "birkenfeld/pyGments-main",
            "244fd47e07d1014f0aed9c",
            "pkg:bitbucket/birkenfeld/pygments-main@244fd47e07d1014f0aed9c",
        ),
        (
            "github",
            "Package-url/purl-Spec",
            "244fd47e07d1004f0aed9c",
            "pkg:github/package-url/purl-spec@244fd47e07d1004f0aed9c",
        ),
        ("npm", "@angular/animation", "12.3.1", "pkg:npm/%40angular/animation@12.3.1"),
        ("Nuget", "EnterpriseLibrary.Common", "6.0.1304", "pkg:nuget/EnterpriseLibrary.Common@6.0.1304"),
        ("PyPI", "Django_package", "1.11.1.dev1", "pkg:pypi/django-package@1.11.1.dev1"),
        ("composer", "guzzlehttp/promises", "2.0.2", "pkg:composer/guzzlehttp/promises@2.0.2"),
    ] {
        assert_eq!(purl::purl(ecosystem, name, version), expect);
    }
}

/// packageurl-python 0.17.6 (pip), `PackageURL(...).to_string()` of the same parts.
#[test]
fn package_urls_match_packageurl_python() {
    for (ecosystem, name, version, expect) in [
        ("maven", "org.apache:x y", "1:2/3", "pkg:maven/org.apache/x%20y@1:2/3"),
        ("Debian", "curl", "7.50.3-1+b1", "pkg:deb/debian/curl@7.50.3-1%2Bb1"),
        ("generic", "a@b", "1 0", "pkg:generic/a%40b@1%200"),
        (
            "Go",
            "github.com/gorilla/context",
            "v1.0+incompatible",
            "pkg:golang/github.com/gorilla/context@v1.0%2Bincompatible",
        ),
    ] {
        assert_eq!(purl::purl(ecosystem, name, version), expect);
    }
}

fn example(format: &str) -> Value {
    json!({
        "format": format, "subject": { "name": "acme app", "version": "1.0" }, "timestamp": "2026-01-01T01:00:00.5+01:00",
        "components": [
            { "name": "a", "version": "1", "ecosystem": "npm", "licence": "MIT OR Apache-2.0", "supplier": "A Inc",
              "sha256": "AB".repeat(32), "depends_on": ["b@2"] },
            { "name": "b", "version": "2", "ecosystem": "npm", "licence": "BSD-3-Clause", "supplier": "B", "depends_on": [] },
            { "name": "c", "version": "", "ecosystem": "npm", "licence": "my own" },
        ],
    })
}

/// CycloneDX 1.5 JSON reference: licences by id, expression or name; hashes; the graph from the subject down. The
/// document passes cyclonedx-python-lib's strict JSON validator for 1.5.
#[test]
fn a_cyclonedx_document_is_complete() {
    let sbom = run(example("cyclonedx"))["sbom"].clone();
    assert_eq!((&sbom["bomFormat"], &sbom["specVersion"]), (&json!("CycloneDX"), &json!("1.5")));
    assert_eq!(sbom["metadata"]["timestamp"], "2026-01-01T00:00:00Z");
    let licences: Vec<&Value> = sbom["components"].as_array().unwrap().iter().map(|one| &one["licenses"][0]).collect();
    assert_eq!(
        json!(licences),
        json!([{ "expression": "MIT OR Apache-2.0" }, { "license": { "id": "BSD-3-Clause" } }, { "license": { "name": "my own" } }])
    );
    assert_eq!(sbom["components"][0]["hashes"][0], json!({ "alg": "SHA-256", "content": "ab".repeat(32) }));
    assert_eq!(
        sbom["dependencies"],
        json!([
            { "ref": "subject:acme app@1.0", "dependsOn": ["pkg:npm/a@1", "pkg:npm/c"] },
            { "ref": "pkg:npm/a@1", "dependsOn": ["pkg:npm/b@2"] },
            { "ref": "pkg:npm/b@2", "dependsOn": [] },
        ])
    );
    let serial = sbom["serialNumber"].as_str().unwrap().strip_prefix("urn:uuid:").unwrap().to_owned();
    let lengths: Vec<usize> = serial.split('-').map(str::len).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12]);
    assert!(serial.split('-').nth(2).unwrap().starts_with('8'), "RFC 9562: version 8");
}

/// SPDX 2.3, clauses 6 (document), 7 (package), 11 (relationships). The document passes spdx-tools' validator.
#[test]
fn an_spdx_document_is_complete() {
    let sbom = run(example("spdx"))["sbom"].clone();
    assert_eq!((&sbom["spdxVersion"], &sbom["dataLicense"]), (&json!("SPDX-2.3"), &json!("CC0-1.0")));
    assert_eq!(sbom["creationInfo"]["created"], "2026-01-01T00:00:00Z");
    let package = &sbom["packages"][1];
    assert_eq!(package["supplier"], "Organization: A Inc");
    assert_eq!(package["externalRefs"][0]["referenceLocator"], "pkg:npm/a@1");
    assert_eq!(sbom["packages"][3]["licenseDeclared"], "NOASSERTION");
    let relations: Vec<String> = sbom["relationships"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!("{} {} {}", one["spdxElementId"], one["relationshipType"], one["relatedSpdxElement"])
                .replace('"', "")
        })
        .collect();
    assert_eq!(
        relations,
        [
            "SPDXRef-DOCUMENT DESCRIBES SPDXRef-Subject",
            "SPDXRef-Subject DEPENDS_ON SPDXRef-Package-1-a",
            "SPDXRef-Subject DEPENDS_ON SPDXRef-Package-3-c",
            "SPDXRef-Package-1-a DEPENDS_ON SPDXRef-Package-2-b",
        ]
    );
}

/// NTIA 2021, "Data Fields": seven elements, five of a component and two of the document. `c` lacks its supplier, its
/// version, so its identifier, and its dependencies: 13 of 17.
#[test]
fn the_minimum_elements_are_counted() {
    let output = run(example("cyclonedx"));
    assert!((output["completeness"].as_f64().unwrap() - 13.0 / 17.0).abs() < 1e-12);
    let missing: Vec<&Value> = output["missing"].as_array().unwrap().iter().map(|one| &one["element"]).collect();
    assert_eq!(missing, ["supplier", "version", "identifier", "dependencies"]);
}

#[test]
fn the_serial_number_depends_only_on_the_content() {
    let mut other = example("cyclonedx");
    assert_eq!(run(other.clone())["sbom"]["serialNumber"], run(example("cyclonedx"))["sbom"]["serialNumber"]);
    other["components"][0]["version"] = json!("1.1");
    assert_ne!(run(other)["sbom"]["serialNumber"], run(example("cyclonedx"))["sbom"]["serialNumber"]);
}

#[test]
fn a_malformed_hash_is_rejected() {
    let mut input = example("spdx");
    input["components"][0]["sha256"] = json!("abc");
    assert!(matches!(crate::FAMILY.run(195, input, &Context::default()), Err(Failure::Invalid { .. })));
}
