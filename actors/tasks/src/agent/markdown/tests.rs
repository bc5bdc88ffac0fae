use muster_engines::grammar::parse_type;
use serde_json::json;

use super::*;

fn shown(value: &Value, kind: &str, unit: &str) -> String {
    super::value(value, &parse_type(kind).unwrap(), unit)
}

#[test]
fn records_are_tables_with_units_and_places() {
    let rows = json!([{ "path": "a.rs", "line": 3, "text": "a | b" }, { "path": "b.rs", "line": 9, "text": "c\nd" }]);
    assert_eq!(
        shown(&rows, "array<{path=string,line=integer,text=string}>", ""),
        "| place | text |\n|---|---|\n| `a.rs:3` | a \\| b |\n| `b.rs:9` | c d |"
    );
    let rows = json!([{ "speed": 12.3456789, "at": { "lat": 47.5, "lon": 8.25 }, "tags": ["x", "y"] }]);
    assert_eq!(
        shown(&rows, "array<{at=latlon,speed=number[m/s],tags=array<string>}>", ""),
        "| at | speed (m/s) | tags |\n|---|---|---|\n| 47.5, 8.25 | 12.3457 | x, y |"
    );
    let languages = json!({ "Rust": { "files": 2, "code": 30 }, "C": { "files": 1, "code": 4 } });
    assert_eq!(
        shown(&languages, "map<{files=integer,code=integer}>", ""),
        "| name | files | code |\n|---|---|---|\n| C | 1 | 4 |\n| Rust | 2 | 30 |"
    );
    let grid = json!({ "columns": ["b", "a"], "rows": [[1, null], ["x", 2]] });
    assert_eq!(shown(&grid, "any", ""), "| b | a |\n|---|---|\n| 1 | – |\n| x | 2 |");
    let places = json!([{ "id": "a", "lat": 33.4342, "lon": -112.0116 }]);
    assert!(shown(&places, "array<{id=string,lat=number,lon=number}>", "").ends_with("| a | 33.4342 | -112.0116 |"));
    let pairs = json!([["a", "b"], ["c", "d"]]);
    assert_eq!(shown(&pairs, "array<array<string>>", ""), "- a, b\n- c, d", "not one list of four");
    let many: Vec<Value> = (0..30).map(|n| json!({ "n": n })).collect();
    assert!(shown(&many.into(), "array<{n=integer}>", "").ends_with("… and 10 more, 30 in all"));
}

#[test]
fn a_secret_of_the_instruction_is_not_repeated() {
    let line =
        |param: &str| filled(&json!({ "param": param, "value": "s3cret", "by": "rule", "evidence": "it: s3cret" }));
    for param in SECRETS {
        assert!(!line(param).contains("s3cret"), "{param}");
    }
    assert!(line("city").contains("s3cret"));
}

#[test]
fn scalars_lists_and_objects_have_no_json() {
    for (value, kind, unit, wanted) in [
        (json!(31.5), "number", "degC", "31.5 °C"),
        (json!(0.1 + 0.2), "number", "", "0.3"),
        (json!(1_234_567.891), "number", "", "1234568"),
        (json!(5), "integer", "-", "5"),
        (json!(true), "boolean", "", "yes"),
        (json!(null), "string", "", "–"),
        (json!([]), "array<string>", "", "none"),
        (json!([1, 2.5]), "array<number>", "", "1, 2.5"),
        (json!({ "lat": 1, "lon": 2 }), "latlon", "deg", "1, 2"),
        (
            json!({ "type": "Polygon", "coordinates": [[[0, 0], [1, 1], [0, 0]]] }),
            "geometry",
            "",
            "Polygon of 3 points (GeoJSON in the outputs)",
        ),
        (json!({ "b": { "x_y": 1 }, "a": [{ "c": 1 }] }), "any", "", "- **a:**\n\n- **c:** 1\n\n- **b:** x y: 1"),
        (
            json!({ "properties": { "id": { "type": ["string", "null"] } } }),
            "any",
            "",
            "- **properties:**\n  - **id:**\n    - **type:** string, null",
        ),
        (json!([[{ "a_b": 1 }]]), "array<any>", "", "- **a_b:** 1"),
        (json!({ "a_b": ["1.0", "2.0"] }), "map<array<string>>", "", "- **a_b:** 1.0, 2.0"),
        (
            json!([{ "places": [{ "path": "a.rs", "start": 2, "end": 9 }] }]),
            "array<{places=array<any>}>",
            "",
            "| places |\n|---|\n| `a.rs:2-9` |",
        ),
        (json!("# T\n\ntext"), "string", "", "### T\n\ntext"),
        (json!("src/\n  main.rs"), "string", "", "```\nsrc/\n  main.rs\n```"),
    ] {
        let text = shown(&value, kind, unit);
        assert_eq!(text, wanted);
        assert!(!text.contains("{\"") && !text.contains("\":"), "{text}");
    }
}
