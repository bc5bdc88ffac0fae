use serde_json::{Value, json};

use super::*;

fn run(document: &Value, query: &str, language: &str) -> Result<Value, Failure> {
    crate::FAMILY.run(107, json!({ "document": document, "query": query, "language": language }), &Context::default())
}

fn values(document: &Value, query: &str, language: &str) -> Value {
    run(document, query, language).unwrap_or_else(|failure| panic!("{query}: {failure:?}"))["values"].take()
}

/// RFC 9535, section 1.5, figure 1.
fn store() -> Value {
    json!({ "store": {
        "book": [
            { "category": "reference", "author": "Nigel Rees", "title": "Sayings of the Century", "price": 8.95 },
            { "category": "fiction", "author": "Evelyn Waugh", "title": "Sword of Honour", "price": 12.99 },
            { "category": "fiction", "author": "Herman Melville", "title": "Moby Dick", "isbn": "0-553-21311-3",
              "price": 8.99 },
            { "category": "fiction", "author": "J. R. R. Tolkien", "title": "The Lord of the Rings",
              "isbn": "0-395-19395-8", "price": 22.99 },
        ],
        "bicycle": { "color": "red", "price": 399 },
    } })
}

/// RFC 9535, section 1.5, table 2.
#[test]
fn queries_match_rfc_9535() {
    let authors = json!(["Nigel Rees", "Evelyn Waugh", "Herman Melville", "J. R. R. Tolkien"]);
    assert_eq!(values(&store(), "$.store.book[*].author", "jsonpath"), authors);
    assert_eq!(values(&store(), "$..author", "jsonpath"), authors);
    assert_eq!(values(&store(), "$..book[2].author", "jsonpath"), json!(["Herman Melville"]));
    assert_eq!(values(&store(), "$..book[2].publisher", "jsonpath"), json!([]));
    assert_eq!(values(&store(), "$..book[-1].title", "jsonpath"), json!(["The Lord of the Rings"]));
    let first = json!(["Sayings of the Century", "Sword of Honour"]);
    assert_eq!(values(&store(), "$..book[0,1].title", "jsonpath"), first);
    assert_eq!(values(&store(), "$..book[:2].title", "jsonpath"), first);
    let cheap = json!(["Sayings of the Century", "Moby Dick"]);
    assert_eq!(values(&store(), "$..book[?@.price<10].title", "jsonpath"), cheap);
    assert_eq!(values(&store(), "$..book[?@.isbn].price", "jsonpath"), json!([8.99, 22.99]));
    assert_eq!(run(&store(), "$..*", "jsonpath").unwrap()["count"], 27);
}

/// RFC 9535, section 2.7.1, table 20: normalized paths.
#[test]
fn locations_are_normalized_paths() {
    let document = json!({ "a": 1, "b": [1, 2], "\u{b}": 3, "'": 4 });
    for (query, location) in
        [("$.a", "$['a']"), ("$.b[1]", "$['b'][1]"), ("$.b[-1]", "$['b'][1]"), ("$[\"\\u000B\"]", "$['\\u000b']")]
    {
        let output = run(&document, query, "jsonpath").unwrap();
        assert_eq!(output["locations"], json!([location]), "{query}");
    }
}

/// JSONPath Compliance Test Suite, functions/match.json, functions/count.json and basic.json.
#[test]
fn functions_and_malformed_queries_match_the_compliance_suite() {
    let document = json!([{ "a": "ab" }, { "a": "b" }, { "a": [1, 2, 3] }]);
    assert_eq!(values(&document, "$[?match(@.a, 'a.*')]", "jsonpath"), json!([{ "a": "ab" }]));
    assert_eq!(values(&document, "$[?count(@.a[*])>2]", "jsonpath"), json!([{ "a": [1, 2, 3] }]));
    for query in ["", " $", "$ ", "$.", "$..", "$[01]", "$.1", "a", "$[?@.a==]", "$[?count(1)>2]"] {
        assert!(matches!(run(&document, query, "jsonpath"), Err(Failure::Invalid { .. })), "{query}");
    }
}

