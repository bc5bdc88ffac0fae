//! The embedded translator with its real models: quality, what survives, bounds, cancellation.

#![cfg(feature = "translate")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test's helpers may fail it"
)]

#[path = "common/chrf.rs"]
mod chrf;
mod common;

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use chrf::chrf2;
use common::models_dir;
use muster_media::marks::{Glossary, TextFormat};
use muster_media::segments::{SegmentError, TextOptions, Translated, translate_text};
use muster_models::MediaManifest;
use muster_models::translate::{BATCH, NeuralSegments, TranslateError, TranslationPair, Translator, find_pairs};
use serde_json::Value;

/// Loads a pair of the manifest; fails unless it is there.
fn load(id: &str) -> Translator {
    let manifest = MediaManifest::embedded().unwrap();
    let model = manifest.get(id).unwrap();
    assert!(model.is_present(&models_dir()), "the model {id} is not there: run `make models`");
    Translator::load(&TranslationPair::of_model(&models_dir(), model).unwrap()).unwrap()
}

/// Reads the open cases; prints that they are absent.
fn cases(name: &str) -> Option<Vec<Value>> {
    let shared = std::env::var_os("MUSTER_SHARED").map(PathBuf::from);
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = ["../../../shared", "../../../../shared"].map(|folder| here.join(folder));
    let path =
        shared.into_iter().chain(beside).map(|folder| folder.join("media").join(name)).find(|path| path.is_file());
    let Some(path) = path else {
        eprintln!("skipped: the open cases `{name}` are not there");
        return None;
    };
    Some(fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn translate_as(translator: &Translator, text: &str, format: TextFormat) -> Translated {
    let glossary = Glossary::default();
    let options = TextOptions { format, to: &translator.pair().to, glossary: &glossary };
    translate_text(text, &options, &mut NeuralSegments::new(translator, &|| false), None, &mut |_| ()).unwrap()
}

fn translate(translator: &Translator, text: &str) -> String {
    translate_as(translator, text, TextFormat::Text).text
}

fn text<'a>(case: &'a Value, field: &str) -> &'a str {
    case[field].as_str().unwrap()
}

fn check_quality(id: &str, source: &str, target: &str, at_least: f64) {
    let Some(cases) = cases("translation.jsonl") else { return };
    let translator = load(id);
    for language in ["pt", "pt-BR"] {
        let group: Vec<&Value> = cases.iter().filter(|case| text(case, "lang") == language).collect();
        if group.is_empty() {
            continue;
        }
        let pairs: Vec<(String, &str)> =
            group.iter().map(|case| (translate(&translator, text(case, source)), text(case, target))).collect();
        let score = chrf2(pairs.iter().map(|(translation, reference)| (translation.as_str(), *reference)));
        println!("{id} with {language}: chrF2 {score:.1} of {} paragraphs", pairs.len());
        assert!(score >= at_least, "{id} with {language}: chrF2 {score:.1}, at least {at_least} is expected");
        for (case, (translation, _)) in group.iter().zip(&pairs) {
            assert_eq!(translation.matches('\n').count(), text(case, source).matches('\n').count());
        }
    }
}

#[test]
fn english_becomes_portuguese_of_the_expected_quality() {
    check_quality("translate-en-pt", "en", "text", 70.0);
}

#[test]
fn portuguese_becomes_english_of_the_expected_quality() {
    check_quality("translate-pt-en", "text", "en", 73.0);
}

#[test]
fn every_newline_and_url_is_kept() {
    let Some(cases) = cases("translation.jsonl") else { return };
    for (id, source, sentence) in [
        ("translate-en-pt", "en", "Read more at {} before you go on."),
        ("translate-pt-en", "text", "Leia mais em {} antes."),
    ] {
        let translator = load(id);
        let portuguese = cases.iter().filter(|case| text(case, "lang").starts_with("pt"));
        for (number, case) in portuguese.step_by(8).enumerate() {
            let urls = [
                format!("https://example.org/{number}/a_b?q=one%20two&x=1#part"),
                format!("http://localhost:80{number}/"),
                format!("www.example.com/page-{number}.html"),
                format!("help{number}@example.org"),
            ];
            let sentences: Vec<String> = urls.iter().map(|url| sentence.replace("{}", url)).collect();
            let whole = format!("{}\n\n{}\n", text(case, source), sentences.join("\n  "));
            let translated = translate(&translator, &whole);
            assert_eq!(translated.matches('\n').count(), whole.matches('\n').count(), "{translated}");
            for url in &urls {
                assert_eq!(translated.matches(url.as_str()).count(), 1, "{url} in {translated}");
            }
        }
    }
}

