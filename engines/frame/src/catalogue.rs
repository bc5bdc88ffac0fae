//! Reader of the catalogue: one TOML file for each family.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::engine::{Cost, DataSource, Engine, Nature};
use crate::family::{Family, Registration};

/// An engine in the catalogue, also one that is not built yet.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Number of its route.
    pub number: u16,
    /// Stable id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// One-sentence description.
    pub summary: String,
    /// Resources it may access.
    pub kind: Nature,
    /// Input fields, in the grammar.
    pub inputs: Vec<String>,
    /// Output fields, in the grammar.
    pub outputs: Vec<String>,
    /// Method of computation.
    pub method: String,
    /// Source of the method.
    pub reference: String,
    /// An example input, as JSON.
    pub example: String,
    /// Version of the method.
    pub version: String,
    /// How accurate the output is.
    #[serde(default)]
    pub accuracy: String,
    /// Range in which the method holds.
    #[serde(default)]
    pub valid: String,
    /// Largest input.
    #[serde(default)]
    pub limits: String,
    /// How long a call may take.
    #[serde(default)]
    pub cost: Cost,
    /// Data that it contains.
    #[serde(default)]
    pub data: Vec<DataSource>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    engine: Vec<Record>,
}

/// Reads a file of the catalogue.
///
/// # Errors
/// What is wrong with it; a test reads each file.
pub fn records(text: &str) -> Result<Vec<Record>, String> {
    toml::from_str::<File>(text).map(|file| file.engine).map_err(|error| error.to_string())
}

/// Joins the records of a file with the functions; records without one are left out.
pub(crate) fn engines(text: &str, functions: &[Registration]) -> Result<Vec<Engine>, String> {
    let records = records(text)?;
    let join = |record: Record| {
        let registration = functions.iter().find(|registration| registration.number == record.number)?;
        Some(engine(record, registration))
    };
    Ok(records.into_iter().filter_map(join).collect())
}

/// The texts live as long as the process, as the engines do.
fn engine(record: Record, registration: &Registration) -> Engine {
    let texts = |texts: Vec<String>| -> &'static [&'static str] {
        Vec::leak(texts.into_iter().map(|text| &*String::leak(text)).collect())
    };
    Engine {
        number: record.number,
        id: String::leak(record.id),
        name: String::leak(record.name),
        family: Family::of_number(record.number).unwrap_or(Family::Data),
        nature: record.kind,
        summary: String::leak(record.summary),
        inputs: texts(record.inputs),
        outputs: texts(record.outputs),
        method: String::leak(record.method),
        reference: String::leak(record.reference),
        example: String::leak(record.example),
        version: String::leak(record.version),
        accuracy: String::leak(record.accuracy),
        valid: String::leak(record.valid),
        limits: String::leak(record.limits),
        cost: record.cost,
        data: Vec::leak(record.data),
        function: registration.function,
        shapes: Some(registration.shapes),
        fields: OnceLock::new(),
    }
}

