//! Published messages and whole documents, through engines that do everything wrong.

use super::*;

/// Numbers of the engines of [`hostile`].
const ENGINES: std::ops::Range<usize> = 0..14;

const MARKDOWN: &str = "---\ntitle: Flood plan\nlang: en\n---\n# Flood plan for `zone-7` #\n\nSee [the map](https://maps.example.org/z?id=7&layer=(water)) and\nwrite to <desk@relief.example.org>, or\ncall **{duty_officer}** at once.  \nThe next line is hard.\n\n> A notice that was wrapped by its author after some\n> fifty characters, and that goes on here.\n>\n> > Nested: bring `ID-42` and ${TOKEN}.\n\n1. First, run:\n\n   ```sh\n   muster alerts list --since 24h   # all of them\n\n   curl -H 'Accept: text/html' http://localhost:8080/api/alerts\n   ```\n\n2. Then wait for %(minutes)d minutes.\n   - [ ] tell @maria\n   - [x] tag it #flood_2026\n\n| Place | Level | Note |\n|:------|:-----:|-----:|\n| Bridge `a|b` | 12.5 m | rising by %d cm |\n| Harbour | 3 m | {{ note }} |\n\n    indented code stays\n\nEnd.[^1] ![a picture](img/a_b.png \"title\")\n\n[^1]: A footnote with <br/> in it.\n[ref]: https://ref.example.org/a_(b)\n\t\n* * *\n\ntrailing blanks   \n";

const MARKDOWN_UNITS: &[&str] = &[
    "---\ntitle: Flood plan\nlang: en\n---\n",
    "`zone-7`",
    "](https://maps.example.org/z?id=7&layer=(water))",
    "<desk@relief.example.org>",
    "{duty_officer}",
    "`ID-42`",
    "${TOKEN}",
    "   ```sh\n   muster alerts list --since 24h   # all of them\n\n   curl -H 'Accept: text/html' http://localhost:8080/api/alerts\n   ```\n",
    "%(minutes)d",
    "\n   - [ ] ",
    "\n   - [x] ",
    "@maria",
    "#flood_2026",
    "\n|:------|:-----:|-----:|\n",
    "`a|b`",
    "%d",
    "{{ note }}",
    "\n    indented code stays\n",
    "[^1]",
    "](img/a_b.png \"title\")",
    "<br/>",
    "[ref]: https://ref.example.org/a_(b)\n",
    "\n* * *\n",
];

const HTML: &str = "<!DOCTYPE html>\r\n<html lang=\"en\">\r\n<head><title>Flood &amp; storm</title>\r\n<style>p > b { color: red }</style></head>\r\n<body>\r\n<!-- do not translate -->\r\n<p class='a'>Call <a href=\"https://a.example.org/?q=1&amp;r=2\">the desk</a> or\r\n   <b>dial <i>{number}</i></b> now.<br>It costs 12.50 &euro;.</p>\r\n<ul>\r\n  <li>Bring <code>ID &lt;42&gt;</code> and water</li>\r\n  <li><input type=checkbox checked> Done, %s</li>\r\n</ul>\r\n<pre>\r\n  as   it is\r\n</pre>\r\n<script>if (a < b && c > d) { run('<p>'); }</script>\r\n<p translate=\"no\">Muster <span>stays</span></p>\r\n<p>Unclosed <em>emphasis and a stray </strong> tag 😀</p>\r\n</body>\r\n</html>\r\n";

const HTML_UNITS: &[&str] = &[
    "<!DOCTYPE html>",
    "<html lang=\"en\">",
    "&amp;",
    "<style>p > b { color: red }</style>",
    "<!-- do not translate -->",
    "<p class='a'>",
    "<a href=\"https://a.example.org/?q=1&amp;r=2\">",
    "</a>",
    "<b>",
    "</b>",
    "<i>",
    "{number}",
    "<br>",
    "&euro;",
    "<code>ID &lt;42&gt;</code>",
    "<input type=checkbox checked>",
    "%s",
    "<pre>\r\n  as   it is\r\n</pre>",
    "<script>if (a < b && c > d) { run('<p>'); }</script>",
    "<p translate=\"no\">Muster <span>stays</span></p>",
    "<em>",
    "</strong>",
    "😀",
];

/// What of the units and line ends of a text its translation has not kept.
fn lost(text: &str, translated: &str, units: &[&str]) -> Vec<String> {
    let changed = |unit: &&&str| translated.matches(**unit).count() != text.matches(**unit).count();
    let mut lost: Vec<String> = units.iter().filter(changed).map(|unit| (*unit).to_owned()).collect();
    // In any order: an engine may move a mark that has line ends in it.
    let ends = |text: &str| ['\n', '\r'].map(|end| text.matches(end).count());
    if ends(text) != ends(translated) {
        lost.push("line ends".to_owned());
    }
    lost
}

#[test]
fn documents_keep_code_tags_urls_and_line_ends_whatever_the_engine_does() {
    let documents = [(MARKDOWN, MARKDOWN_UNITS, TextFormat::Markdown), (HTML, HTML_UNITS, TextFormat::Html)];
    for (text, units, format) in documents {
        for unit in units {
            assert!(text.contains(unit), "the document has {unit:?}");
        }
        for kind in ENGINES {
            let translated = run(text, format, &mut Scripted(|segment: &str| hostile(kind, segment))).text;
            assert_eq!(lost(text, &translated, units), [""; 0], "engine {kind}, {format:?}:\n{translated}");
        }
        let translated = run(text, format, &mut Reversing).text;
        assert_eq!(lost(text, &translated, units), [""; 0], "reversing, {format:?}:\n{translated}");
    }
}

