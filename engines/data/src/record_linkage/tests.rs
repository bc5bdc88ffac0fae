use serde_json::{Value, json};

use super::*;

fn run(input: Value) -> Value {
    crate::FAMILY.run(113, input, &Context::default()).unwrap()
}

fn alike(kind: &str, one: &str, two: &str) -> f64 {
    let output = run(json!({
        "left": [{ "x": one }], "right": [{ "x": two }], "fields": [{ "name": "x", "kind": kind }], "threshold": 0,
    }));
    output["matches"][0]["fields"]["x"].as_f64().unwrap()
}

/// Winkler 1990 and his later reports: MARTHA/MARHTA 0.9611, DIXON/DICKSONX 0.8133, DWAYNE/DUANE 0.84; jellyfish 1.3
/// gives the same.
#[test]
fn names_are_compared_as_winkler_does() {
    for (one, two, expected) in [
        ("MARTHA", "MARHTA", 0.9611111111111111),
        ("DIXON", "DICKSONX", 0.8133333333333332),
        ("DWAYNE", "DUANE", 0.84),
        ("Jones, Martha", "martha  JONES", 1.0),
    ] {
        assert!((alike("name", one, two) - expected).abs() < 1e-9, "{one} {two}");
    }
}

/// Levenshtein 1966: kitten and sitting are three apart, of seven letters.
#[test]
fn the_other_kinds_by_hand() {
    for (kind, one, two, expected) in [
        ("text", "kitten", "sitting", 4.0 / 7.0),
        ("exact", "A-1", "a 1", 1.0),
        ("exact", "a", "b", 0.0),
        ("date", "1980-03-04", "19800304", 1.0),
        ("date", "1980-03-04", "1980-04-03", 0.9),
        ("date", "1980-03-04", "1980-03-05", 0.9),
        ("date", "1980-03-04", "1980-12-31", 0.4),
        ("number", "90", "100", 0.9),
        ("phone", "+44 20 7031 3000", "(020) 7031-3000", 1.0),
    ] {
        assert!((alike(kind, one, two) - expected).abs() < 1e-9, "{kind} {one} {two}");
    }
}

/// FEBRL data set 1 (Christen 2008): rec-0 to rec-22 by twos, each original before its duplicate: given name, surname,
/// suburb, postcode, date of birth, social security number.
const FEBRL: [&str; 24] = [
    "flynn|rokobaro|lawrence|2227|19720812|1451137",
    "thomas|rokobaro|lawrence|2272||1451137",
    "alexandra|britten|montmorency|3226|19581231|6358573",
    "alexandra|britten|montmorency|3226|19581231|6358553",
    "archie|wilkins|bethania|6415|19030316|7761516",
    "archie|wilikns|bethania|6415|19030316|7761516",
    "|trevorrow|mount ommaney|2281|19530313|4811642",
    "|trevorrow|mount immaney|2281|19530313|4811642",
    "james|jesser|st clair|4215|19120111|5961736",
    "james|jeslser|st clair|4215|19120111|5961736",
    "kayla|harrington|coolaroo|3465|19150612|9004242",
    "kayla|harrington|coolaroo|3465|19150612|9004242",
    "kirra|menzies|orford|2615|19940915|9654146",
    "kirra|menzies|orford|2615|19940915|9654146",
    "liam|wilde|bray park|2612|19570628|7989054",
    "liam|wilde|bray park|2621|19570628|7989054",
    "adam|perl|glengarry|2155|19330624|7388490",
    "adam|perl|glengarry|2155|19330624|7388490",
    "samuel|campbell|north beach|2617|19430607|5538479",
    "matthew|campbell|north beach|2617|19430607|5538479",
    "samuel||brighton|3199|19870903|8943942",
    "samuel||brighton|3199|19870903|8943942",
    "marianne|rees|mansfield|3644|19770628|4235561",
    "rees|maribanne|mansfield|3644|19770628|4235561",
];