/// The files of the catalogue with the names of their families.
#[cfg(test)]
pub(crate) const FILES: [(&str, &str); 15] = [
    ("geo", include_str!("../../catalogue/geo.toml")),
    ("hazard", include_str!("../../catalogue/hazard.toml")),
    ("network", include_str!("../../catalogue/network.toml")),
    ("platform", include_str!("../../catalogue/platform.toml")),
    ("logistics", include_str!("../../catalogue/logistics.toml")),
    ("stats", include_str!("../../catalogue/stats.toml")),
    ("data", include_str!("../../catalogue/data.toml")),
    ("finance", include_str!("../../catalogue/finance.toml")),
    ("security", include_str!("../../catalogue/security.toml")),
    ("llm", include_str!("../../catalogue/llm.toml")),
    ("text", include_str!("../../catalogue/text.toml")),
    ("code", include_str!("../../catalogue/code.toml")),
    ("crypto", include_str!("../../catalogue/crypto.toml")),
    ("medical", include_str!("../../catalogue/medical.toml")),
    ("docs", include_str!("../../catalogue/docs.toml")),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::Value;

    use super::*;
    use crate::grammar::{input_schema, output_schema, parse_input, parse_output};

    #[test]
    fn each_record_is_in_the_file_of_its_family_and_follows_the_grammar() {
        let mut numbers = Vec::new();
        for (family, file) in FILES {
            for record in records(file).unwrap_or_else(|error| panic!("{family}: {error}")) {
                assert_eq!(Family::of_number(record.number).map(Family::name), Some(family), "q{}", record.number);
                assert!(serde_json::from_str::<Value>(&record.example).is_ok(), "{}", record.id);
                numbers.push(record.number);
            }
        }
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=247).collect::<Vec<u16>>());
    }

    /// Drops descriptive text, and writes equal numbers equally.
    fn bare(schema: &Value) -> Value {
        match schema {
            Value::Object(object) => object.iter().map(|(key, value)| (key.clone(), bare(value))).collect(),
            Value::Array(items) => items.iter().map(bare).collect(),
            Value::Number(number) => number.as_f64().into(),
            other => other.clone(),
        }
    }

    /// Engines that take or give more than the shared catalogue says: q12 also gives GeoJSON, q68 takes roads and places
    /// without positions, q141 files, q157 the texts of entries, q210
    /// lines.
    const EXTENDED: [u16; 5] = [12, 68, 141, 157, 210];
    /// The engine that is pure there, and reads the caller's memory here if it is asked to (docs/decisions/0047).
    const READS_MEMORY: u16 = 157;

    fn names(fields: &[String]) -> Vec<&str> {
        fields.iter().map(|field| field.split(':').next().unwrap()).collect()
    }

    /// `schemas.json` was generated from the fields by the catalogue's own program.
    #[test]
    fn the_schemas_of_the_fields_are_those_of_the_catalogue() {
        let schemas: Value = serde_json::from_str(include_str!("../../catalogue/schemas.json")).unwrap();
        let records: Vec<Record> = FILES.iter().flat_map(|(_, file)| records(file).unwrap()).collect();
        assert_eq!(schemas["engines"].as_object().unwrap().len(), records.len());
        for record in records {
            let known = &schemas["engines"][&record.id];
            let inputs: Vec<_> = record.inputs.iter().map(|text| parse_input(text).unwrap()).collect();
            let outputs: Vec<_> = record.outputs.iter().map(|text| parse_output(text).unwrap()).collect();
            assert_eq!(known["number"], record.number, "{}", record.id);
            if EXTENDED.contains(&record.number) {
                continue;
            }
            assert_eq!(bare(&input_schema(&inputs)), bare(&known["input"]), "{}'s input", record.id);
            assert_eq!(bare(&output_schema(&outputs)), bare(&known["output"]), "{}'s output", record.id);
        }
    }

    #[test]
    fn the_vendored_vectors_are_those_of_the_shared_catalogue() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let json = |path: &Path| -> Option<Vec<Value>> {
            Some(serde_json::from_str(&std::fs::read_to_string(path).ok()?).unwrap())
        };
        let vendored =
            |(family, _): &(&str, &str)| json(&own.join(format!("../catalogue/vectors/{family}.json"))).unwrap();
        let vendored: Vec<Value> = FILES.iter().flat_map(vendored).collect();
        assert_eq!(vendored.len(), 247);
        let Some(shared) = json(&own.join("../../../shared/catalogue/vectors.json")) else {
            println!("skipped: the shared catalogue is not beside the repository, so the vectors are not compared");
            return;
        };
        for vector in shared {
            assert!(vendored.contains(&vector), "{}", vector["engine"]);
        }
    }

    #[test]
    fn the_vendored_files_agree_with_the_shared_catalogue() {
        let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/catalogue/engines.toml");
        let Ok(text) = std::fs::read_to_string(&shared) else {
            println!("skipped: {} does not exist, so the vendored files are not compared with it", shared.display());
            return;
        };
        let original: toml::Value = toml::from_str(&text).unwrap();
        let vendored: Vec<Record> = FILES.iter().flat_map(|(_, file)| records(file).unwrap()).collect();
        for engine in original["engine"].as_array().unwrap() {
            let number = engine["number"].as_integer().unwrap();
            let record = vendored.iter().find(|record| i64::from(record.number) == number).unwrap();
            let texts = |name: &str| -> Vec<String> { engine[name].clone().try_into().unwrap() };
            assert_eq!(engine["id"].as_str(), Some(record.id.as_str()));
            assert_eq!(engine["name"].as_str(), Some(record.name.as_str()));
            let kind = if record.number == READS_MEMORY { "state" } else { engine["kind"].as_str().unwrap() };
            assert_eq!(kind, record.kind.name(), "{}", record.id);
            let (inputs, outputs) = (texts("inputs"), texts("outputs"));
            if EXTENDED.contains(&record.number) {
                let has =
                    |own: &[String], shared: &[String]| names(shared).iter().all(|name| names(own).contains(name));
                assert!(has(&record.inputs, &inputs) && has(&record.outputs, &outputs), "{}", record.id);
            } else {
                assert_eq!((inputs, outputs), (record.inputs.clone(), record.outputs.clone()));
            }
        }
    }
}
