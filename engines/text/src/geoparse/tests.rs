use serde_json::json;

use super::*;

fn run_on(input: Value) -> Value {
    crate::FAMILY.run(175, input, &Context::default()).unwrap()
}

/// Recall, precision and accuracy at 161 km (Gritta et al. 2018) on the labelled sentences. The record states them.
#[test]
fn accuracy_on_the_labelled_sentences() {
    let (mut right, mut far, mut missed, mut wrong) = (0, Vec::new(), Vec::new(), Vec::new());
    for line in include_str!("../../data/geoparse_labelled.tsv").lines().filter(|line| !line.starts_with('#')) {
        let (text, labels) = line.split_once('\t').unwrap();
        let output = run_on(json!({ "text": text }));
        let mut found = output["places"].as_array().unwrap().clone();
        for label in labels.split('|').filter(|label| !label.is_empty()) {
            let cells: Vec<&str> = label.split(':').collect();
            let at = Position::new(cells[1].parse().unwrap(), cells[2].parse().unwrap());
            let Some(index) = found.iter().position(|place| place["text"] == cells[0]) else {
                missed.push(label);
                continue;
            };
            let place = found.remove(index);
            let there = Position::new(place["lat"].as_f64().unwrap(), place["lon"].as_f64().unwrap());
            if inverse(at, there).distance <= 161_000.0 { right += 1 } else { far.push(label) }
        }
        wrong.extend(found.iter().map(|place| format!("{} in {text}", place["text"])));
    }
    println!(
        "q175: {right} right, {} too far {far:?}, {} missed {missed:?}, {} false {wrong:?}",
        far.len(),
        missed.len(),
        wrong.len()
    );
    let named = right + far.len();
    assert!(right * 10 >= named * 9 && named * 10 >= (named + missed.len()) * 9 && wrong.len() <= 4);
}

/// `text[start..end]` is what was found, also in a decomposed text.
#[test]
fn offsets_are_those_of_the_text() {
    for text in ["Two bridges in Malmö and Łódź.", "Two bridges in Malmo\u{308} and \u{141}o\u{301}dz\u{301}."] {
        let output = run_on(json!({ "text": text }));
        let places = output["places"].as_array().unwrap();
        assert_eq!(places.len(), 2, "{output}");
        for place in places {
            let range = place["start"].as_u64().unwrap() as usize..place["end"].as_u64().unwrap() as usize;
            assert_eq!(place["text"], text[range]);
        }
        assert_eq!((&places[0]["country"], &places[1]["country"]), (&json!("SE"), &json!("PL")));
    }
}

#[test]
fn hints_decide_between_places_of_one_name() {
    let country = |hint: Value| {
        let mut input = json!({ "text": "The clinic in Valencia is closed." });
        input.as_object_mut().unwrap().extend(hint.as_object().unwrap().clone());
        run_on(input)["places"][0]["country"].as_str().unwrap().to_owned()
    };
    assert_eq!(country(json!({ "country": "ES" })), "ES");
    assert_eq!(country(json!({ "country": "VE" })), "VE");
    assert_eq!(country(json!({ "near": { "lat": 10.2, "lon": -68.0 } })), "VE");
    assert_eq!(country(json!({ "near": { "lat": 40.0, "lon": 0.0 } })), "ES");
}

#[test]
fn the_largest_text_ends_soon() {
    let text = "Santa Cruz de la Sierra San José Villa Nueva ".repeat(2_900);
    let begun = std::time::Instant::now();
    let input = json!({ "text": text.get(..MAX_TEXT - 1).unwrap() });
    let _ = crate::FAMILY.run(175, input, &Context::default());
    println!("q175: {:?} for {MAX_TEXT} bytes", begun.elapsed());
}
