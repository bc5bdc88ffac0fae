use proptest::prelude::*;
use serde_json::json;

use super::*;

fn run_on(input: Value) -> Value {
    crate::FAMILY.run(184, input, &Context::default()).unwrap()
}

const PAGE: &str = r##"<!DOCTYPE html><html lang="en"><head><title> A
 page </title><meta name="author" content="Ann"><base href="/b/"></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/x">More</a></li></ul></nav>
<main><h1>Flood</h1><p>Water <b>rose</b> in the <a href="town">old town</a>.<br>Then it fell. <script>var a="<p>no</p>";</script></p>
<h2>Empty</h2><h2>List</h2><ol start="3"><li>three</li><li>four <em>and</em></li></ol>
<table><tr><th>gauge</th><th>level</th></tr><tr><td>A|B</td><td>4.3 m</td></tr></table>
<pre>  a
   b</pre><blockquote><p>Stay <a href="javascript:x()">away</a></p></blockquote>
<aside>Advert</aside><p hidden>secret</p></main><footer>Imprint</footer></body></html>"##;

#[test]
fn a_page_as_text() {
    let output = run_on(json!({ "html": PAGE, "base_url": "https://example.org/a/" }));
    let text = "Flood\n\nWater rose in the old town.\nThen it fell.\n\nList\n\nthree\nfour and\n\ngauge\tlevel\nA|B\t4.3 m\n\n  a\n   b\n\nStay away";
    assert_eq!(output["text"], text);
    assert_eq!(output["title"], "A page");
    assert_eq!(output["metadata"], json!({ "author": "Ann", "language": "en" }));
    assert_eq!(output["links"], json!([{ "text": "old town", "url": "https://example.org/b/town" }]));
    assert_eq!(output["tables"], json!([[["gauge", "level"], ["A|B", "4.3 m"]]]));
}

#[test]
fn a_page_as_markdown() {
    let output = run_on(json!({ "html": PAGE, "base_url": "https://example.org/a/", "output": "markdown" }));
    let text = "# Flood\n\nWater **rose** in the [old town](https://example.org/b/town).  \nThen it fell.\n\n## List\n\n3. three\n4. four *and*\n\n| gauge | level |\n| --- | --- |\n| A\\|B | 4.3 m |\n\n```\n  a\n   b\n```\n\n> Stay [away]()";
    assert_eq!(output["text"], text);
}

#[test]
fn a_selector_decides_and_a_wrong_one_is_refused() {
    let output = run_on(json!({ "html": PAGE, "selector": "nav li, nav" }));
    assert_eq!(output["text"], "Home\nMore");
    let refused = crate::FAMILY.run(184, json!({ "html": PAGE, "selector": "a[" }), &Context::default());
    assert!(matches!(refused, Err(Failure::Invalid { .. })));
    let refused = crate::FAMILY.run(184, json!({ "html": "x", "base_url": "a/b" }), &Context::default());
    assert!(matches!(refused, Err(Failure::Invalid { .. })));
}

/// Without `main` and `article` words and links decide: navigation and footer go, also where they are plain `div`s.
#[test]
fn boilerplate_goes_by_its_links() {
    let sentence = "The river rose by two metres in the night and flooded the cellars of the old town near the bridge.";
    let html = format!(
        "<div><a href=1>Home</a> <a href=2>News</a> <a href=3>Sport</a></div><div>{sentence}</div><div>{sentence}</div><div><a href=4>Imprint</a> <a href=5>Contact</a></div>"
    );
    assert_eq!(run_on(json!({ "html": html }))["text"], format!("{sentence}\n\n{sentence}"));
}

#[test]
fn damaged_pages_are_read() {
    for html in
        ["", "<", "</p></div>", "<table><td>x", "<a href=x>y<a href=z>w", "<p>\u{0}x", "<!--", "<title>t", "<li><li>"]
    {
        let _ = run_on(json!({ "html": html, "output": "markdown" }));
    }
}

/// The largest inputs end within 5 s in release.
#[test]
#[ignore = "for the release build"]
fn the_largest_inputs_end() {
    for part in [
        "<p>a ",
        "<div>a</div>",
        "<li><a href=x>y</a>",
        "<td>",
        "<table><tr><td>",
        "x ",
        "<p>a<b>",
        "&amp;",
        "<ul><li>",
    ] {
        let html = part.repeat(1_000_000 / part.len());
        let begun = std::time::Instant::now();
        let failed = crate::FAMILY.run(184, json!({ "html": html }), &Context::default()).err();
        println!("{part}: {:?} {failed:?}", begun.elapsed());
        assert!(begun.elapsed().as_secs() < 5, "{part}");
    }
}

proptest! {
    #[test]
    fn any_page_is_read(html in "(<(div|p|a href=x|b|table|tr|td|ul|li|pre|h2|main|article)>|</(div|p|a|table|ul|pre)>|word |\\*|\\[){0,40}") {
        for form in ["text", "markdown"] {
            let _ = run_on(json!({ "html": html.as_str(), "output": form }));
        }
    }

    /// Words of a paragraph in an article are in the text, in their order.
    #[test]
    fn text_of_an_article_is_kept(words in prop::collection::vec("[a-z]{1,8}", 1..20)) {
        let text = words.join(" ");
        let output = run_on(json!({ "html": format!("<nav>x</nav><article><p>{text}</p></article>") }));
        prop_assert_eq!(output["text"].as_str().unwrap(), text);
    }
}
