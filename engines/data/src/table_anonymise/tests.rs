use serde_json::{Value, json};

use super::*;

fn run(input: Value) -> Value {
    crate::FAMILY.run(119, input, &Context::default()).unwrap()
}

/// Li, Li, Venkatasubramanian, t-Closeness (ICDE 2007), section 5.1: of the salaries 3k to 11k, the class {3k, 4k, 5k}
/// is 0.375 from the whole; pyCANON 1.3: l-diversity 3, t-closeness of the diseases 0.4444.
#[test]
fn the_table_of_the_t_closeness_paper() {
    let diseases = [
        "gastric ulcer",
        "gastritis",
        "stomach cancer",
        "gastritis",
        "flu",
        "bronchitis",
        "bronchitis",
        "pneumonia",
        "stomach cancer",
    ];
    let salaries = [3, 4, 5, 6, 11, 8, 7, 9, 10];
    let rows: Vec<Value> = (0..9)
        .map(|row| {
            let zip = ["476**", "4790*", "476xx"][row / 3];
            json!({ "zip": zip, "salary": salaries[row], "disease": diseases[row] })
        })
        .collect();
    let of =
        |sensitive: &str| run(json!({ "rows": rows, "quasi_identifiers": ["zip"], "sensitive": [sensitive], "k": 3 }));
    let near = |found: &Value, expected: f64| assert!((found.as_f64().unwrap() - expected).abs() < 1e-9, "{found}");
    let (salary, disease) = (of("salary"), of("disease"));
    assert_eq!((&salary["k"], &salary["l_diversity"]), (&json!(3), &json!(3)));
    near(&salary["t_closeness"], 0.375);
    near(&salary["information_loss"], 0.0);
    near(&salary["prosecutor_risk"], 1.0 / 3.0);
    assert_eq!(disease["l_diversity"], 3);
    near(&disease["t_closeness"], 4.0 / 9.0);
}

/// pyCANON 1.3: `l_diversity` 2, `t_closeness` 0.3 of the letters and 0.2 of the numbers.
#[test]
fn measures_are_those_of_pycanon() {
    let rows = json!([
        { "q": "a", "s": "x", "n": 1 }, { "q": "a", "s": "y", "n": 5 }, { "q": "b", "s": "x", "n": 2 },
        { "q": "b", "s": "x", "n": 2 }, { "q": "b", "s": "z", "n": 9 },
    ]);
    for (sensitive, closeness) in [("s", 0.3), ("n", 0.2)] {
        let output = run(json!({ "rows": rows, "quasi_identifiers": ["q"], "sensitive": [sensitive], "k": 2 }));
        assert_eq!((&output["k"], &output["l_diversity"]), (&json!(2), &json!(2)));
        assert!((output["t_closeness"].as_f64().unwrap() - closeness).abs() < 1e-9, "{output}");
    }
}

/// Eight numbers are halved twice: pairs, each a seventh of the range.
#[test]
fn numbers_are_split_at_the_median() {
    let rows: Vec<Value> = (1..=8).map(|age| json!({ "age": age, "name": "x" })).collect();
    let output = run(json!({ "rows": rows, "quasi_identifiers": ["age"], "direct_identifiers": ["name"], "k": 2 }));
    assert_eq!(output["rows"][0], json!({ "age": "[1, 2]" }));
    assert_eq!(output["rows"][7], json!({ "age": "[7, 8]" }));
    assert!((output["information_loss"].as_f64().unwrap() - 1.0 / 7.0).abs() < 1e-12);
    assert!(output.get("l_diversity").is_none());
}

#[test]
fn categories_are_generalised_by_their_hierarchy() {
    let rows: Vec<Value> = ["Oslo", "Bergen", "Lund", "Lund"].iter().map(|city| json!({ "city": city })).collect();
    for hierarchy in [
        json!({ "Oslo": ["Norway", "Europe"], "Bergen": ["Norway", "Europe"], "Lund": ["Sweden", "Europe"] }),
        json!({ "Oslo": "Norway", "Bergen": "Norway", "Lund": "Sweden", "Norway": "Europe", "Sweden": "Europe" }),
    ] {
        let output = run(json!({
            "rows": rows, "quasi_identifiers": ["city"], "hierarchies": { "city": hierarchy }, "k": 2,
        }));
        let cities: Vec<&Value> = output["rows"].as_array().unwrap().iter().map(|row| &row["city"]).collect();
        assert_eq!(cities, ["Norway", "Norway", "Lund", "Lund"]);
        // Two of four rows lose one of two steps between three leaves.
        assert_eq!(output["information_loss"], 0.25);
    }
}

#[test]
fn an_isolated_row_is_suppressed_where_allowed() {
    let rows: Vec<Value> = ["Oslo", "Lund", "Oslo", "Oslo"].iter().map(|city| json!({ "city": city })).collect();
    let with = |limit: f64| {
        run(json!({
            "rows": rows, "quasi_identifiers": ["city"], "hierarchies": { "city": {} }, "k": 3,
            "suppression_limit": limit,
        }))
    };
    assert_eq!((&with(0.25)["suppressed"], &with(0.25)["rows"][0]), (&json!(1), &json!({ "city": "Oslo" })));
    assert_eq!((&with(0.2)["suppressed"], &with(0.2)["rows"][0]), (&json!(0), &json!({ "city": "*" })));
}

#[test]
fn tables_that_cannot_be_anonymised_are_rejected() {
    for input in [
        json!({ "rows": [{ "a": 1 }], "quasi_identifiers": ["a"], "k": 2 }),
        json!({ "rows": [{ "a": 1 }], "quasi_identifiers": [] }),
        json!({ "rows": [1], "quasi_identifiers": ["a"] }),
        json!({ "rows": [{ "a": 1 }], "quasi_identifiers": ["a"], "sensitive": ["a"] }),
        json!({ "rows": [{ "a": "x" }], "quasi_identifiers": ["a"], "hierarchies": { "a": { "x": "y", "y": "x" } } }),
    ] {
        assert!(
            matches!(crate::FAMILY.run(119, input.clone(), &Context::default()), Err(Failure::Invalid { .. })),
            "{input}"
        );
    }
}

mod property {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whatever the table, each combination of what is left of the quasi-identifiers is at least k rows, and no
        /// more rows are gone than may be.
        #[test]
        fn every_class_has_k_rows(
            people in prop::collection::vec((0_u8..90, 0_usize..4, prop::option::of(0_u8..3)), 6..60),
            k in 2_usize..6,
            limit in 0.0_f64..0.3,
        ) {
            let city = |index: usize| ["Oslo", "Bergen", "Lund", "Kiel"][index];
            let rows: Vec<Value> = people
                .iter()
                .map(|(age, at, sex)| json!({ "age": age, "city": city(*at), "sex": sex }))
                .collect();
            let output = run(json!({
                "rows": rows, "quasi_identifiers": ["age", "city", "sex"], "k": k, "suppression_limit": limit,
                "hierarchies": { "city": { "Oslo": "Norway", "Bergen": "Norway" } },
            }));
            let mut classes: BTreeMap<String, usize> = BTreeMap::new();
            for row in output["rows"].as_array().unwrap() {
                *classes.entry(row.to_string()).or_default() += 1;
            }
            prop_assert!(classes.values().all(|size| *size >= k));
            let suppressed = output["suppressed"].as_u64().unwrap() as usize;
            prop_assert_eq!(suppressed + output["rows"].as_array().unwrap().len(), rows.len());
            prop_assert!(suppressed as f64 <= limit * rows.len() as f64);
        }
    }
}
