use serde_json::{Value, json};

use super::*;

fn run(document: Value, program: &str) -> Result<Value, Failure> {
    crate::FAMILY.run(108, json!({ "document": document, "program": program }), &Context::default())
}

fn results(document: Value, program: &str) -> Value {
    run(document, program).unwrap_or_else(|failure| panic!("{program}: {failure:?}"))["results"].take()
}

/// jq 1.7 manual (jqlang.github.io/jq/manual/v1.7), the examples of the sections that the programs name.
#[test]
fn the_examples_of_the_manual() {
    for (document, program, expected) in [
        (json!({ "foo": 42, "bar": "less interesting data" }), ".foo", json!([42])),
        (json!({ "notfoo": true, "alsonotfoo": false }), ".foo?", json!([null])),
        (
            json!([{ "name": "JSON", "good": true }, { "name": "XML", "good": false }]),
            ".[0]",
            json!([{ "name": "JSON", "good": true }]),
        ),
        (json!(["a", "b", "c", "d", "e"]), ".[2:4]", json!([["c", "d"]])),
        (json!([1, 2, 3]), ".[-2]", json!([2])),
        (
            json!({ "user": "stedolan", "projects": ["jq", "wikiflow"] }),
            ".user, .projects[]",
            json!(["stedolan", "jq", "wikiflow"]),
        ),
        (
            json!({ "user": "stedolan", "titles": ["JQ Primer", "More JQ"] }),
            "{user, title: .titles[]}",
            json!([{ "user": "stedolan", "title": "JQ Primer" }, { "user": "stedolan", "title": "More JQ" }]),
        ),
        (json!([[{ "a": 1 }]]), ".. | .a?", json!([1])),
        (json!({ "a": 7 }), ".a + 1", json!([8])),
        (json!({ "a": [1, 2], "b": [3, 4] }), ".a + .b", json!([[1, 2, 3, 4]])),
        (json!(["xml", "yaml", "json"]), ". - [\"xml\", \"yaml\"]", json!([["json"]])),
        (json!(5), "10 / . * 3", json!([6])),
        (
            json!(null),
            "{\"k\": {\"a\": 1, \"b\": 2}} * {\"k\": {\"a\": 0, \"c\": 3}}",
            json!([{ "k": { "a": 0, "b": 2, "c": 3 } }]),
        ),
        (json!({ "abc": 1, "abcd": 2, "Foo": 3 }), "keys", json!([["Foo", "abc", "abcd"]])),
        (json!([1, 5, 3, 0, 7]), "map(. >= 2)", json!([[false, true, true, false, true]])),
        (json!({ "a": 1, "b": 2, "c": 3 }), "map_values(. + 1)", json!([{ "a": 2, "b": 3, "c": 4 }])),
        (json!(null), "path(.a[0].b)", json!([["a", 0, "b"]])),
        (json!({ "foo": 1, "bar": 2 }), "del(.foo)", json!([{ "bar": 2 }])),
        (json!({ "a": 1, "b": 2 }), "to_entries", json!([[{ "key": "a", "value": 1 }, { "key": "b", "value": 2 }]])),
        (json!({ "a": 1, "b": 2 }), "with_entries(.key |= \"KEY_\" + .)", json!([{ "KEY_a": 1, "KEY_b": 2 }])),
        (json!([1, 5, 3, 0, 7]), "map(select(. >= 2))", json!([[5, 3, 7]])),
        (json!(["a", "b", "c"]), "add", json!(["abc"])),
        (json!([1, [2, [3]]]), "flatten", json!([[1, 2, 3]])),
        (json!([1, [2, [3]]]), "flatten(1)", json!([[1, 2, [3]]])),
        (json!([]), "flatten(1)", json!([[]])),
        (json!([1, null, "a", true]), "join(\"-\")", json!(["1--a-true"])),
        (json!([]), "join(\",\")", json!([""])),
        (json!({ "a": [1, { "b": 2 }], "c": [] }), "fromstream(tostream)", json!([{ "a": [1, { "b": 2 }], "c": [] }])),
        (json!(null), "[1 | truncate_stream([[0], 1], [[1, 0], 2], [[1, 0]], [[1]])]", json!([[[[0], 2], [[0]]]])),
        (json!(null), "[range(0; 10; 3)]", json!([[0, 3, 6, 9]])),
        (json!(null), "[range(0; -5; -1)]", json!([[0, -1, -2, -3, -4]])),
        (
            json!([{ "foo": 1, "bar": 10 }, { "foo": 3, "bar": 100 }, { "foo": 1, "bar": 1 }]),
            "group_by(.foo)",
            json!([[[{ "foo": 1, "bar": 10 }, { "foo": 1, "bar": 1 }], [{ "foo": 3, "bar": 100 }]]]),
        ),
        (json!([1, 2, 5, 3, 5, 3, 1, 3]), "unique", json!([[1, 2, 3, 5]])),
        (json!(["foobar", "foobaz", "blarp"]), "contains([\"baz\", \"bar\"])", json!([true])),
        (json!(1), "[.[]?]", json!([[]])),
        (json!(1), "[limit(5; repeat(. * 2))]", json!([[2, 2, 2, 2, 2]])),
        (
            json!([[4, 1, 7], [8, 5, 2], [3, 6, 9]]),
            "walk(if type == \"array\" then sort else . end)",
            json!([[[1, 4, 7], [2, 5, 8], [3, 6, 9]]]),
        ),
        (json!("a,b, cd, efg, hijk"), "indices(\", \")", json!([[3, 7, 12]])),
        (json!("test"), "test(\"TE\"; \"i\")", json!([true])),
        (json!("xyz-14"), "capture(\"(?<a>[a-z]+)-(?<n>[0-9]+)\")", json!([{ "a": "xyz", "n": "14" }])),
        (json!([1, 2, 3, 4]), "reduce .[] as $n (0; . + $n)", json!([10])),
        (json!([1, 2, 3]), "[foreach .[] as $n (0; . + $n)]", json!([[1, 3, 6]])),
        (json!([1, 2, 3, 4]), "def f: . * 2; map(f)", json!([[2, 4, 6, 8]])),
        (json!([1, 5, 3, 0, 7]), "(.[] | select(. >= 2)) |= empty", json!([[1, 0]])),
        (
            json!({ "a": [{ "b": 1 }] }),
            "[tostream]",
            json!([[[["a", 0, "b"], 1], [["a", 0, "b"]], [["a", 0]], [["a"]]]]),
        ),
        (json!([1, "a\tb", null, true]), "@tsv", json!(["1\ta\\tb\t\ttrue"])),
        (json!([{ "id": 1 }, { "id": 2 }]), "INDEX(.id)", json!([{ "1": { "id": 1 }, "2": { "id": 2 } }])),
        (json!({ "a": [1, 2] }), ".a[] += 1", json!([{ "a": [2, 3] }])),
        (json!("The input was \\(.)"), "length", json!([18])),
        (
            json!(42),
            "\"The input was \\(.), which is one less than \\(. + 1)\"",
            json!(["The input was 42, which is one less than 43"]),
        ),
        (json!([1, "foo"]), "@csv", json!(["1,\"foo\""])),
        (json!({ "a": "x" }), "[.[] | tostring, ascii_upcase]", json!([["x", "X"]])),
        (json!("2015-03-05T23:51:47Z"), "fromdate", json!([1_425_599_507])),
        (json!([3, 1]), "try error(\"x\") catch .", json!(["x"])),
        (json!([[1, 2], [3, 4]]), ".[] as [$a, $b] | {a: $a, b: $b}", json!([{ "a": 1, "b": 2 }, { "a": 3, "b": 4 }])),
        (json!(0), "[., 1] | until(.[0] >= 4; [.[0] + 1, .[1] * 2]) | .[1]", json!([16])),
    ] {
        assert_eq!(results(document, program), expected, "{program}");
    }
}