#[test]
fn documents_are_translated_and_not_only_kept() {
    for (text, format, words) in [
        (
            MARKDOWN,
            TextFormat::Markdown,
            ["FLOOD PLAN FOR", "FIRST, RUN:", "HARBOUR", "A FOOTNOTE WITH", "TRAILING BLANKS"],
        ),
        (HTML, TextFormat::Html, ["FLOOD", "THE DESK", "AND WATER", "DONE,", "UNCLOSED"]),
    ] {
        let translated = run(text, format, &mut Scripted(str::to_uppercase)).text;
        for word in words {
            assert!(translated.contains(word), "{word} in\n{translated}");
        }
    }
}

#[test]
fn the_published_messages_keep_their_placeholders_whatever_the_engine_does() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/media/placeholders.jsonl");
    let Ok(lines) = std::fs::read_to_string(path) else {
        eprintln!("skipped: {path} is absent");
        return;
    };
    let (mut messages, mut wrong) = (0, Vec::new());
    for line in lines.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let units: Vec<&str> = case["placeholders"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        for text in ["en", "pt"].map(|language| case[language].as_str().unwrap()) {
            messages += 1;
            for (kind, format) in ENGINES
                .flat_map(|kind| [(kind, TextFormat::Text), (kind, TextFormat::Markdown), (kind, TextFormat::Html)])
            {
                let translated = run(text, format, &mut Scripted(|segment: &str| hostile(kind, segment))).text;
                let lost = lost(text, &translated, &units);
                if !lost.is_empty() {
                    wrong.push(format!("engine {kind}, {format:?}: {lost:?} of {text:?} in {translated:?}"));
                }
            }
        }
    }
    assert!(messages >= 154, "{messages} messages");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Runs a text without a glossary.
fn unchanged(text: &str, format: TextFormat) -> String {
    let options = TextOptions { format, to: "pt", glossary: &Glossary::default() };
    translate_text(text, &options, &mut Scripted(str::to_owned), None, &mut |_| {}).unwrap().text
}

#[test]
fn documents_come_back_byte_for_byte_from_an_engine_that_changes_nothing() {
    for text in [MARKDOWN, HTML] {
        for format in [TextFormat::Text, TextFormat::Markdown, TextFormat::Html] {
            assert_eq!(unchanged(text, format), text, "{format:?}");
        }
    }
}

/// Parts of lists, quotes, tables, code, tags and scripts, in no sensible order.
const PARTS: &[&str] = &[
    "a line that is long enough to be one that was wrapped by its\n",
    "next one",
    "  two  spaces ",
    "\u{a0}no-break\u{202f}spaces\u{3000}",
    "\t",
    "\r\n",
    "\r",
    "\n",
    "\n\n",
    "\n> ",
    "\n> > ",
    "\n- ",
    "\n  * ",
    "\n12. ",
    "\n| a | b |\n|---|---|\n| c | d |\n",
    "\n```\nlet x;\n\n```\n",
    "\n~~~\n",
    "\n    code\n",
    "  \n",
    "\\\n",
    "# Head #\n",
    "<p>",
    "</p>",
    "<b>bold ",
    "</b>",
    "<pre>\n x </pre>",
    "<br>\n",
    "&nbsp;",
    "<",
    "&",
    "日本語の文です。",
    "漢字",
    "ภาษาไทย ",
    "العربية، نعم؟ ",
    "👩‍👩‍👧‍👦",
    "😀 ",
    "e\u{301}\u{323}",
    "\u{200b}\u{202e}\u{feff}",
    "\u{0}\u{1b}\u{85}\u{2028}\u{2029}\u{b}\u{c}",
    "\u{e000}\u{e001}",
    "XQ0 qzx1 XQ",
    "12.5 %, 1 000,5 ",
    "%s",
    "{name}",
    "*",
    "**",
    "_",
    "~~",
    "`",
    "[",
    "](u)",
    "![",
    "Mr. Smith went. He did! ",
    "https://a.example/b_c?d=e ",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_structure_comes_back_byte_for_byte(parts in prop::collection::vec(prop::sample::select(PARTS), 0..40)) {
        let text = parts.concat();
        for format in [TextFormat::Text, TextFormat::Markdown, TextFormat::Html] {
            prop_assert_eq!(unchanged(&text, format), text.as_str(), "{:?}", format);
        }
    }

    #[test]
    fn any_characters_come_back_byte_for_byte(text in "(?s).{0,120}") {
        for format in [TextFormat::Text, TextFormat::Markdown, TextFormat::Html] {
            prop_assert_eq!(unchanged(&text, format), text.as_str(), "{:?}", format);
        }
    }

    #[test]
    fn line_ends_survive_in_any_structure(
        parts in prop::collection::vec(prop::sample::select(PARTS), 0..40),
        kind in ENGINES,
    ) {
        let text = parts.concat();
        for format in [TextFormat::Text, TextFormat::Markdown, TextFormat::Html] {
            let translated = run(&text, format, &mut Scripted(|segment: &str| hostile(kind, segment))).text;
            prop_assert_eq!(lost(&text, &translated, &[]), Vec::<String>::new(), "{:?}: {:?}", format, translated);
        }
    }
}
