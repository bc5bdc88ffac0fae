use muster_engines::grammar::parse_type;
use serde_json::json;

use super::*;

fn read(kind: &str, reference: Value, content: &str) -> Result<Value, String> {
    value(&parse_type(kind).unwrap(), &FileReference::of(&reference).unwrap(), content.as_bytes())
}

/// Numbers of columns are floats.
fn floats(value: Value) -> Value {
    serde_json::from_str(&value.to_string().replace(":2}", ":2.0}")).unwrap()
}

const WEIGHTS: &str = "feed,weight,note\n\"linseed\",309,\"a, b\"\r\nsoy,243,NA\nlinseed,229.5,\"say \"\"x\"\"\"\n";

#[test]
fn a_table_gives_columns_groups_records_and_rows() {
    let csv = |extra: Value| {
        let mut reference = json!({ "file": "w.csv" });
        reference.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        reference
    };
    for (kind, extra, wanted) in [
        ("array<number>", json!({}), json!([309, 243, 229.5])),
        ("array<string>", json!({ "column": "Feed" }), json!(["linseed", "soy", "linseed"])),
        ("array<array<number>>", json!({ "column": "weight", "by": "feed" }), json!([[309, 229.5], [243]])),
        ("array<array<number>>", json!({}), json!([[309], [243], [229.5]])),
        ("map<array<number>>", json!({}), json!({ "weight": [309, 243, 229.5] })),
        ("map<array<any>>", json!({ "columns": ["note"] }), json!({ "note": ["a, b", null, "say \"x\""] })),
        (
            "array<{feed=string,weight=number}>",
            json!({}),
            json!([
                { "feed": "linseed", "weight": 309 }, { "feed": "soy", "weight": 243 },
                { "feed": "linseed", "weight": 229.5 }
            ]),
        ),
        ("string", json!({ "row": 1, "column": "feed" }), json!("soy")),
    ] {
        let got = read(kind, csv(extra), WEIGHTS).unwrap();
        let plain = |value: &Value| value.to_string().replace(".0", "");
        assert_eq!(plain(&got), plain(&wanted), "{kind}");
    }
    assert_eq!(
        read("array<any>", json!({ "file": "a.tsv" }), "id\tzip\n1\t007\n"),
        Ok(json!([{ "id": 1, "zip": "007" }]))
    );
    assert_eq!(read("array<string>", json!({ "file": "a.log" }), "one\n\ntwo\n"), Ok(json!(["one", "two"])));
    let documents = "{\"_id\": 7, \"text\": \"a\", \"url\": \"x\"}\n";
    assert_eq!(
        read("array<{id=string,text=string,title?=string}>", json!({ "file": "a.jsonl" }), documents),
        Ok(json!([{ "id": "7", "text": "a" }]))
    );
    assert_eq!(
        read("array<{id=string,lat=number}>", json!({ "file": "a.csv" }), "lat,other\n1.5,x\n2,y\n"),
        Ok(json!([{ "id": "1", "lat": 1.5 }, { "id": "2", "lat": 2 }])).map(floats)
    );
    let towns = "City,Population,Latitude,Longitude\nDavidsons Landing,,65.2,-165.3\nKenai,7610,60.6,-151.3\n";
    let reference = json!({ "file": "towns.csv", "column": "Population", "skip_missing": true });
    assert_eq!(
        read("array<{id=string,lat=number,lon=number,value=number}>", reference, towns),
        Ok(json!([{ "id": "Kenai", "lat": 60.6, "lon": -151.3, "value": 7610.0 }]))
    );
    assert_eq!(
        read("array<any>", json!({ "file": "a.csv" }), "a,b,c\n1,2\n"),
        Ok(json!([{ "a": 1, "b": 2, "c": null }]))
    );
    let headers = "HTTP/2 200\r\nServer: nginx\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n";
    assert_eq!(
        read("map<array<string>>", json!({ "file": "h.txt" }), headers),
        Ok(json!({ "Server": ["nginx"], "set-cookie": ["a=1", "b=2"] }))
    );
    let lines = "{\"a\": 1}\n{\"a\": 2}\n";
    assert_eq!(read("array<any>", json!({ "file": "a.jsonl" }), lines), Ok(json!([{ "a": 1 }, { "a": 2 }])));
    assert_eq!(read("array<number>", json!({ "file": "a.jsonl", "column": "a" }), lines), Ok(json!([1, 2])));
}

#[test]
fn errors_name_the_columns_and_the_rows() {
    let no = |kind: &str, reference: Value, content: &str, wanted: &str| {
        let error = read(kind, reference, content).unwrap_err();
        assert!(error.contains(wanted), "{error}");
    };
    no(
        "array<number>",
        json!({ "file": "w.csv", "column": "x" }),
        WEIGHTS,
        "no column \"x\"; it has feed, weight, note",
    );
    no("array<number>", json!({ "file": "a.csv" }), "a,b\n1,2\n", "choose one with \"column\", of a, b");
    no("array<number>", json!({ "file": "a.csv" }), "a\n1\nNA\n", "a.csv, row 2");
    no("array<number>", json!({ "file": "a.csv" }), "a,b\n1,2,3\n", "3 fields, where the header has 2");
    no(
        "array<{id=string,lat=number}>",
        json!({ "file": "a.csv" }),
        "id,lat\nx,north\n",
        "\"north\" in the column \"lat\"",
    );
    let skipped = read("array<number>", json!({ "file": "a.csv", "skip_missing": true }), "a\n1\nNA\n3\n");
    assert_eq!(skipped, Ok(json!([1, 3])));
}
