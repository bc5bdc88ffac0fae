//! Engines that change, drop and double what they get: everything that must survive stands in the translation once.

mod survive;

use proptest::prelude::*;

use super::*;

/// An engine by a function of each segment.
struct Scripted<F>(F);

impl<F: FnMut(&str) -> String> SegmentEngine for Scripted<F> {
    fn translate(&mut self, requests: &[SegmentRequest]) -> Result<Vec<SegmentReply>, SegmentError> {
        Ok(requests.iter().map(|request| SegmentReply { text: (self.0)(&request.text), alignment: None }).collect())
    }

    fn fits(&self, segment: &str) -> bool {
        segment.split_whitespace().count() <= 40 && segment.len() < 400
    }
}

/// An engine whose words are in reverse order, with their alignment.
struct Reversing;

impl SegmentEngine for Reversing {
    fn translate(&mut self, requests: &[SegmentRequest]) -> Result<Vec<SegmentReply>, SegmentError> {
        let reply = |request: &SegmentRequest| {
            let words: Vec<&str> = request.text.split_whitespace().rev().collect();
            let alignment = (0..words.len()).rev().map(Some).collect();
            SegmentReply { text: words.join(" "), alignment: Some(alignment) }
        };
        Ok(requests.iter().map(reply).collect())
    }
}

fn run(text: &str, format: TextFormat, engine: &mut dyn SegmentEngine) -> Translated {
    let glossary = Glossary::new([("field hospital", "hospital de campanha")]).unwrap();
    let options = TextOptions { format, to: "pt", glossary: &glossary };
    let mut streamed = String::new();
    let translated =
        translate_text(text, &options, engine, None, &mut |segment| streamed += &segment.translation).unwrap();
    if translated.segments > 0 {
        assert_eq!(streamed, translated.text, "the segments are the text");
    }
    translated
}

fn upper(text: &str) -> String {
    run(text, TextFormat::Text, &mut Scripted(str::to_uppercase)).text
}

fn marked(engine: impl FnMut(&str) -> String, text: &str) -> Translated {
    run(text, TextFormat::Text, &mut Scripted(engine))
}

#[test]
fn what_is_between_the_words_stays() {
    assert_eq!(
        upper("one two\r\n\r\n  - three %s four\n\ttwo.  Then\n"),
        "ONE TWO\r\n\r\n  - THREE %s FOUR\n\tTWO.  THEN\n"
    );
    for text in ["", " ", "\n\n", "12.5 – 3", "%s", "…", "\u{e000}\u{e001}"] {
        assert_eq!(upper(text), text);
    }
}

#[test]
fn short_texts_get_a_full_stop_that_is_taken_off() {
    let mut seen = Vec::new();
    let translated = marked(
        |text| {
            seen.push(text.to_owned());
            format!("x{text}")
        },
        "Hello\nOne two three\nWell done!",
    );
    assert_eq!(seen, ["Hello.", "One two three", "Well done!"]);
    assert_eq!(translated.text, "xHello\nxOne two three\nxWell done!");
}

#[test]
fn the_second_spelling_follows_the_first_and_pieces_follow_it() {
    let mut seen = Vec::new();
    let translated = marked(
        |text| {
            seen.push(text.to_owned());
            text.replace("XQ0", "").replace("QZX0", "QZX0 QZX0")
        },
        "The file %s was not found",
    );
    let expected = ["The file XQ0 was not found", "The file QZX0 was not found", "The file.", "was not found"];
    assert_eq!(seen, expected);
    assert_eq!(translated.text, "The file %s was not found");
    assert_eq!(translated.warnings, ["cut_at_marks"]);
}

#[test]
fn a_number_that_changes_is_marked() {
    let translated = marked(|text| text.replace("50", "500"), "Take 50 mg of it per day");
    assert_eq!(translated.text, "Take 50 mg of it per day");
    let kept = marked(|text| text.replace("12.5", "12,5"), "Take 12.5 mg of it per day");
    assert_eq!(kept.text, "Take 12,5 mg of it per day");
}

#[test]
fn nothing_usable_leaves_the_source_and_says_so() {
    for bad in ["", "  ", "<script>x</script>", "http://new.example"] {
        let translated = marked(|_| bad.to_owned(), "One two three four");
        assert_eq!(translated.text, "One two three four");
        assert_eq!(translated.warnings, ["untranslated_segments"]);
        assert_eq!(translated.suspects[0].reasons, [SuspectReason::Untranslated]);
    }
}

