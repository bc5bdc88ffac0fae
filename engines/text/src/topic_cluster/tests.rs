use serde_json::json;

use super::*;

fn run_on(texts: &[&str], topics: usize, seed: i64) -> Value {
    let documents: Vec<Value> =
        texts.iter().enumerate().map(|(at, text)| json!({ "id": at.to_string(), "text": text })).collect();
    let input = json!({ "documents": documents, "topics": topics, "seed": seed });
    crate::FAMILY.run(180, input, &Context::default()).unwrap()
}

const BLOCKS: [&str; 9] = [
    "flood water river banks",
    "smoke fire trees wind",
    "insulin hospital doctor",
    "river flood bridge water",
    "fire flames smoke forest",
    "doctor hospital ambulance",
    "water river levee flood",
    "forest fire smoke crew",
    "hospital nurse doctor insulin",
];

#[test]
fn planted_blocks_are_found_by_any_seed() {
    for seed in [1, 2, 3, -7, 1_000_000] {
        let output = run_on(&BLOCKS, 3, seed);
        let topics: Vec<i64> =
            output["assignments"].as_array().unwrap().iter().map(|row| row["topic"].as_i64().unwrap()).collect();
        assert_eq!(topics, [0, 1, 2, 0, 1, 2, 0, 1, 2], "{seed}");
        assert!(output["error"].as_f64().unwrap() < 0.7);
    }
}

/// scikit-learn 1.9's NMF (mu, nndsvda, to a tolerance of 1e-7) has the error 0.62433 on these; ten updates leave 0.65188.
#[test]
fn updates_go_on_until_they_bring_no_more() {
    let texts = [
        "boat bank river",
        "wind burn flame",
        "tremor fault ruin",
        "crack quake ward",
        "rain boat river",
        "forest flame smoke",
        "quake ruin quake",
        "tremor bank fault",
        "river bank flood",
        "forest smoke smoke",
        "crack fault crack",
        "fever nurse ward",
    ];
    let error = run_on(&texts, 4, 1)["error"].as_f64().unwrap();
    assert!((error - 0.624_33).abs() < 1e-4, "{error}");
}

#[test]
fn a_document_without_words_has_no_topic() {
    let output = run_on(&["flood water", "fire smoke", "the of 12"], 2, 1);
    assert_eq!(output["assignments"][2], json!({ "id": "2", "topic": -1, "weight": 0.0 }));
}

#[test]
fn the_error_falls_with_more_topics() {
    let error = |topics| run_on(&BLOCKS, topics, 1)["error"].as_f64().unwrap();
    assert!(error(2) >= error(3) - 1e-6 && error(3) >= error(6) - 1e-3, "{} {} {}", error(2), error(3), error(6));
}

#[test]
fn a_trend_counts_tenths_of_the_time() {
    let documents: Vec<Value> = (0..20)
        .map(|at| json!({ "id": at.to_string(), "text": BLOCKS[at % 2], "time": format!("2026-01-{:02}T00:00:00Z", at + 1) }))
        .collect();
    let input = json!({ "documents": documents, "topics": 2 });
    let output = crate::FAMILY.run(180, input, &Context::default()).unwrap();
    assert_eq!(output["topics"][0]["trend"].as_array().unwrap().len(), SPANS);
    let sum: f64 = output["topics"][0]["trend"].as_array().unwrap().iter().map(|count| count.as_f64().unwrap()).sum();
    assert_eq!(sum, 10.0);
}

#[test]
fn the_order_of_documents_does_not_matter() {
    let output = run_on(&BLOCKS, 3, 1);
    let turned: Vec<&str> = BLOCKS.iter().rev().copied().collect();
    let other = run_on(&turned, 3, 1);
    assert!((output["error"].as_f64().unwrap() - other["error"].as_f64().unwrap()).abs() < 1e-3);
}

/// The largest input ends within 45 s in release.
#[test]
#[ignore = "for the release build"]
fn the_largest_input_ends() {
    let documents = (0..MAX_DOCUMENTS).map(|at| Document {
        id: at.to_string(),
        text: (0..30).map(|word| format!("w{} ", (at * 7_919 + word * word * 104_729) % 12_345)).collect(),
        time: None,
    });
    let input = Input { documents: documents.collect(), topics: 50, language: "en".to_owned(), seed: 1 };
    let begun = std::time::Instant::now();
    run(input, &Context::default()).unwrap();
    println!("{:?}", begun.elapsed());
    assert!(begun.elapsed().as_secs() < 45);
}
