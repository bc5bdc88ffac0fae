//! SPDX 2.3 in JSON.

use serde_json::{Value, json};

use super::{Bill, Component, Licence, TOOL, put, uuid};
use muster_engine::Context;

const UNKNOWN: &str = "NOASSERTION";
const SUBJECT: &str = "SPDXRef-Subject";

pub(super) fn write(bill: &Bill<'_>, context: &Context) -> Value {
    let created = bill.timestamp.clone().unwrap_or_else(|| {
        context.warn("SPDX requires the time of creation: set `timestamp`; 1970-01-01 is used instead");
        "1970-01-01T00:00:00Z".to_owned()
    });
    let ids: Vec<String> = bill.components.iter().enumerate().map(|(at, one)| id(at, one)).collect();
    let relation = |from: &str, kind: &str, to: &str| json!({ "spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to });
    let id_of = |at: &usize| ids.get(*at).map(String::as_str);
    let mut relations = vec![relation("SPDXRef-DOCUMENT", "DESCRIBES", SUBJECT)];
    relations.extend(bill.tops.iter().filter_map(id_of).map(|to| relation(SUBJECT, "DEPENDS_ON", to)));
    for (component, from) in bill.components.iter().zip(&ids) {
        relations.extend(component.needs.iter().filter_map(id_of).map(|to| relation(from, "DEPENDS_ON", to)));
    }
    let subject = json!({
        "SPDXID": SUBJECT, "name": bill.subject.name, "versionInfo": bill.subject.version, "downloadLocation": UNKNOWN,
        "filesAnalyzed": false, "licenseConcluded": UNKNOWN, "licenseDeclared": UNKNOWN, "copyrightText": UNKNOWN,
        "supplier": UNKNOWN, "primaryPackagePurpose": "APPLICATION",
    });
    let packages = bill.components.iter().zip(&ids).map(|(component, id)| package(component, id));
    let mut document = json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": format!("{}-{}", bill.subject.name, bill.subject.version),
        "creationInfo": { "created": created, "creators": [format!("Tool: {}-{}", TOOL.0, TOOL.1)] },
        "packages": std::iter::once(subject).chain(packages).collect::<Vec<_>>(),
        "relationships": relations,
    });
    let name = words(&format!("{}-{}", bill.subject.name, bill.subject.version));
    let namespace = format!("https://spdx.org/spdxdocs/{name}-{}", uuid(&document));
    put(&mut document, "documentNamespace", json!(namespace));
    document
}

/// Letters, digits, `.` and `-`, as identifiers of SPDX are made of.
fn words(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect()
}

fn id(at: usize, component: &Component<'_>) -> String {
    format!("SPDXRef-Package-{}-{}", at + 1, words(&component.input.name))
}

fn package(component: &Component<'_>, id: &str) -> Value {
    let input = component.input;
    let licence = match &component.licence {
        Licence::Id(text) | Licence::Expression(text) => text.as_str(),
        Licence::None | Licence::Named(_) => UNKNOWN,
    };
    let supplier = input.supplier.as_deref().filter(|supplier| !supplier.is_empty());
    let mut package = json!({
        "SPDXID": id,
        "name": input.name,
        "versionInfo": input.version,
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": false,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": licence,
        "copyrightText": UNKNOWN,
        "supplier": supplier.map_or(UNKNOWN.to_owned(), |supplier| format!("Organization: {supplier}")),
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": component.purl,
        }],
    });
    if let Some(hash) = &input.sha256 {
        let checksums = json!([{ "algorithm": "SHA256", "checksumValue": hash.to_lowercase() }]);
        put(&mut package, "checksums", checksums);
    }
    if let Licence::Named(name) = &component.licence {
        put(&mut package, "licenseComments", json!(name));
    }
    package
}