fn check_placeholders(id: &str, source: &str) {
    let Some(cases) = cases("placeholders.jsonl") else { return };
    let translator = load(id);
    let (mut in_pieces, mut untranslated) = (0, 0);
    for case in &cases {
        let translated = translate_as(&translator, text(case, source), TextFormat::Text);
        for item in case["placeholders"].as_array().unwrap() {
            let count = |text: &str| text.matches(item.as_str().unwrap()).count();
            assert_eq!(count(&translated.text), count(text(case, source)), "{item} in {}", translated.text);
        }
        in_pieces += usize::from(translated.warnings.contains(&"cut_at_marks"));
        untranslated += usize::from(translated.warnings.contains(&"untranslated_segments"));
    }
    println!("{id}: {} messages, {in_pieces} cut at marks, {untranslated} partly untranslated", cases.len());
    assert!(in_pieces * 4 < cases.len(), "{in_pieces} of {} were cut at marks", cases.len());
}

#[test]
fn english_messages_keep_all_placeholders() {
    check_placeholders("translate-en-pt", "en");
}

#[test]
fn portuguese_messages_keep_all_placeholders() {
    check_placeholders("translate-pt-en", "pt");
}

#[test]
fn words_alone_and_sentences_are_translated() {
    let translator = load("translate-en-pt");
    assert_eq!(translate(&translator, "Hello"), "Olá");
    assert_eq!(translate(&translator, "Hello\n\n  - Water\n"), "Olá\n\n  - Água\n");
    let document = "<p>The <b>hospital</b> is open.</p>\n<p>Call <a href=\"tel:112\">the rescue service</a> now.</p>";
    let translated = translate_as(&translator, document, TextFormat::Html).text;
    println!("{translated}");
    for tag in ["<p>", "<b>", "</b>", "<a href=\"tel:112\">", "</a>", "</p>\n<p>"] {
        assert!(translated.contains(tag), "{tag} in {translated}");
    }
    assert!(translated.contains("<b>hospital</b>"), "{translated}");
}

#[test]
fn texts_of_other_scripts_and_lengths_end() {
    let translator = load("translate-pt-en");
    for text in ["", " \n\t\n ", "…", "مرحبا، كيف حالك اليوم؟", "今日はとても暑いです。水を飲んでください。", "🚒🚑"]
    {
        let translated = translate(&translator, text);
        assert_eq!(translated.matches('\n').count(), text.matches('\n').count());
    }
    let word = "é".repeat(20_000);
    let translated = translator.translate_batch(&[&word[..2_000]], &|| false).unwrap();
    assert_eq!(translated.len(), 1);
    // A word of this length in ASCII is an identifier and stays; others are cut.
    assert_eq!(translate(&translator, &"a".repeat(20_000)), "a".repeat(20_000));
}

#[test]
fn long_texts_are_translated_whole() {
    let translator = load("translate-en-pt");
    let sentence = "The water is rising and the people in the house need help, ";
    let long = format!("{}now.", sentence.repeat(20));
    assert!(translator.tokens(&long) > 127);
    let translated = translate(&translator, &long).to_lowercase();
    assert!(translated.matches("água").count() >= 18, "{translated}");
    let direct = translator.translate_batch(&[&long], &|| false).unwrap();
    assert!(direct[0].text.to_lowercase().matches("água").count() >= 18, "{}", direct[0].text);
}

#[test]
fn a_dropped_request_stops_between_batches() {
    let translator = load("translate-en-pt");
    let calls = Cell::new(0);
    let stop = || calls.replace(calls.get() + 1) == 1;
    let segments = vec!["The water is rising."; 3 * BATCH];
    assert_eq!(translator.translate_batch(&segments, &stop), Err(TranslateError::Stopped));
    assert_eq!(calls.get(), 2);
    let glossary = Glossary::default();
    let options = TextOptions { format: TextFormat::Text, to: "pt", glossary: &glossary };
    let mut engine = NeuralSegments::new(&translator, &|| true);
    let stopped = translate_text("Hello there, my friend.", &options, &mut engine, None, &mut |_| ());
    assert_eq!(stopped, Err(SegmentError::Stopped));
}

#[test]
fn the_same_batch_gives_the_same_translations_in_order() {
    let translator = load("translate-en-pt");
    let segments = ["The fire is near the school and the road is closed.", "Water.", "Where is the hospital?"];
    let together = translator.translate_batch(&segments, &|| false).unwrap();
    for (segment, translated) in segments.iter().zip(&together) {
        assert_eq!(&translator.translate_batch(&[segment], &|| false).unwrap()[0], translated);
        assert_eq!(translator.translate_aligned(segment).unwrap().text, translated.text);
    }
}

#[test]
fn a_damaged_model_of_an_operator_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for content in [&b""[..], b"no model", &[0xff; 4_096]] {
        fs::write(folder.path().join("model.enfr.intgemm.alphas.bin"), content).unwrap();
        fs::write(folder.path().join("vocab.enfr.spm"), content).unwrap();
        let pairs = find_pairs(folder.path(), &MediaManifest::embedded().unwrap());
        let refused = Translator::load(&pairs[0]).unwrap_err();
        assert!(matches!(refused, TranslateError::Unusable { .. }), "{refused}");
    }
}
