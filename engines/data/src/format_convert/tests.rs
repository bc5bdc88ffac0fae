use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn run(content: &str, from: &str, to: &str) -> Result<Value, Failure> {
    crate::FAMILY.run(112, json!({ "content": content, "from": from, "to": to }), &Context::default())
}

fn converted(content: &str, from: &str, to: &str) -> String {
    let output = run(content, from, to).unwrap_or_else(|failure| panic!("{content}: {failure:?}"));
    output["content"].as_str().unwrap().to_owned()
}

fn to_json(content: &str, from: &str) -> Value {
    serde_json::from_str(&converted(content, from, "json")).unwrap()
}

fn hex(text: &str) -> String {
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    STANDARD.encode((0..text.len()).step_by(2).map(byte).collect::<Vec<u8>>())
}

/// RFC 8949, appendix A, table 6.
#[test]
fn the_examples_of_rfc_8949() {
    for (bytes, value) in [
        ("00", json!(0)),
        ("1818", json!(24)),
        ("1b000000e8d4a51000", json!(1_000_000_000_000_u64)),
        ("1bffffffffffffffff", json!(u64::MAX)),
        ("3903e7", json!(-1000)),
        ("f93e00", json!(1.5)),
        ("fb3ff199999999999a", json!(1.1)),
        ("f4", json!(false)),
        ("f6", json!(null)),
        ("6449455446", json!("IETF")),
        ("62c3bc", json!("\u{fc}")),
        ("98190102030405060708090a0b0c0d0e0f101112131415161718181819", Value::from((1..=25).collect::<Vec<i32>>())),
        ("a26161016162820203", json!({ "a": 1, "b": [2, 3] })),
        ("9f018202039f0405ffff", json!([1, [2, 3], [4, 5]])),
        ("bf61610161629f0203ffff", json!({ "a": 1, "b": [2, 3] })),
    ] {
        assert_eq!(to_json(&hex(bytes), "cbor"), value, "{bytes}");
    }
    let back = run(r#"{"a":1,"b":[2,3]}"#, "json", "cbor").unwrap();
    assert_eq!(
        (back["content"].as_str(), back["encoding"].as_str()),
        (Some(&*hex("a26161016162820203")), Some("base64"))
    );
    for (bytes, warning) in [
        ("4401020304", "bytes became base64"),
        ("a201020304", "keys that are not text"),
        ("c249010000000000000000", "past 64 bits"),
        ("f97c00", "infinite"),
        ("c11a514b67b0", "tags and extension"),
    ] {
        let output = run(&hex(bytes), "cbor", "json").unwrap();
        assert!(output["warnings"][0].as_str().unwrap().contains(warning), "{bytes}: {output}");
    }
}

/// The MessagePack specification's first example (msgpack.org), and its formats of nil, array, bin and float 64.
#[test]
fn the_examples_of_message_pack() {
    let bytes = "82a7636f6d70616374c3a6736368656d6100";
    assert_eq!(to_json(&hex(bytes), "msgpack"), json!({ "compact": true, "schema": 0 }));
    assert_eq!(converted(r#"{"compact":true,"schema":0}"#, "json", "msgpack"), hex(bytes));
    assert_eq!(to_json(&hex("93c0cb3ff8000000000000c403010203"), "msgpack"), json!([null, 1.5, "AQID"]));
}

/// YAML 1.2.2, examples 2.3, 2.7, 2.10, 2.13 and 2.20; section 10.3.2: yes and no are text.
#[test]
fn the_examples_of_yaml() {
    let leagues = "american:\n- Boston Red Sox\n- Detroit Tigers\nnational:\n- New York Mets\n- Chicago Cubs\n";
    let expected =
        json!({ "american": ["Boston Red Sox", "Detroit Tigers"], "national": ["New York Mets", "Chicago Cubs"] });
    assert_eq!(to_json(leagues, "yaml"), expected);
    let stream =
        "# Ranking of 1998 home runs\n---\n- Mark McGwire\n- Sammy Sosa\n\n# Team ranking\n---\n- Chicago Cubs\n";
    assert_eq!(to_json(stream, "yaml"), json!([["Mark McGwire", "Sammy Sosa"], ["Chicago Cubs"]]));
    let alias =
        "hr:\n- Mark McGwire\n# Following node labeled SS\n- &SS Sammy Sosa\nrbi:\n- *SS # Subsequent\n- Ken Griffey\n";
    assert_eq!(to_json(alias, "yaml")["rbi"], json!(["Sammy Sosa", "Ken Griffey"]));
    assert_eq!(
        to_json("# ASCII Art\n--- |\n  \\//||\\/||\n  // ||  ||__\n", "yaml"),
        json!("\\//||\\/||\n// ||  ||__\n")
    );
    assert_eq!(to_json("a: yes\nb: no\nc: true\n", "yaml"), json!({ "a": "yes", "b": "no", "c": true }));
}

/// TOML 1.0.0: its first example in part, its sections on offset date-times and on arrays of tables.
#[test]
fn the_examples_of_toml() {
    let content = "title = \"TOML Example\"\n[owner]\ndob = 1979-05-27T07:32:00-08:00\n[database]\nports = [ 8000, 8001 ]\n\
                   temp_targets = { cpu = 79.5, case = 72.0 }\n[[products]]\nname = \"Hammer\"\n[[products]]\n";
    let output = run(content, "toml", "json").unwrap();
    let value: Value = serde_json::from_str(output["content"].as_str().unwrap()).unwrap();
    assert_eq!(value["owner"]["dob"], "1979-05-27T07:32:00-08:00");
    assert_eq!(value["database"]["temp_targets"], json!({ "cpu": 79.5, "case": 72.0 }));
    assert_eq!(value["products"], json!([{ "name": "Hammer" }, {}]));
    assert_eq!(output["warnings"], json!(["dates and times became text"]));
    let without = run(r#"{"a":null,"b":[1,null]}"#, "json", "toml").unwrap();
    assert_eq!(
        (&without["content"], &without["warnings"]),
        (&json!("b = [1]\n"), &json!(["TOML has no null: 2 were omitted"]))
    );
    assert!(matches!(run("[1]", "json", "toml"), Err(Failure::Invalid { .. })));
}

/// xmltodict 1.0 of the same text gives the same (`xmltodict.parse`), its README's example first.
#[test]
fn xml_is_read_as_by_xmltodict() {
    let content = "<mydocument has=\"an attribute\"><and><many>elements</many><many>more elements</many></and>\
                   <plus a=\"complex\">element as well</plus></mydocument>";
    let expected = json!({ "mydocument": {
        "@has": "an attribute",
        "and": { "many": ["elements", "more elements"] },
        "plus": { "@a": "complex", "#text": "element as well" },
    } });
    assert_eq!(to_json(content, "xml"), expected);
    let back = converted(&expected.to_string(), "json", "xml");
    assert_eq!(to_json(&back, "xml"), expected);
    assert_eq!(
        to_json("<a x='1 &lt; 2'>&amp;&#65;<![CDATA[<b>]]></a>", "xml"),
        json!({ "a": { "@x": "1 < 2", "#text": "&A<b>" } })
    );
    assert_eq!(to_json("<a><b/><c> </c></a>", "xml"), json!({ "a": { "b": null, "c": null } }));
    for bad in ["", "<a>", "<a></b>", "<a/><b/>", "<a/><a/>", "text", "<a>&unknown;</a>", "<a x=1/>"] {
        assert!(matches!(run(bad, "xml", "json"), Err(Failure::Invalid { .. })), "{bad}");
    }
}

/// RFC 4180, section 2, and Python's csv module, which writes the same with `lineterminator='\n'`.
#[test]
fn csv_keeps_non_numeric_values_as_text() {
    let rows = json!([{ "id": 1, "zip": "007", "note": "a,\"b\"" }, { "id": 2.5, "zip": "1.0", "note": null }]);
    let content = "id,zip,note\n1,007,\"a,\"\"b\"\"\"\n2.5,1.00,\n";
    let read = to_json(content, "csv");
    assert_eq!(read[0], rows[0]);
    assert_eq!((&read[1]["zip"], &read[1]["note"]), (&json!("1.00"), &json!(null)));
    assert_eq!(converted("[{\"a\":1,\"b\":[2]},{\"a\":\"x,y\"}]", "json", "csv"), "a,b\n1,[2]\n\"x,y\",\n");
    assert_eq!(converted("[[1,2],[3]]", "json", "csv"), "1,2\n3\n");
}

#[test]
fn lines_of_json_are_an_array() {
    assert_eq!(to_json("{\"a\":1}\n\n[2]\n", "ndjson"), json!([{ "a": 1 }, [2]]));
    assert_eq!(converted("[1,\"x\"]", "json", "ndjson"), "1\n\"x\"\n");
    assert!(matches!(run("{\"a\":1}\n{", "ndjson", "json"), Err(Failure::Invalid { .. })));
    let twice = run("{\"a\":1,\"a\":2}", "json", "json").unwrap();
    assert_eq!(twice["content"], "{\"a\":2}");
    assert!(twice["warnings"][0].as_str().unwrap().contains("more than once"));
}

#[test]
fn multiplying_aliases_and_endless_nesting_are_rejected() {
    let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (one, next) in ('a'..'h').zip('b'..='h') {
        bomb.push_str(&format!(
            "{next}: &{next} [*{one}, *{one}, *{one}, *{one}, *{one}, *{one}, *{one}, *{one}, *{one}]\n"
        ));
    }
    assert!(run(&bomb, "yaml", "json").is_err());
    for (content, from) in [("[".repeat(5_000), "json"), ("[".repeat(5_000), "yaml"), ("<a>".repeat(5_000), "xml")] {
        assert!(run(&content, from, "json").is_err(), "{from}");
    }
    assert!(run(&hex(&"81".repeat(5_000)), "cbor", "json").is_err());
    assert!(run(&hex(&"91".repeat(5_000)), "msgpack", "json").is_err());
    assert!(run(&format!("a = {}", "[".repeat(5_000)), "toml", "json").is_err());
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6_f64).prop_map(Value::from),
        "[ -~\n]{0,8}".prop_map(Value::from),
        prop_oneof![Just("yes"), Just("null"), Just("1e3"), Just("~"), Just("0x1f"), Just("2026-11-21")]
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[ -~]{1,5}", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_round_trip_preserves_the_value(value in document()) {
        for format in ["json", "yaml", "cbor", "msgpack"] {
            let there = converted(&value.to_string(), "json", format);
            prop_assert_eq!(&to_json(&there, format), &value, "{}: {}", format, there);
        }
    }
}

/// A conversion keeps every value; a warning names those that are secret, without their values.
#[test]
fn secrets_are_named_and_never_quoted() {
    let context = Context::default();
    let content = "db:\n  password: hunter2\n  url: postgres://app:hunter2@db/x\n  token_file: /run/secrets/t\n  api_key: ${KEY}\n";
    let input = json!({ "content": content, "from": "yaml", "to": "json" });
    let output = crate::FAMILY.run(112, input, &context).unwrap();
    assert!(output["content"].as_str().unwrap().contains("\"password\":\"hunter2\""), "{output}");
    let warnings = context.into_warnings();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].starts_with("secret: the content holds the values of db.password, db.url as"), "{warnings:?}");
    for (from, content) in [
        ("toml", "password = \"hunter2\" x"),
        ("yaml", "a: [\npassword: hunter2\n b: }"),
        ("json", "{\"password\": \"hunter2\" x}"),
        ("xml", "<a password=\"hunter2\""),
        ("ndjson", "{\"password\": \"hunter2\" x}"),
    ] {
        let input = json!({ "content": content, "from": from, "to": "csv" });
        let failure = crate::FAMILY.run(112, input, &Context::default());
        assert!(matches!(failure, Err(Failure::Invalid { .. })), "{from}: {failure:?}");
        assert!(!format!("{failure:?}").contains("hunter2"), "{failure:?}");
    }
}
