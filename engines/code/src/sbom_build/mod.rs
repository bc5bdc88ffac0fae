//! q195: software bill of materials, with a completeness score.

mod cyclonedx;
mod purl;
mod spdx;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use muster_engine::prelude::*;

const MAX_COMPONENTS: usize = 50_000;
/// Maximum number of reported missing elements.
const MAX_MISSING: usize = 1_000;
/// Tool name and version recorded in the document.
const TOOL: (&str, &str) = ("muster", env!("CARGO_PKG_VERSION"));

#[derive(Input)]
pub struct Input {
    components: Vec<ComponentInput>,
    format: Format,
    subject: Subject,
    timestamp: Option<String>,
}

#[derive(Clone, Copy, Words)]
enum Format {
    Cyclonedx,
    Spdx,
}

#[derive(Input)]
struct Subject {
    name: String,
    version: String,
}

#[derive(Input)]
struct ComponentInput {
    name: String,
    version: String,
    ecosystem: String,
    licence: Option<String>,
    sha256: Option<String>,
    supplier: Option<String>,
    /// Names, `name@version` or purls of other components.
    depends_on: Option<Vec<String>>,
}

#[derive(Output)]
pub struct Output {
    sbom: Value,
    purls: Vec<String>,
    completeness: f64,
    missing: Vec<Missing>,
}

#[derive(Output)]
struct Missing {
    component: String,
    element: &'static str,
}

/// A component with its purl.
struct Component<'i> {
    input: &'i ComponentInput,
    purl: String,
    licence: Licence,
    /// Indices of its dependencies.
    needs: BTreeSet<usize>,
}

enum Licence {
    None,
    /// One identifier of SPDX's list.
    Id(String),
    Expression(String),
    /// Text that is not a licence expression.
    Named(String),
}

/// Model from which both formats are written.
struct Bill<'i> {
    components: Vec<Component<'i>>,
    subject: &'i Subject,
    /// In UTC, to the second.
    timestamp: Option<String>,
    /// Components on which no other depends: they are dependencies of the subject.
    tops: Vec<usize>,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    if input.components.len() > MAX_COMPONENTS {
        return Err(Failure::too_large(format!("at most {MAX_COMPONENTS} components are listed")));
    }
    let bill = gather(&input, context)?;
    let (completeness, mut missing) = weigh(&bill);
    if missing.len() > MAX_MISSING {
        missing.truncate(MAX_MISSING);
        context.warn(format!("only the first {MAX_MISSING} missing elements are reported"));
    }
    let sbom = match input.format {
        Format::Cyclonedx => cyclonedx::write(&bill),
        Format::Spdx => spdx::write(&bill, context),
    };
    Ok(Output { sbom, purls: bill.components.into_iter().map(|one| one.purl).collect(), completeness, missing })
}

fn gather<'i>(input: &'i Input, context: &Context) -> Result<Bill<'i>, Failure> {
    let (mut components, mut names) = (Vec::<Component<'_>>::new(), BTreeMap::<String, usize>::new());
    for (at, input) in input.components.iter().enumerate() {
        if input
            .sha256
            .as_ref()
            .is_some_and(|hash| hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
        {
            let place = at.to_string();
            return Err(Failure::invalid(&["components", &place, "sha256"], "must be 64 hexadecimal digits"));
        }
        let purl = purl::purl(&input.ecosystem, &input.name, &input.version);
        if names.contains_key(&purl) {
            context.warn(format!("{purl} is listed more than once: the first counts"));
            continue;
        }
        for name in [&purl, &format!("{}@{}", input.name, input.version), &input.name] {
            names.entry(name.clone()).or_insert(components.len());
        }
        let licence = licence(input, context);
        components.push(Component { input, purl, licence, needs: BTreeSet::new() });
    }
    let mut needed = BTreeSet::new();
    for (at, component) in components.iter_mut().enumerate() {
        for name in component.input.depends_on.iter().flatten() {
            match names.get(name) {
                Some(&other) if other != at => {
                    needed.insert(other);
                    component.needs.insert(other);
                }
                Some(_) => {}
                None => context.warn(format!("{} depends on {name}, which is not listed", component.purl)),
            }
        }
    }
    let tops = (0..components.len()).filter(|at| !needed.contains(at)).collect();
    let timestamp = input.timestamp.as_deref().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    let timestamp = timestamp.map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    Ok(Bill { components, subject: &input.subject, timestamp, tops })
}

fn licence(input: &ComponentInput, context: &Context) -> Licence {
    let Some(text) = input.licence.as_deref().map(str::trim).filter(|text| !text.is_empty()) else {
        return Licence::None;
    };
    if let Some(id) = ::spdx::license_id(text) {
        return Licence::Id(id.name.to_owned());
    }
    if ::spdx::Expression::parse(text).is_ok() {
        return Licence::Expression(text.to_owned());
    }
    context.warn(format!("{}: {text:?} is not an SPDX licence expression", input.name));
    Licence::Named(text.to_owned())
}

/// NTIA, "The Minimum Elements For a Software Bill of Materials" (2021), "Data Fields": per component the supplier,
/// name, version, another unique identifier and dependencies; per document the author and the time. The author is this
/// tool.
fn weigh(bill: &Bill<'_>) -> (f64, Vec<Missing>) {
    let mut missing = Vec::new();
    for component in &bill.components {
        let ComponentInput { name, version, supplier, depends_on, .. } = component.input;
        let elements = [
            ("supplier", supplier.as_deref().is_some_and(|supplier| !supplier.trim().is_empty())),
            ("name", !name.trim().is_empty()),
            ("version", !version.trim().is_empty()),
            ("identifier", !name.trim().is_empty() && !version.trim().is_empty()),
            ("dependencies", depends_on.is_some()),
        ];
        let absent = elements.into_iter().filter(|(_, there)| !there);
        missing.extend(absent.map(|(element, _)| Missing { component: component.purl.clone(), element }));
    }
    if bill.timestamp.is_none() {
        missing.push(Missing { component: bill.subject.name.clone(), element: "timestamp" });
    }
    let all = 5 * bill.components.len() + 2;
    ((all.saturating_sub(missing.len())) as f64 / all as f64, missing)
}

/// Adds a field to an object.
fn put(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(name.to_owned(), value);
    }
}

/// UUID derived from the content (RFC 9562, version 8): equal content has the same UUID.
fn uuid(content: &Value) -> String {
    let digest = Sha256::digest(content.to_string());
    let mut number = digest.iter().take(16).fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    number = number & !(0xf << 76) | 0x8 << 76;
    number = number & !(0b11 << 62) | 0b10 << 62;
    let text = format!("{number:032x}");
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}
