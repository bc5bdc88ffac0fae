//! Prompts that are meant to break something.

use proptest::prelude::*;

use crate::sketch::{MAX_DRAWN, MAX_FIGURES, Prompt, SketchError};

use super::SKETCHER;

#[test]
fn hostile_prompts_are_drawn_or_refused_within_bounds() {
    let zalgo: String = "c\u{300}\u{301}\u{302}\u{489}\u{323}at ".chars().cycle().take(1_000).collect();
    let prompts = [
        "🐘".repeat(1_000),
        "🐘🐁🚗🌷🐈🐕🍎🚲🦒🚌🐄🐖🐑🐐🐪🦁🐯🐻".repeat(50).chars().take(1_000).collect(),
        "!?.,;:—…()[]{}<>&\"'".repeat(40),
        "<svg onload=alert(1)><script>&amp;]]></svg>".to_owned(),
        "\u{202e}tac a\u{202c}\u{200f}\u{0}\u{7}\u{1b}[31m cat".to_owned(),
        "a\u{300}".repeat(500),
        "a".repeat(1_000),
        "象".repeat(1_000),
        "9 ".repeat(500),
        "99999999999999999999999999 cats".to_owned(),
        "cat on dog on cat on dog under cat under dog ".repeat(20),
        "👨‍👩‍👧‍👦\u{200d}\u{200d}🏳️‍🌈".repeat(20),
        "\u{d7ff}\u{e000}\u{10ffff}\u{fffd} x".to_owned(),
        zalgo,
    ];
    for text in &prompts {
        let drawing = SKETCHER.draw(&Prompt { text, ..Prompt::default() }).unwrap();
        assert!(drawing.png.len() > 1_000 && drawing.png.len() < 4_000_000, "{}", drawing.png.len());
        assert!(drawing.unmatched.len() <= 50 && drawing.unmatched.iter().all(|word| word.chars().count() <= 64));
        let plan = SKETCHER.plan(text, None).unwrap();
        let drawn: usize = plan.scene.figures.iter().map(|figure| usize::from(figure.count)).sum();
        assert!(plan.scene.figures.len() <= MAX_FIGURES && drawn <= MAX_DRAWN);
    }
}

#[test]
fn prompts_that_are_too_long_or_empty_are_refused() {
    let long = "a".repeat(1_001);
    assert!(matches!(SKETCHER.plan(&long, None), Err(SketchError::LongPrompt(1_001))));
    for text in ["", "  \n\t", "\u{200b}\u{200f}\u{0}"] {
        assert!(matches!(SKETCHER.plan(text, None), Err(SketchError::EmptyPrompt)), "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_text_gives_a_scene_within_its_own_bounds(text in "\\PC{1,200}") {
        if let Ok(plan) = SKETCHER.plan(&text, None) {
            prop_assert!(plan.scene.check().is_ok(), "{:?}", plan.scene);
        }
    }

    #[test]
    fn words_in_any_order_give_a_scene_within_its_own_bounds(
        words in prop::collection::vec(prop::sample::select(vec![
            "cat", "dog", "house", "on", "under", "left of", "three", "9", "red", "orange", "sea", "night", "bird", "moon", ",",
        ]), 1..60)
    ) {
        let plan = SKETCHER.plan(&words.join(" "), Some("en")).unwrap();
        prop_assert!(plan.scene.check().is_ok(), "{:?}", plan.scene);
    }
}