#[test]
fn a_query_with_too_many_nested_scans_is_rejected() {
    let mut deep = json!({ "a": 1 });
    (0..60).for_each(|_| deep = json!({ "a": deep.take(), "b": [1, 2, 3] }));
    for query in ["$..*..*..*..*..*", "$[?$..*[?$..*]]", "$..[*,*,*,*][*,*,*,*][*,*,*,*][*,*,*,*][*,*,*,*][*,*,*,*]"] {
        let refused = run(&deep, query, "jsonpath");
        assert!(matches!(refused, Err(Failure::TooLarge { .. })), "{query}: {refused:?}");
    }
    let nested = format!("$[?{}@.a{}]", "(".repeat(11), ")".repeat(11));
    assert!(run(&deep, &nested, "jsonpath").is_ok());
    let deeper = format!("$[?{}@.a{}]", "(".repeat(12), ")".repeat(12));
    assert!(matches!(run(&deep, &deeper, "jsonpath"), Err(Failure::Invalid { .. })));
}

/// JMESPath's tutorial (jmespath.org/tutorial.html) and compliance tests (functions.json, multiselect.json).
#[test]
fn expressions_of_the_jmespath_tutorial() {
    let people = json!({ "people": [
        { "name": "b", "age": 30, "state": { "name": "up" } },
        { "name": "a", "age": 50, "state": { "name": "down" } },
        { "name": "c", "age": 40, "state": { "name": "up" } },
    ] });
    assert_eq!(values(&people, "people[?age > `35`].name", "jmespath"), json!(["a", "c"]));
    let pairs = json!([{ "n": "b", "s": "up" }, { "n": "a", "s": "down" }]);
    assert_eq!(values(&people, "people[:2].{n: name, s: state.name}", "jmespath"), pairs);
    assert_eq!(values(&people, "max_by(people, &age).name", "jmespath"), json!(["a"]));
    assert_eq!(values(&people, "sort_by(people, &age)[*].name", "jmespath"), json!(["b", "c", "a"]));
    assert_eq!(values(&people, "people[*].name | [0]", "jmespath"), json!(["b"]));
    assert_eq!(values(&people, "join(', ', people[].name)", "jmespath"), json!(["b, a, c"]));
    assert_eq!(values(&people, "[length(people), 'x']", "jmespath"), json!([[3, "x"]]));
    assert_eq!(values(&people, "nobody.here", "jmespath"), json!([]));
    assert_eq!(values(&json!([0, 1, 2, 3]), "[1::2147483647]", "jmespath"), json!([1]));
    for query in ["people[", "length(`1`)", "nothing(@)", "[::0]", ""] {
        assert!(matches!(run(&json!([1]), query, "jmespath"), Err(Failure::Invalid { .. })), "{query}");
    }
}

#[test]
fn values_that_double_are_limited() {
    for query in [
        format!("@{}", " | [@,@]".repeat(60)),
        format!("@{}", " | [@,@][]".repeat(60)),
        format!("{}@", "{a: @} | ".repeat(150)),
        format!("to_string(@){}", " | join(@, ['a', @, 'b', @])".repeat(40)),
    ] {
        let refused = run(&json!([1, 2]), &query, "jmespath");
        assert!(matches!(refused, Err(Failure::TooLarge { .. })), "{query}: {refused:?}");
    }
}

/// RFC 6901, section 5.
#[test]
fn the_pointers_of_rfc_6901() {
    let document = json!({
        "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8,
    });
    let cases = [
        ("", document.clone()),
        ("/foo", json!(["bar", "baz"])),
        ("/foo/0", json!("bar")),
        ("/", json!(0)),
        ("/a~1b", json!(1)),
        ("/c%d", json!(2)),
        ("/e^f", json!(3)),
        ("/g|h", json!(4)),
        ("/i\\j", json!(5)),
        ("/k\"l", json!(6)),
        ("/ ", json!(7)),
        ("/m~0n", json!(8)),
    ];
    for (pointer, value) in cases {
        let output = run(&document, pointer, "pointer").unwrap();
        assert_eq!((&output["values"], &output["locations"]), (&json!([value]), &json!([pointer])));
    }
    assert_eq!(run(&document, "/foo/2", "pointer").unwrap()["count"], 0);
    assert_eq!(run(&document, "/foo/00", "pointer").unwrap()["count"], 0);
    for bad in ["foo", "/~", "/a~2", "#/foo"] {
        assert!(matches!(run(&document, bad, "pointer"), Err(Failure::Invalid { .. })), "{bad}");
    }
}