#[test]
fn tags_follow_their_words() {
    let text = "Press the <b>red button</b> of <a href=\"x y\">the pump</a> twice";
    let expected = "twice <a href=\"x y\">pump the</a> of <b>button red</b> the Press";
    assert_eq!(run(text, TextFormat::Html, &mut Reversing).text, expected);
    let text = "Press the **red button** of [the pump](http://a.example/b) twice";
    let expected = "twice [pump the](http://a.example/b) of **button red** the Press";
    assert_eq!(run(text, TextFormat::Markdown, &mut Reversing).text, expected);
}

#[test]
fn without_alignment_the_text_is_cut_at_tags() {
    let text = "<p>Press the <b>red button</b> twice.</p>";
    let translated = run(text, TextFormat::Html, &mut Scripted(str::to_uppercase));
    assert_eq!(translated.text, "<p>PRESS THE <b>RED BUTTON</b> TWICE.</p>");
}

#[test]
fn a_tag_over_sentences_stays_around_them() {
    let text = "<b>One is here. Two is <i>there</i>. Three</b> is <b>four</b>.";
    let translated = run(text, TextFormat::Html, &mut Scripted(str::to_uppercase));
    assert_eq!(translated.text, "<b>ONE IS HERE. TWO IS <i>THERE</i>. THREE</b> IS <b>FOUR</b>.");
}

#[test]
fn markup_that_an_engine_writes_is_text() {
    let translated =
        run("<p>five is less than six</p>", TextFormat::Html, &mut Scripted(|_: &str| "5 < 6 & 7".to_owned()));
    assert!(!translated.text.contains("< 6"), "{}", translated.text);
}

#[test]
fn a_glossary_term_becomes_its_translation() {
    assert_eq!(upper("The Field Hospital is open"), "THE hospital de campanha IS OPEN");
}

#[test]
fn a_wrapped_sentence_keeps_its_lines() {
    let text = "> This is a sentence that its author wrapped after\n> some fifty characters and went on with.";
    let translated = run(text, TextFormat::Markdown, &mut Reversing).text;
    assert_eq!(translated.matches("\n> ").count(), 1, "{translated}");
    assert!(translated.starts_with("> ") && !translated.contains("  "), "{translated}");
}

#[test]
fn a_reply_too_few_is_an_error() {
    let glossary = Glossary::default();
    let options = TextOptions { format: TextFormat::Text, to: "pt", glossary: &glossary };
    let mut translation = Translation::new("One two three", &options, &|_| true);
    assert_eq!(translation.requests().len(), 1);
    assert_eq!(translation.accept(Vec::new()), Err(SegmentError::Count { expected: 1, found: 0 }));
}

#[test]
fn segments_stand_before_the_last_are_begun() {
    let text = "One two three.\n".repeat(2 * WINDOW);
    let glossary = Glossary::default();
    let options = TextOptions { format: TextFormat::Text, to: "pt", glossary: &glossary };
    let mut translation = Translation::new(&text, &options, &|_| true);
    let requests = translation.requests();
    assert_eq!(requests.len(), WINDOW);
    let echo = |it: &SegmentRequest| SegmentReply { text: it.text.clone(), alignment: None };
    translation.accept(requests.iter().map(echo).collect()).unwrap();
    let finished: Vec<usize> =
        std::iter::from_fn(|| translation.next_finished()).map(|segment| segment.index).collect();
    assert_eq!(finished, (0..WINDOW).collect::<Vec<usize>>());
}

#[test]
fn texts_of_twenty_thousand_characters_end() {
    for unit in [
        "a",
        "日",
        "word ",
        "a, ",
        "<b>x</b>. ",
        "**a** ",
        "[a](b) ",
        "{",
        "<",
        "](",
        "%s",
        "XQ0 ",
        "~",
        "\u{301}",
        "))",
        "`a",
        "{a,plural,",
    ] {
        let text: String = unit.chars().cycle().take(MAX_TEXT_CHARS).collect();
        for format in [TextFormat::Markdown, TextFormat::Html] {
            let translated = run(&text, format, &mut Scripted(str::to_owned));
            let spaceless = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(spaceless(&translated.text), spaceless(&text), "{unit} {format:?}");
        }
    }
}

