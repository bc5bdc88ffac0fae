//! Engines that parse texts: version ranges and device telemetry.

use muster_engines::{Context, by_id};
use serde_json::{Value, json};

use crate::campaign::{fuzz, label};

fn run(id: &str, input: &Value) -> Result<Value, String> {
    let engine = by_id(id).unwrap();
    engine.run(input.clone(), &Context::default()).map_err(label)
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Reads a scheme, a range and versions, one a line. Every version is sorted or invalid; the matching ones are sorted;
/// sorting what is sorted changes nothing.
#[test]
fn version_ranges() {
    let words = [
        "^", "~", "~>", ">=", "<=", "||", " - ", "x", "*", "-rc.1", "+b", "v", "=", "!=", "~=", "===", ".dev1", "1!",
        ".post1", "npm\n", "pep440\n", "semver\n", "\n", ".", ",",
    ];
    fuzz("version_ranges", &words, |input| {
        let text = String::from_utf8_lossy(input);
        let mut lines = text.split('\n');
        let scheme = lines.next().filter(|scheme| ["npm", "pep440"].contains(scheme)).unwrap_or("semver");
        let range = lines.next().unwrap_or_default();
        let versions: Vec<&str> = lines.take(200).collect();
        let input =
            |versions: &[&str]| json!({ "scheme": scheme, "range": range, "versions": versions, "bump": "minor" });
        let output = match run("version-resolve", &input(&versions)) {
            Err(failure) => return failure,
            Ok(output) => output,
        };
        let (sorted, matching) = (texts(&output["sorted"]), texts(&output["matching"]));
        assert_eq!(sorted.len() + texts(&output["invalid"]).len(), versions.len(), "{output}");
        assert!(matching.iter().all(|found| sorted.contains(found)), "{output}");
        assert_eq!(output["best"].is_string(), !matching.is_empty(), "{output}");
        let again = run("version-resolve", &input(&sorted)).unwrap();
        assert_eq!(texts(&again["sorted"]), sorted, "sorting is not stable");
        assert_eq!(texts(&again["matching"]).len(), matching.len());
        format!("{scheme} {} {} {}", sorted.len().min(3), matching.len().min(3), output["next"].is_string())
    });
}

/// The first byte names format and encoding, the rest is the payload. The result is bounded and repeatable.
#[test]
fn telemetry() {
    let words = [
        "$GPGGA,",
        "$GPRMC,",
        "!AIVDM,1,1,,A,",
        "!AIVDM,2,1,3,B,",
        "*47",
        ",",
        "\n",
        "[{\"bn\":\"urn:dev:\",\"v\":1}]",
        "\"bt\":",
        "\"bv\":",
        "\"n\":",
        "\"u\":\"Cel\"",
        "\"vs\":",
        "\"vd\":",
        "\"t\":",
        "1e400",
        "0367011005ff",
        "01880765",
    ];
    fuzz("telemetry", &words, |input| {
        let (first, rest) = input.split_first().unwrap_or((&0, &[]));
        let formats = ["auto", "nmea", "ais", "senml", "cayenne-lpp"];
        let format = formats[usize::from(*first) % formats.len()];
        let encoding = ["text", "hex"][usize::from(*first >> 7)];
        let payload = String::from_utf8_lossy(rest);
        let input = json!({ "payload": payload, "format": format, "encoding": encoding });
        let output = match run("telemetry-decode", &input) {
            Err(failure) => return format!("{format} {failure}"),
            Ok(output) => output,
        };
        let (readings, errors) = (output["readings"].as_array().unwrap(), output["errors"].as_array().unwrap());
        assert!(readings.len() <= 50_000 && errors.len() <= 1_000);
        let size = output.to_string().len();
        assert!(size <= 1_000_000 + 400 * payload.len(), "{size} bytes of {}", payload.len());
        assert_eq!(run("telemetry-decode", &input).as_ref(), Ok(&output), "is not repeatable");
        let names: Vec<_> = readings.iter().filter_map(|reading| reading["name"].as_str()).take(4).collect();
        format!(
            "{format} {} {}",
            label(names.join(" ")),
            errors.first().map(|error| label(&error["message"])).unwrap_or_default()
        )
    });
}

/// The first line names an engine, the rest is its input, at first the engine's example: the parsers of all engines. The
/// result is an output or a failure, and the same again.
#[test]
fn engines() {
    let words = [
        "{",
        "}",
        "[",
        "]",
        "\"",
        ":",
        ",",
        "null",
        "true",
        "1e400",
        "-1",
        "\\n",
        "\\u0000",
        "((((",
        "))))",
        "<a>",
        "</a>",
        "{{",
        "}}",
        "{%",
        "%}",
        "SELECT ",
        " FROM ",
        "|",
        ".*",
        "(a+)+$",
        "$",
        "../",
        "#",
        "*",
        "`",
        "@@ -1 +1 @@\\n",
        "2026-13-45",
        "P1Y",
        "%s",
        "\\\\",
        "\u{202e}",
        "ß",
    ];
    fuzz("engines", &words, |input| {
        let text = String::from_utf8_lossy(input);
        let Some((engine, json)) = text.split_once('\n').and_then(|(id, rest)| Some((by_id(id)?, rest))) else {
            return "unknown".to_owned();
        };
        let Ok(input) = serde_json::from_str::<Value>(json) else { return "no JSON".to_owned() };
        let outcome = run(engine.id, &input);
        assert_eq!(run(engine.id, &input), outcome, "is not repeatable");
        let members = |output: Value| {
            let filled = output.as_object().into_iter().flatten();
            filled
                .map(|(name, value)| if value.as_array().is_some_and(Vec::is_empty) { "-" } else { name }.to_owned())
                .collect::<Vec<_>>()
                .join(" ")
        };
        format!("{} {}", engine.id, outcome.map_or_else(|failure| failure, members))
    });
}
