use proptest::prelude::*;
use serde_json::json;
use unicode_normalization::UnicodeNormalization;

use super::*;

fn judged(text: &str) -> Judged {
    let message = Message { id: "m".to_owned(), text: text.to_owned(), time: None, language: None };
    judge(&message, &Context::default()).0
}

/// Macro precision and recall of categories, precision and recall of urgent messages, and the share that is right.
fn quality(file: &'static str) -> [f64; 5] {
    let (mut table, mut urgent) = ([[0.0; 10]; 10], [0.0; 3]);
    for row in labelled(file) {
        let found = judged(row.text);
        table[row.category as usize][found.category as usize] += 1.0;
        let is = found.urgency >= 4;
        urgent[0] += f64::from(u8::from(is && row.urgent));
        urgent[1] += f64::from(u8::from(is));
        urgent[2] += f64::from(u8::from(row.urgent));
        if std::env::var_os("MUSTER_SHOW_ERRORS").is_some() && (found.category != row.category || is != row.urgent) {
            println!(
                "{} {} {} {} {:?}: {}",
                row.category.word(),
                found.category.word(),
                row.urgent,
                found.urgency,
                found.evidence,
                row.text
            );
        }
    }
    let right: f64 = (0..10).map(|at| table[at][at]).sum();
    let all: f64 = table.iter().flatten().sum();
    assert_eq!(all, 200.0);
    let precision =
        (0..10).map(|at| table[at][at] / table.iter().map(|row| row[at]).sum::<f64>().max(1.0)).sum::<f64>();
    let recall = (0..10).map(|at| table[at][at] / table[at].iter().sum::<f64>()).sum::<f64>();
    [precision / 10.0, recall / 10.0, right / all, urgent[0] / urgent[1], urgent[0] / urgent[2]]
}

/// The figures of the record's `accuracy`: nothing was made from the test half.
#[test]
fn quality_is_that_of_the_record() {
    let (dev, test) =
        (quality(include_str!("../../data/triage_dev.tsv")), quality(include_str!("../../data/triage_test.tsv")));
    println!("dev {dev:.3?} test {test:.3?}");
    let least = [0.80, 0.75, 0.75, 0.75, 0.60];
    assert!(test.iter().zip(least).all(|(found, least)| *found >= least), "{test:?}");
}

#[test]
fn negations_deny_and_lacks_are_needs() {
    assert_eq!(judged("Nobody hurt. He is not injured, no ambulance was called").category, Category::Medical);
    assert_eq!(judged("We are not trapped").category, Category::Other);
    assert_eq!(judged("We do not have food").category, Category::WaterFood);
    assert_eq!(judged("We don't have doctors here").category, Category::Medical);
}

/// A message that no term of a category fits must not be last where it speaks of danger to life or of many who need help.
#[test]
fn danger_is_urgent_whatever_the_category() {
    assert_eq!(judged("man unconscious not breathing, Kurgartenbrücke").urgency, 5);
    let home = judged("Heim in Sinzig: 38 Bewohner im Erdgeschoss, viele im Rollstuhl");
    assert_eq!((home.category, home.urgency), (Category::Other, 3));
    let french = judged("Enfants piégés dans un camping, environ 12 personnes, l'eau monte");
    assert_eq!((french.category, french.urgency), (Category::Rescue, 5));
    assert_eq!(judged("Thank you to the men who carried my grandmother").urgency, 1);
}

#[test]
fn people_are_counted() {
    for (text, people) in [
        ("two adults and three children on the roof", 5),
        ("Family of five on top of a car", 5),
        ("40 people at the school, among them 12 children", 40),
        ("my grandmother is stuck", 1),
        ("somos nueve personas", 9),
        ("the bridge is down", 0),
    ] {
        assert_eq!(judged(text).people, people, "{text}");
    }
}

#[test]
fn urgent_messages_come_first_and_of_equal_ones_the_earlier() {
    let input = json!({ "messages": [
        { "id": "late", "text": "He is unconscious and bleeding", "time": "2026-01-01T02:00:00Z" },
        { "id": "thanks", "text": "Thanks to all", "time": "2026-01-01T00:00:00Z" },
        { "id": "early", "text": "She is unconscious and bleeding", "time": "2026-01-01T01:00:00Z" },
        { "id": "timeless", "text": "They are unconscious and bleeding" },
    ] });
    let output = crate::FAMILY.run(181, input, &Context::default()).unwrap();
    assert_eq!(output["queue"], json!(["early", "late", "timeless", "thanks"]));
    assert_eq!(output["counts"], json!({ "medical": 3, "other": 1 }));
}

#[test]
fn of_the_most_urgent_those_with_more_points_come_first() {
    let input = json!({ "messages": [
        { "id": "water", "text": "We have no drinking water for about 200 people, babies among them" },
        { "id": "trapped", "text": "12 people with children are trapped, the water rises" },
    ] });
    let output = crate::FAMILY.run(181, input, &Context::default()).unwrap();
    assert_eq!(output["messages"][0]["urgency"], 5);
    assert_eq!(output["queue"], json!(["trapped", "water"]));
}

/// The largest input ends: 4,000,000 bytes of terms.
#[test]
#[ignore = "for the release build"]
fn the_largest_input_ends() {
    let text = "3 children trapped, no water, ".repeat(MAX_BYTES / 30);
    let begun = std::time::Instant::now();
    let _ = judged(&text);
    println!("{:?}", begun.elapsed());
}

proptest! {
    #[test]
    fn evidence_is_in_the_text_and_forms_are_equal(text in "(trapped|Wasser|hôpital|niños|3|enfants blessés|sous|les|décombres|, |\\. | ){0,20}") {
        let (composed, decomposed) = (text.nfc().collect::<String>(), text.nfd().collect::<String>());
        let found = judged(&composed);
        prop_assert!(found.evidence.iter().all(|evidence| composed.contains(evidence.as_str())));
        let other = judged(&decomposed);
        prop_assert_eq!((found.category, found.urgency, found.people), (other.category, other.urgency, other.people));
    }
}