/// What an engine may do wrong, by number.
fn hostile(kind: usize, text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    match kind {
        0 => text.replace("XQ", "").replace("QZX", ""),
        1 => format!("{text} {text}"),
        2 => words.iter().rev().copied().collect::<Vec<&str>>().join(" "),
        3 => text.to_uppercase(),
        4 => text.to_lowercase(),
        5 => text.replace("XQ", "XQ ").replace("QZX", " Q Z X"),
        6 => String::new(),
        7 => text.chars().rev().collect(),
        8 => format!("{text}\n\n{text}\r\n"),
        9 => words.iter().step_by(2).copied().collect::<Vec<&str>>().join("  "),
        10 => text.replace(['0', '1', '2'], "9"),
        11 => "\u{e000}<b>&amp; %s {name} http://x.example `c` @me #tag 😀 XQ0 XQ1 QZX0 77".to_owned(),
        12 => text.replace("XQ0", "XQ1").replace("QZX0", "QZX00"),
        _ => text.to_owned(),
    }
}

const UNITS: &[&str] = &[
    "https://a.example/b?c=1",
    "ana@b.example.org",
    "`let x = 1;`",
    "%(name)s",
    "%1$s",
    "{count}",
    "{{ user }}",
    "${home}",
    "%{id}",
    ":place",
    "<br>",
    "<em>",
    "</em>",
    "<a href=\"#x\">",
    "</a>",
    "&nbsp;",
    "@maria",
    "#alerta",
    "🚑",
    "__init__",
    "/etc/muster/a.toml",
];
const WORDS: &[&str] = &[
    "the", "water", "level", "rises", "by", "12.5", "cm", "today,", "hospital", "é", "水", "ماء", "Go.", "Stop!",
    "(now)", "**", "_", "[",
];
const GAPS: &[&str] = &[" ", " ", " ", "\n", "\n\n", "\n  - ", "  ", "\t", "\r\n", "\n> "];

fn any_text() -> impl Strategy<Value = (String, Vec<&'static str>)> {
    let token = prop_oneof![3 => prop::sample::select(WORDS).prop_map(|word| (word, false)),
        1 => prop::sample::select(UNITS).prop_map(|unit| (unit, true))];
    prop::collection::vec((token, prop::sample::select(GAPS)), 1..40).prop_map(|tokens| {
        let text = tokens.iter().map(|((token, _), gap)| format!("{token}{gap}")).collect();
        (text, tokens.iter().filter(|((_, unit), _)| *unit).map(|((token, _), _)| *token).collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn everything_that_must_survive_stands_once(
        (text, units) in any_text(),
        kind in 0_usize..14,
        format in prop::sample::select(&[TextFormat::Text, TextFormat::Markdown, TextFormat::Html][..]),
    ) {
        let translated = run(&text, format, &mut Scripted(|segment: &str| hostile(kind, segment))).text;
        for unit in units {
            prop_assert_eq!(translated.matches(unit).count(), text.matches(unit).count(), "{} in {:?}", unit, translated);
        }
        let lines = |text: &str| text.chars().filter(|it| matches!(it, '\n' | '\r')).collect::<String>();
        prop_assert_eq!(lines(&translated), lines(&text), "{:?}", translated);
        prop_assert!(!translated.contains('\u{e000}') && !translated.contains("QZX"), "{:?}", translated);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn aligned_tags_stand_once((text, units) in any_text()) {
        let translated = run(&text, TextFormat::Html, &mut Reversing).text;
        for unit in units {
            prop_assert_eq!(translated.matches(unit).count(), text.matches(unit).count(), "{} in {:?}", unit, translated);
        }
    }

    #[test]
    fn an_engine_that_changes_nothing_changes_nothing((text, _) in any_text()) {
        for format in [TextFormat::Text, TextFormat::Markdown, TextFormat::Html] {
            let translated = run(&text, format, &mut Scripted(str::to_owned)).text;
            prop_assert_eq!(&translated, &text);
        }
    }

    #[test]
    fn any_text_passes(text in "\\PC{0,80}", kind in 0_usize..14) {
        for format in [TextFormat::Text, TextFormat::Markdown, TextFormat::Html] {
            run(&text, format, &mut Scripted(|segment: &str| hostile(kind, segment)));
        }
    }
}
