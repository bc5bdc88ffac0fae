//! Units of the catalogue and how they are spelt in names of Rust members.

#[path = "../../derive/src/units.rs"]
#[cfg_attr(not(test), allow(dead_code, reason = "the derive uses the rest"))]
mod table;

/// Returns the spelling of a unit at the end of a Rust name; `None` for one that is not spelt there.
pub(crate) fn spelling(unit: &str) -> Option<&'static str> {
    table::SPELLINGS.iter().find(|(known, _)| *known == unit).map(|(_, spelling)| *spelling)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalogue::FILES;
    use crate::grammar::{Type, parse_input, parse_output};

    /// Units that are formats of texts, counts of things or scales.
    const NOT_SPELT: [&str; 28] = [
        "-",
        "1e4kt2",
        "base32",
        "base64",
        "bits",
        "cell",
        "cells",
        "cost",
        "digits",
        "hex",
        "hex-or-base64",
        "iana",
        "intervals",
        "iso3166",
        "iso4217",
        "iso639",
        "iso639-1",
        "iso8601-duration",
        "money",
        "osv",
        "pem-or-base64",
        "pem-or-secret",
        "steps",
        "symbols",
        "units",
        "units/d",
        "utc",
        "yaml",
    ];

    /// Names and units of all members in the catalogue.
    fn members() -> BTreeSet<(String, String)> {
        let mut members = BTreeSet::new();
        for file in FILES {
            for record in crate::catalogue::records(file.1).unwrap() {
                let inputs = record.inputs.iter().map(|text| parse_input(text).unwrap());
                let outputs = record.outputs.iter().map(|text| parse_output(text).unwrap());
                for field in inputs.chain(outputs) {
                    collect(&field.kind, &mut members);
                    members.insert((field.name, field.unit));
                }
            }
        }
        members
    }

    fn collect(kind: &Type, members: &mut BTreeSet<(String, String)>) {
        match kind {
            Type::Array(item) | Type::Map(item) => collect(item, members),
            Type::Record(of) => {
                for member in of {
                    members.insert((member.name.clone(), member.unit.clone()));
                    collect(&member.kind, members);
                }
            }
            Type::Prim(_) | Type::Enum(_) => {}
        }
    }

    #[test]
    fn each_unit_of_the_catalogue_is_spelt_or_no_quantity() {
        for (name, unit) in members() {
            let not_spelt = NOT_SPELT.contains(&unit.as_str());
            assert!(unit.is_empty() || spelling(&unit).is_some() != not_spelt, "{name}: {unit}");
        }
    }

    #[test]
    fn names_that_end_like_a_unit_in_the_catalogue_stay_whole() {
        let ends = |name: &str| {
            table::SPELLINGS
                .iter()
                .any(|(_, spelling)| name.strip_suffix(spelling).is_some_and(|rest| rest.ends_with('_')))
        };
        let found: BTreeSet<String> = members().into_iter().map(|(name, _)| name).filter(|name| ends(name)).collect();
        let listed: BTreeSet<String> = table::WHOLE.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(found, listed);
    }

    #[test]
    fn a_name_loses_the_longest_unit_that_ends_it() {
        assert_eq!(table::split("wind_speed_km_h"), ("wind_speed", Some("km_h")));
        assert_eq!(table::split("flow_m3_s"), ("flow", Some("m3_s")));
        assert_eq!(table::split("temperature_deg_c"), ("temperature", Some("deg_c")));
        assert_eq!(table::split("max_tokens"), ("max_tokens", None));
        assert_eq!(table::split("class"), ("class", None));
        assert_eq!(table::split("m"), ("m", None));
    }

    #[test]
    fn no_name_with_its_unit_is_another_name_of_the_catalogue() {
        for (name, unit) in members() {
            if let Some(spelling) = spelling(&unit) {
                let whole = format!("{name}_{spelling}");
                assert!(!table::WHOLE.contains(&whole.as_str()), "{whole} would stay whole");
            }
        }
    }
}
