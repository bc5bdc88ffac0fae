use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn run(input: Value) -> Result<Value, Failure> {
    crate::FAMILY.run(111, input, &Context::default())
}

fn patched(before: Value, patch: Value) -> Value {
    run(json!({ "before": before, "patch": patch })).unwrap()["result"].take()
}

/// RFC 6902, appendix A: A.1 to A.8, A.10, A.11, A.14 and A.16.
#[test]
fn patches_match_rfc_6902() {
    for (before, patch, after) in [
        (
            json!({ "foo": "bar" }),
            json!([{ "op": "add", "path": "/baz", "value": "qux" }]),
            json!({ "baz": "qux", "foo": "bar" }),
        ),
        (
            json!({ "foo": ["bar", "baz"] }),
            json!([{ "op": "add", "path": "/foo/1", "value": "qux" }]),
            json!({ "foo": ["bar", "qux", "baz"] }),
        ),
        (json!({ "baz": "qux", "foo": "bar" }), json!([{ "op": "remove", "path": "/baz" }]), json!({ "foo": "bar" })),
        (
            json!({ "foo": ["bar", "qux", "baz"] }),
            json!([{ "op": "remove", "path": "/foo/1" }]),
            json!({ "foo": ["bar", "baz"] }),
        ),
        (
            json!({ "baz": "qux", "foo": "bar" }),
            json!([{ "op": "replace", "path": "/baz", "value": "boo" }]),
            json!({ "baz": "boo", "foo": "bar" }),
        ),
        (
            json!({ "foo": { "bar": "baz", "waldo": "fred" }, "qux": { "corge": "grault" } }),
            json!([{ "op": "move", "from": "/foo/waldo", "path": "/qux/thud" }]),
            json!({ "foo": { "bar": "baz" }, "qux": { "corge": "grault", "thud": "fred" } }),
        ),
        (
            json!({ "foo": ["all", "grass", "cows", "eat"] }),
            json!([{ "op": "move", "from": "/foo/1", "path": "/foo/3" }]),
            json!({ "foo": ["all", "cows", "eat", "grass"] }),
        ),
        (
            json!({ "baz": "qux", "foo": ["a", 2, "c"] }),
            json!([{ "op": "test", "path": "/baz", "value": "qux" }, { "op": "test", "path": "/foo/1", "value": 2 }]),
            json!({ "baz": "qux", "foo": ["a", 2, "c"] }),
        ),
        (
            json!({ "foo": "bar" }),
            json!([{ "op": "add", "path": "/child", "value": { "grandchild": {} } }]),
            json!({ "foo": "bar", "child": { "grandchild": {} } }),
        ),
        (
            json!({ "foo": "bar" }),
            json!([{ "op": "add", "path": "/baz", "value": "qux", "xyz": 123 }]),
            json!({ "foo": "bar", "baz": "qux" }),
        ),
        (
            json!({ "/": 9, "~1": 10 }),
            json!([{ "op": "test", "path": "/~01", "value": 10 }]),
            json!({ "/": 9, "~1": 10 }),
        ),
        (
            json!({ "foo": ["bar"] }),
            json!([{ "op": "add", "path": "/foo/-", "value": ["abc", "def"] }]),
            json!({ "foo": ["bar", ["abc", "def"]] }),
        ),
    ] {
        assert_eq!(patched(before, patch), after);
    }
}

/// RFC 6902, appendix A.9, A.12 and A.15; section 4.4 forbids a move into itself.
#[test]
fn rfc_6902_conflicts_are_reported_with_the_operation() {
    for (before, operation) in [
        (json!({ "baz": "qux" }), json!({ "op": "test", "path": "/baz", "value": "bar" })),
        (json!({ "foo": "bar" }), json!({ "op": "add", "path": "/baz/bat", "value": "qux" })),
        (json!({ "/": 9, "~1": 10 }), json!({ "op": "test", "path": "/~01", "value": "10" })),
        (json!({ "a": { "b": 1 } }), json!({ "op": "move", "from": "/a", "path": "/a/b/c" })),
        (json!({}), json!({ "op": "jump", "path": "/a" })),
        (json!({}), json!({ "op": "add", "path": "a", "value": 1 })),
        (json!([]), json!(["add", "/a"])),
    ] {
        let good = json!({ "op": "test", "path": "", "value": before });
        match run(json!({ "before": before, "patch": [good, operation] })) {
            Err(Failure::Invalid { problems }) => assert_eq!(problems[0].loc, ["patch", "1"], "{operation}"),
            other => panic!("{operation}: {other:?}"),
        }
    }
}

