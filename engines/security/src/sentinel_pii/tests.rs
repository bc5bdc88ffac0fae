use serde_json::{Value, json};

use super::*;

fn run(text: &str, mask: &str) -> Value {
    crate::FAMILY.run(142, json!({ "text": text, "mask": mask }), &Context::default()).unwrap()
}

fn kinds(text: &str) -> Vec<String> {
    run(text, "redact")["counts"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn every_pattern_is_one() {
    for kind in &KINDS {
        assert!(kind.pattern().is_some(), "{}", kind.name);
    }
}

#[test]
fn a_wrong_check_digit_is_not_found() {
    for (good, bad, kind) in [
        ("4111 1111 1111 1111", "4111 1111 1111 1112", "card"),
        ("GB82 WEST 1234 5698 7654 32", "GB82 WEST 1234 5698 7654 33", "iban"),
        ("cpf 390.533.447-05", "390.533.447-06", "cpf"),
        ("RSSMRA85T10A562S", "RSSMRA85T10A562T", "codice_fiscale"),
        ("12345678Z", "12345678A", "spanish_dni"),
    ] {
        assert!(kinds(good).contains(&kind.to_owned()), "{good}");
        assert!(!kinds(bad).contains(&kind.to_owned()), "{bad}");
    }
}

#[test]
fn findings_and_masks_never_hold_the_value() {
    let text = "Card 4111 1111 1111 1111, a.person@mail.example, GB82 WEST 1234 5698 7654 32, 536-90-4399";
    for mask in ["redact", "hash", "partial"] {
        let output = run(text, mask).to_string();
        for value in ["4111 1111", "a.person@", "WEST 1234 5698 7654", "536-90"] {
            assert!(!output.contains(value), "{mask}: {value} in {output}");
        }
    }
    assert_eq!(run(text, "none")["redacted"], text);
    assert_eq!(
        run(text, "partial")["redacted"].as_str().unwrap().split(',').next().unwrap(),
        "Card **** **** **** 1111"
    );
}

#[test]
fn invisible_and_wide_characters_do_not_hide_a_number() {
    for text in [
        "4111\u{200b}1111\u{200b}1111\u{200b}1111",
        "４１１１ １１１１ １１１１ １１１１",
        "4111\u{a0}1111\u{a0}1111\u{a0}1111",
        "4111‑1111‑1111‑1111",
    ] {
        let output = run(text, "redact");
        assert_eq!((&output["counts"]["card"], &output["redacted"]), (&json!(1), &json!("[CARD]")), "{text}");
    }
}

#[test]
fn adding_text_never_lowers_the_score() {
    let text = "Card 4111 1111 1111 1111 and mail a@b.example";
    let alone = run(text, "redact")["score"].as_f64().unwrap();
    for more in ["ssn 078-05-1120", "12 34 56", "not a real card, an example", "\u{200b}"] {
        for both in [format!("{text}\n{more}"), format!("{more}\n{text}")] {
            assert!(run(&both, "redact")["score"].as_f64().unwrap() >= alone, "{both}");
        }
    }
}

/// 200 harmless texts: sentences with numbers that belong to no person.
#[test]
fn false_alarms_on_200_harmless_texts() {
    let sentences = [
        "Order #48213997 shipped on 2026-03-11 with 12 items.",
        "The bridge is 1234.5 m long and cost 45,000,000 euros.",
        "Version 2.14.3 fixes bug 10482.",
        "Meeting at 10:30 in room 204, agenda items 1-7.",
        "Population grew from 1,204,331 to 1,310,002 in 2019-2024.",
        "ISBN 978-3-16-148410-0 is a book.",
        "Commit 3f2a9c1d4e5b6a7f8091a2b3c4d5e6f708192a3b.",
        "The hash 5d41402abc4b2a76b9719d911017c592 belongs to the file.",
        "Temperature 21.4 °C, humidity 45 %, pressure 1013.2 hPa.",
        "Flight LH 438 departs gate B42 at 14:05.",
        "Chapter 4, section 2.1, pages 110-134.",
        "Model XJ-2200-B has part number 00-1234-5678.",
        "The server listens on 127.0.0.1:8080 and 10.0.0.12.",
        "Interest 3.75 % over 30 years gives 360 payments.",
        "RFC 9110 replaces RFC 7230 to 7235.",
        "Ratio 16:9, resolution 1920x1080 at 60 Hz.",
        "Euler 2.718281828459045, pi 3.14159265358979.",
        "Magnitude 7.1, depth 10 km, 2019-07-06T03:19:53Z.",
        "The invoice total is 1.299,00 EUR including 19 % VAT.",
        "UUID 123e4567-e89b-12d3-a456-426614174000 identifies the row.",
    ];
    let mut alarms = Vec::new();
    for first in sentences {
        for second in sentences.iter().take(10) {
            let text = format!("{first} {second}");
            let found = kinds(&text);
            if !found.is_empty() {
                alarms.push(format!("{found:?}: {text}"));
            }
        }
    }
    assert!(alarms.is_empty(), "{} of 200: {alarms:#?}", alarms.len());
}
