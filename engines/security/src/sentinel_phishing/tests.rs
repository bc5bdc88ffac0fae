use serde_json::{Value, json};

use super::*;
use crate::labelled::{Quality, rows};

fn run(text: &str) -> Value {
    crate::FAMILY.run(145, json!({ "text": text }), &Context::default()).unwrap()
}

fn fires(text: &str) -> bool {
    matches!(run(text)["verdict"].as_str(), Some("warn" | "critical"))
}

/// The half of the labelled set that no phrase was written against. The record's `accuracy` states these figures.
#[test]
fn precision_and_recall_on_the_test_half() {
    let quality = Quality::of(rows(include_str!("../../data/phishing_test.tsv")), fires);
    println!("q145 test half: {quality}");
    assert!(quality.precision() >= 0.8 && quality.recall() >= 0.6, "{quality}");
}

#[test]
fn precision_and_recall_on_the_development_half() {
    let quality = Quality::of(rows(include_str!("../../data/phishing_dev.tsv")), fires);
    println!("q145 development half: {quality}");
    assert!(quality.precision() >= 0.8 && quality.recall() >= 0.6, "{quality}");
}

#[test]
fn an_imitated_name_is_found_in_each_disguise() {
    for url in [
        "http://paypa1.example/login",
        "https://раураl.example/",
        "https://xn--pypal-4ve.example/",
        "https://paypal.com.secure-login.example/",
        "https://paypal-verify.example/",
        "https://paypal.com@203.0.113.9/",
        "https://pay%70al-login.example/verify",
    ] {
        let output =
            crate::FAMILY.run(145, json!({ "url": url, "brands": ["paypal.com"] }), &Context::default()).unwrap();
        assert!(output["score"].as_f64().unwrap() >= 0.3, "{url}: {output}");
    }
    for url in ["https://www.paypal.com/signin", "https://paypal.me/someone"] {
        let output =
            crate::FAMILY.run(145, json!({ "url": url, "brands": ["paypal.com"] }), &Context::default()).unwrap();
        assert_eq!((&output["verdict"], output.get("lookalike_of")), (&json!("clear"), None), "{url}: {output}");
    }
}

/// tldextract 5.3: an address has no domain under a public suffix.
#[test]
fn the_registrable_part_of_an_address_is_the_address() {
    for (url, registrable) in [
        ("http://93.184.216.34/login", "93.184.216.34"),
        ("http://[2001:db8::1]/login", "2001:db8::1"),
        ("http://www.example.co.uk/login", "example.co.uk"),
    ] {
        let output = crate::FAMILY.run(145, json!({ "url": url }), &Context::default()).unwrap();
        assert_eq!(output["urls"][0]["registrable"], registrable, "{url}");
    }
}

#[test]
fn encodings_still_fire() {
    let text = "Dear customer, your account has been suspended. Verify your password immediately: http://paypa1-secure.example/login";
    let alone = run(text)["score"].as_f64().unwrap();
    assert!(alone >= 0.9);
    let entities: String = text.chars().map(|letter| format!("&#{};", u32::from(letter))).collect();
    let hidden: String = text
        .chars()
        .flat_map(|letter| if letter.is_alphabetic() { vec![letter, '\u{ad}'] } else { vec![letter] })
        .collect();
    let alike = text.replace("account", "аccоunt").replace("password", "pаsswоrd");
    for text in [entities, hidden, alike, text.to_uppercase(), text.replace(' ', "\n")] {
        assert!(fires(&text), "{text}");
    }
}

#[test]
fn adding_text_never_lowers_the_score() {
    let text =
        "Your account has been suspended. Verify your password within 24 hours: http://paypa1-secure.example/login";
    let alone = run(text)["score"].as_f64().unwrap();
    for more in ["Kind regards.", "We will never ask for your PIN.", "https://www.paypal.com/", "\u{200b}"] {
        for both in [format!("{text}\n{more}"), format!("{more}\n{text}")] {
            assert!(run(&both)["score"].as_f64().unwrap() >= alone, "{both}");
        }
    }
}

#[test]
fn false_alarms_on_200_harmless_texts() {
    let alarms: Vec<String> = crate::labelled::harmless().into_iter().filter(|text| fires(text)).collect();
    assert!(alarms.is_empty(), "{} of 200: {alarms:#?}", alarms.len());
}
