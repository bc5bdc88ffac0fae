//! Each kind of mark where it is one, and where it is not.

use super::*;

fn marks(text: &str, format: TextFormat) -> Vec<String> {
    let glossary =
        Glossary::new([("Mars Pathfinder", "Pathfinder"), ("field hospital", "hospital de campanha")]).unwrap();
    find(text, format, &glossary).into_iter().map(|mark| text[mark.range].to_owned()).collect()
}

#[test]
fn each_kind_of_mark_is_found_whole() {
    for (text, expected) in [
        ("see https://a.example/b?c=(d)&e=1, please", "https://a.example/b?c=(d)&e=1"),
        ("(http://a.example/x)", "http://a.example/x"),
        ("at www.example.com.", "www.example.com"),
        ("host docs.example.org/page is", "docs.example.org/page"),
        ("ping 192.168.0.1 now", "192.168.0.1"),
        ("write to ana.b+c@mail.example.org.", "ana.b+c@mail.example.org"),
        ("run `cargo test -p x` now", "`cargo test -p x`"),
        ("the max_length value", "max_length"),
        ("use --dry-run here", "--dry-run"),
        ("in /etc/muster/config.toml.", "/etc/muster/config.toml"),
        ("%s files", "%s"),
        ("got %1$s here", "%1$s"),
        ("%(name)s was", "%(name)s"),
        ("%-10.2f units", "%-10.2f"),
        ("%lld bytes", "%lld"),
        ("hello {name}!", "{name}"),
        ("{} left", "{}"),
        ("{0:.2f} left", "{0:.2f}"),
        ("hello {{ user.name }}!", "{{ user.name }}"),
        ("hello ${user}!", "${user}"),
        ("hello %{user}!", "%{user}"),
        ("hello :name, you", ":name"),
        ("hello $name, you", "$name"),
        ("{n, plural, one {# file} other {# files}} left", "{n, plural, one {# file} other {# files}}"),
        ("a <br/> b", "<br/>"),
        ("a <img src=\"x>y.png\" alt='b'> b", "<img src=\"x>y.png\" alt='b'>"),
        ("fish &amp; chips", "&amp;"),
        ("a <!-- b --> c", "<!-- b -->"),
        ("press <kbd>Enter</kbd> now", "<kbd>Enter</kbd>"),
        ("a <span translate=\"no\">b <span>c</span></span> d", "<span translate=\"no\">b <span>c</span></span>"),
        ("thanks @ana.b, bye", "@ana.b"),
        ("see #São_Paulo now", "#São_Paulo"),
        ("ok 👩🏽‍🚒 here", "👩🏽‍🚒"),
        ("ok 🇧🇷 here", "🇧🇷"),
        ("the XQ0 mark", "XQ0"),
        ("the MARS pathfinder flew", "MARS pathfinder"),
        ("id 123e4567-e89b-12d3-a456-426614174000 is", "123e4567-e89b-12d3-a456-426614174000"),
    ] {
        assert_eq!(marks(text, TextFormat::Text), [expected], "{text}");
    }
}

#[test]
fn ordinary_text_holds_no_mark() {
    for text in [
        "50%discount, 100% sure, and 5 % of it",
        "a < b and c > d, AT&T, x & y",
        "This shortcut uses ` on US keyboards, where the ` key is above Tab.",
        "and/or, he/she, 1/2",
        "It costs $5 (€4).",
        "Note: this is it; 10:30.",
        "number #1, e.g. this",
        "the field hospitals",
        "{not a placeholder because it is a sentence}",
    ] {
        assert_eq!(marks(text, TextFormat::Text), [""; 0], "{text}");
    }
}

#[test]
fn a_term_becomes_its_translation() {
    let glossary = Glossary::new([("field hospital", "hospital de campanha"), ("field", "campo")]).unwrap();
    let found = find("A Field Hospital", TextFormat::Text, &glossary);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].replacement.as_deref(), Some("hospital de campanha"));
}

#[test]
fn a_glossary_that_is_too_large_is_refused() {
    let terms: Vec<String> = (0..=MAX_TERMS).map(|number| format!("term{number}")).collect();
    let refused = Glossary::new(terms.iter().map(|term| (term.as_str(), "x"))).unwrap_err();
    assert_eq!(refused, GlossaryError::TooMany(MAX_TERMS + 1));
    assert!(Glossary::new([("", "x")]).is_err());
    assert!(Glossary::new([("a", "x\ny")]).is_err());
}

#[test]
fn emphasis_and_links_enclose_text() {
    let text = "a **b _c_** [d](http://x.example/(y)) e * f";
    let found = find(text, TextFormat::Markdown, &Glossary::default());
    let pairs = markdown::pairs(text, &found);
    let mut shown: Vec<(&str, &str)> =
        pairs.iter().map(|it| (&text[it.open.clone()], &text[it.close.clone()])).collect();
    shown.sort_unstable();
    assert_eq!(shown, [("**", "**"), ("[", "](http://x.example/(y))"), ("_", "_")]);
}

#[test]
fn html_marks_every_character_of_markup() {
    assert_eq!(marks("a < b & c", TextFormat::Html), ["<", "&"]);
}