/// RFC 7396, appendix A, all of its cases but those whose patch is null, which here is the same as an absent patch.
#[test]
fn merge_patches_match_rfc_7396() {
    for (before, patch, after) in [
        (json!({ "a": "b" }), json!({ "a": "c" }), json!({ "a": "c" })),
        (json!({ "a": "b" }), json!({ "b": "c" }), json!({ "a": "b", "b": "c" })),
        (json!({ "a": "b" }), json!({ "a": null }), json!({})),
        (json!({ "a": "b", "b": "c" }), json!({ "a": null }), json!({ "b": "c" })),
        (json!({ "a": ["b"] }), json!({ "a": "c" }), json!({ "a": "c" })),
        (json!({ "a": "c" }), json!({ "a": ["b"] }), json!({ "a": ["b"] })),
        (json!({ "a": { "b": "c" } }), json!({ "a": { "b": "d", "c": null } }), json!({ "a": { "b": "d" } })),
        (json!({ "a": [{ "b": "c" }] }), json!({ "a": [1] }), json!({ "a": [1] })),
        (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
        (json!({ "a": "b" }), json!(["c"]), json!(["c"])),
        (json!({ "a": "foo" }), json!("bar"), json!("bar")),
        (json!({ "e": null }), json!({ "a": 1 }), json!({ "e": null, "a": 1 })),
        (json!([1, 2]), json!({ "a": "b", "c": null }), json!({ "a": "b" })),
        (json!({}), json!({ "a": { "bb": { "ccc": null } } }), json!({ "a": { "bb": {} } })),
    ] {
        let output = run(json!({ "before": before, "patch": patch, "kind": "merge-patch" })).unwrap();
        assert_eq!(output["result"], after, "{patch}");
    }
}

#[test]
fn a_diff_of_arrays_keeps_common_items() {
    let output = run(json!({ "before": [1, 2, 3, 4, 5], "after": [1, 3, 9, 5, 6] })).unwrap();
    let patch = json!([
        { "op": "remove", "path": "/1" },
        { "op": "replace", "path": "/2", "value": 9 },
        { "op": "add", "path": "/4", "value": 6 },
    ]);
    assert_eq!(output["patch"], patch);
    assert_eq!(output["identical"], false);
}

#[test]
fn a_patch_is_compared_with_the_expected_document() {
    let context = Context::default();
    let input =
        json!({ "before": { "a": 1 }, "after": { "a": 3 }, "patch": [{ "op": "replace", "path": "/a", "value": 2 }] });
    assert_eq!(crate::FAMILY.run(111, input, &context).unwrap()["identical"], false);
    assert_eq!(context.into_warnings(), ["the result is not what was expected: replace at \"/a\""]);
    assert!(matches!(run(json!({ "before": 1 })), Err(Failure::Invalid { .. })));
}

#[test]
fn copies_into_itself_do_not_grow_without_bound() {
    let double = json!({ "op": "copy", "from": "", "path": "/-" });
    let refused = run(json!({ "before": [1, 2], "patch": vec![double; 60] }));
    assert!(matches!(refused, Err(Failure::TooLarge { .. })), "{refused:?}");
    let path = "/a".repeat(120);
    let deep = json!([{ "op": "add", "path": path, "value": [[[[[[[[[[]]]]]]]]]] }]);
    assert!(matches!(run(json!({ "before": {}, "patch": deep })), Err(Failure::TooLarge { .. })));
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (0..4).prop_map(Value::from),
        "[ab/~]{0,2}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[ab/~]{0,2}", inner, 0..5).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn has_null_member(value: &Value) -> bool {
    match value {
        Value::Object(object) => object.values().any(|value| value.is_null() || has_null_member(value)),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_diff_applied_to_before_gives_after(before in document(), after in document()) {
        prop_assume!(!after.is_null());
        let output = run(json!({ "before": before, "after": after })).unwrap();
        prop_assert_eq!(&output["identical"], &json!(before == after));
        prop_assert_eq!(patched(before.clone(), output["patch"].clone()), after.clone());
        let merge = run(json!({ "before": before, "after": after, "kind": "merge-patch" })).unwrap();
        if !has_null_member(&after) {
            prop_assert_eq!(&merge["result"], &after);
        }
    }
}