fn people(of: &[&str]) -> Vec<Value> {
    let columns = ["given", "surname", "suburb", "postcode", "born", "number"];
    let person = |line: &&str| columns.iter().zip(line.split('|')).map(|(name, part)| (*name, part)).collect::<Value>();
    of.iter().map(person).collect()
}

fn fields() -> Value {
    json!([
        { "name": "given", "kind": "name" }, { "name": "surname", "kind": "name" }, { "name": "suburb", "kind": "text" },
        { "name": "postcode", "kind": "exact" }, { "name": "born", "kind": "date" },
        { "name": "number", "kind": "text" },
    ])
}

#[test]
fn febrl_duplicates_are_found_without_false_positives() {
    let output = run(json!({ "left": people(&FEBRL), "fields": fields() }));
    let expected: Vec<Value> = (0..12).map(|pair| json!([2 * pair, 2 * pair + 1])).collect();
    assert_eq!(output["clusters"], json!(expected));
    assert_eq!((&output["compared"], &output["review"]), (&json!(24 * 23 / 2), &json!([])));
}

#[test]
fn two_tables_are_linked_and_blocks_save_pairs() {
    let originals: Vec<&str> = FEBRL.iter().copied().step_by(2).collect();
    let copies: Vec<&str> = FEBRL.iter().copied().skip(1).step_by(2).collect();
    let output = run(json!({
        "left": people(&originals), "right": people(&copies), "fields": fields(), "block_on": ["number", "born"],
    }));
    // One pair differs in the number, one lacks a birthday: either block finds what the other does not.
    assert_eq!(output["compared"], 12);
    let mut matches: Vec<(u64, u64)> = output["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| (found["left"].as_u64().unwrap(), found["right"].as_u64().unwrap()))
        .collect();
    matches.sort_unstable();
    assert_eq!(matches, (0..12).map(|pair| (pair, pair)).collect::<Vec<_>>());
    assert_eq!(output["clusters"][0], json!([0, 12]));
}

/// Pairs that one field cannot decide are for review: same name, other birthday.
#[test]
fn uncertain_pairs_are_marked_for_review_by_the_threshold() {
    let input = |threshold: f64| {
        json!({
            "left": [{ "n": "Ann Lee" }, { "n": "Ann Lee" }, { "n": "Bob Ray" }],
            "fields": [{ "name": "n", "kind": "name" }], "threshold": threshold,
        })
    };
    let score = run(input(0.0))["matches"][0]["score"].as_f64().unwrap();
    assert!(score > 0.5 && score < 1.0, "{score}");
    assert_eq!(run(input(score))["clusters"], json!([[0, 1]]));
    let doubtful = run(input((score + 0.001).min(1.0)));
    assert_eq!((&doubtful["matches"], &doubtful["review"][0]["right"]), (&json!([]), &json!(1)));
}

#[test]
fn tables_that_cannot_be_linked_are_rejected() {
    let many: Vec<Value> = (0..1500).map(|id| json!({ "id": id })).collect();
    let fields = json!([{ "name": "id", "kind": "exact" }]);
    let input = json!({ "left": many, "fields": fields });
    assert!(matches!(crate::FAMILY.run(113, input, &Context::default()), Err(Failure::TooLarge { .. })));
    // Few records, each pair of which is compared in many fields.
    let fields_of_one: Vec<Value> = (0..100).map(|_| fields[0].clone()).collect();
    let input = json!({ "left": many.get(..300), "fields": fields_of_one });
    assert!(matches!(crate::FAMILY.run(113, input, &Context::default()), Err(Failure::TooLarge { .. })));
    for input in [
        json!({ "left": [1], "fields": fields }),
        json!({ "left": [], "fields": [] }),
        json!({ "left": [], "fields": [{ "name": "id", "kind": "exact", "weight": -1 }] }),
    ] {
        assert!(
            matches!(crate::FAMILY.run(113, input.clone(), &Context::default()), Err(Failure::Invalid { .. })),
            "{input}"
        );
    }
}