#[test]
fn variables_are_there_by_name() {
    let input = json!({ "document": [1, 5, 9], "program": "map(select(. > $least)) | {n: length, $tag}", "variables": { "least": 3, "tag": "t" } });
    let output = crate::FAMILY.run(108, input, &Context::default()).unwrap();
    assert_eq!((&output["results"], &output["count"]), (&json!([{ "n": 2, "tag": "t" }]), &json!(1)));
    let bad = json!({ "document": 1, "program": ".", "variables": { "a b": 1 } });
    assert!(matches!(crate::FAMILY.run(108, bad, &Context::default()), Err(Failure::Invalid { .. })));
}

#[test]
fn environment_and_files_are_not_accessible() {
    for program in [
        "env",
        "$ENV",
        "now",
        "input",
        "inputs",
        "debug",
        "stderr",
        "halt",
        "halt_error",
        "localtime",
        "input_filename",
        "import \"a\" as a; .",
        "include \"a\"; .",
        "nothing_such",
        "$x",
        ".a b",
        "{",
        "1 +",
        "",
        "\"a",
        ". as [",
    ] {
        let refused = run(json!(1), program);
        assert!(matches!(refused, Err(Failure::Invalid { .. })), "{program}: {refused:?}");
    }
}

#[test]
fn errors_of_the_program_are_invalid_input() {
    for program in
        [".a.b", "error(\"no\")", "{} + 1", "1 | keys", "\"x\" | tonumber", "[1] | implode(1)", "error(null)"]
    {
        let refused = run(json!([1]), program);
        assert!(matches!(refused, Err(Failure::Invalid { .. })), "{program}: {refused:?}");
    }
}

#[test]
fn endless_runs_and_growth_are_limited() {
    for program in [
        "def f: f; f",
        "def f: 1 + f; f",
        "def f(n): if n > 90000 then 0 else 1 + f(n + 1) end; f(0)",
        "def f: [f]; f",
        "[repeat(1)]",
        "last(range(1e18))",
        "try last(range(1e18)) catch .",
        "reduce range(1e18) as $x (0; . + $x)",
        "[0 | recurse(. + 1)]",
        "reduce range(60) as $i (\"x\"; . + .)",
        "reduce range(60) as $i ([1]; . + .)",
        "reduce range(60) as $i (1; [., .])",
        "reduce range(60) as $i (1; {a: ., b: .}) | tojson",
        "reduce range(100000) as $i (1; [.])",
        "reduce range(100000) as $i ({}; .a = .)",
        "reduce range(100) as $i (10; . * .)",
        "\"x\" * 1e12",
        "(\"x\" * 1000000) as $x | [range(1000) | $x + \"y\"] | join(\"\")",
        "[limit(1e12; repeat(\"x\"))] | length",
        ".[] as $a | .[] as $b | .[] as $c | .[] as $d | .[] as $e | .[] as $f | .[] as $g | empty",
        "def f: try f catch f; f",
        "def f: (f, f)?; f",
        "until(false; .)",
        "[while(true; .)]",
        "[range(200000)] as $a | $a | indices($a)",
    ] {
        let document = json!([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        let input = Input { document, program: program.to_owned(), variables: BTreeMap::new() };
        let fallen = || Failure::internal("it panics");
        let refused = on_stack(&Context::default(), STACK, fallen, || super::execute(&input, 100_000));
        let refused = refused.map(|(results, _)| results.len());
        assert!(matches!(refused, Err(Failure::TooLarge { .. })), "{program}: {refused:?}");
    }
    assert!(run(json!("[".repeat(100_000)), "fromjson").is_err());
    assert!(run(json!(1), &"(".repeat(5_000)).is_err());
    assert!(run(json!(1), &"-".repeat(5_000)).is_err());
}

#[test]
fn a_long_loop_does_not_grow_the_stack() {
    assert_eq!(results(json!(0), "until(. >= 20000; . + 1)"), json!([20_000]));
    assert_eq!(
        results(json!(0), "[range(5000)] | map({k: (. % 7), v: .}) | group_by(.k) | map(length) | add"),
        json!([5_000])
    );
    let counts = "reduce .[] as $x ({}; .[$x] += 1)";
    let words: Vec<String> = (0..5_000).map(|at| format!("k{}", at % 100)).collect();
    assert_eq!(results(json!(words), counts)[0]["k7"], 50);
}

#[test]
fn omitted_results_are_reported() {
    let context = Context::default();
    let output = crate::FAMILY.run(108, json!({ "document": 1, "program": "range(20000)" }), &context).unwrap();
    assert_eq!(output["count"], 10_000);
    assert_eq!(context.into_warnings().len(), 1);
}

/// The rows of a table without duplicates, each completed from those that it replaces, and with normalised numbers: from
/// the clusters of q113 and the contacts of q120, which have indexes and ids only.
#[test]
fn rows_are_cleaned_by_what_other_engines_found() {
    let program = r#"
        . as {$rows, $clusters, $contacts}
        | ([$clusters[][1:][]]) as $gone
        | [ range($rows | length) as $at
            | select([$gone[] | select(. == $at)] | length == 0)
            | ([$clusters[] | select(.[0] == $at) | .[]]) as $group
            | reduce (if ($group | length) == 0 then [$at] else $group end)[] as $member ({};
                reduce ($rows[$member] | to_entries[]) as {$key, $value} (.;
                    if (.[$key] // "") == "" then .[$key] = $value else . end))
            | . as $row
            | ([$contacts[] | select(.id == $row.id and .phone_valid)] | first) as $contact
            | if $contact then .phone = $contact.e164 else . end ]
    "#;
    let document = json!({
        "rows": [
            { "id": "1", "name": "Ann Lee", "phone": "030 123456", "city": "" },
            { "id": "2", "name": "Bob Ray", "phone": "12", "city": "Bonn" },
            { "id": "3", "name": "Lee, Ann", "phone": "", "city": "Berlin" },
        ],
        "clusters": [[0, 2]],
        "contacts": [
            { "id": "1", "e164": "+4930123456", "phone_valid": true },
            { "id": "2", "e164": "", "phone_valid": false },
        ],
    });
    assert_eq!(
        results(document, program),
        json!([[
            { "id": "1", "name": "Ann Lee", "phone": "+4930123456", "city": "Berlin" },
            { "id": "2", "name": "Bob Ray", "phone": "12", "city": "Bonn" },
        ]])
    );
}
