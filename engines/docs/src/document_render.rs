//! q245: document rendering.

use std::collections::{BTreeSet, HashMap};

use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, format_commonmark, format_html, parse_document};

use muster_engine::prelude::*;

/// Maximum document size in bytes: parsers of nested markup are worse than linear.
const MAX_CONTENT: usize = 1 << 20;
/// Line width of plain text.
const WIDTH: usize = 100;

#[derive(Input)]
pub struct Input {
    content: String,
    from: Form,
    to: Form,
    toc: bool,
    sanitise: bool,
    standalone: bool,
    title: String,
}

#[derive(Clone, Copy, PartialEq, Words)]
enum Form {
    Markdown,
    Html,
    Text,
}

#[derive(Output)]
pub struct Output {
    content: String,
    outline: Vec<Heading>,
    words: usize,
    removed: Vec<String>,
}

#[derive(Clone, Output)]
struct Heading {
    level: u8,
    text: String,
    anchor: String,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    if input.content.len() > MAX_CONTENT {
        return Err(Failure::too_large(format!("content is over {MAX_CONTENT} bytes")));
    }
    let source = match input.from {
        Form::Html => to_markdown(&input.content)?,
        _ => input.content.clone(),
    };
    let arena = Arena::new();
    let options = options();
    let root = parse_document(&arena, &source, &options);
    let outline = outline(root);
    let words = text_of(root).split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count();
    let mut removed = Vec::new();
    let content = match input.to {
        Form::Markdown => written(|out| format_commonmark(root, &options, out))?,
        Form::Text => plain(&html(root, &options)?)?,
        Form::Html => {
            let raw = if input.from == Form::Html { input.content.clone() } else { html(root, &options)? };
            let mut body = if input.sanitise { sanitised(&raw, &mut removed) } else { raw };
            if input.toc {
                body = format!("{}{}", contents(&outline), anchored(&body, &outline));
            }
            if input.standalone { page(&input.title, &body) } else { body }
        }
    };
    if input.to != Form::Html && (input.toc || input.standalone) {
        context.warn("toc and standalone are for HTML only");
    }
    Ok(Output { content, outline, words, removed })
}

fn options() -> Options<'static> {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    // Unwanted markup is removed by the allow-list, which sees what a browser sees.
    options.render.r#unsafe = true;
    options
}

fn written(write: impl FnOnce(&mut String) -> std::fmt::Result) -> Result<String, Failure> {
    let mut out = String::new();
    write(&mut out).map_err(Failure::internal)?;
    Ok(out)
}

fn html<'a>(root: &'a AstNode<'a>, options: &Options<'_>) -> Result<String, Failure> {
    written(|out| format_html(root, options, out))
}

/// Headings, lists, emphasis, code and links; links are numbered Markdown references.
fn to_markdown(html: &str) -> Result<String, Failure> {
    let config = html2text::config::plain().link_footnotes(true).no_table_borders().no_link_wrapping();
    // The allow-list first, so that scripts and styles do not become text.
    config.string_from_read(ammonia::clean(html).as_bytes(), WIDTH).map_err(Failure::internal)
}

fn plain(html: &str) -> Result<String, Failure> {
    let config = html2text::config::plain_no_decorate();
    config.string_from_read(ammonia::clean(html).as_bytes(), WIDTH).map_err(Failure::internal)
}

/// Applies ammonia's allow-list plus what footnotes and task lists need. Removed elements are reported by name.
fn sanitised(raw: &str, removed: &mut Vec<String>) -> String {
    let mut allowed = ammonia::Builder::default();
    allowed.add_tags(["section", "input", "sup"]).add_tag_attributes("input", ["type", "checked", "disabled"]);
    allowed.add_generic_attributes(["id"]).add_allowed_classes("section", ["footnotes"]);
    allowed.add_allowed_classes("sup", ["footnote-ref"]).add_allowed_classes("code", ["language-rust"]);
    allowed.add_tag_attribute_values("input", "type", ["checkbox"]).link_rel(Some("noopener noreferrer"));
    let clean = allowed.clean(raw).to_string();
    let (before, after) = (elements(raw), elements(&clean));
    removed.extend(before.difference(&after).cloned());
    if raw.to_ascii_lowercase().contains("javascript:") && !clean.to_ascii_lowercase().contains("javascript:") {
        removed.push("javascript:".to_owned());
    }
    if handlers(raw) && !handlers(&clean) {
        removed.push("on*".to_owned());
    }
    clean
}

/// Names of the elements that a text opens.
fn elements(html: &str) -> BTreeSet<String> {
    let name = |tag: &str| tag.chars().take_while(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    html.split('<').skip(1).map(name).filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic())).collect()
}

/// Returns whether an element has an event handler attribute.
fn handlers(html: &str) -> bool {
    html.split('<').skip(1).filter_map(|tag| tag.split('>').next()).any(|tag| {
        tag.split_whitespace().skip(1).any(|attribute| {
            let attribute = attribute.to_ascii_lowercase();
            attribute.starts_with("on") && attribute.contains('=')
        })
    })
}

fn outline<'a>(root: &'a AstNode<'a>) -> Vec<Heading> {
    let mut outline: Vec<Heading> = Vec::new();
    // Anchors that are taken, each with the number with which the next one of this slug is tried.
    let mut taken: HashMap<String, usize> = HashMap::new();
    for node in root.descendants() {
        let NodeValue::Heading(heading) = &node.data.borrow().value else { continue };
        let text = text_of(node);
        let slug = slug(&text);
        let mut number = taken.get(&slug).copied().unwrap_or(0);
        let mut anchor = slug.clone();
        while taken.contains_key(&anchor) {
            number = number.max(1);
            anchor = format!("{slug}-{number}");
            number += 1;
        }
        taken.insert(slug, number.max(1));
        taken.entry(anchor.clone()).or_insert(1);
        outline.push(Heading { level: heading.level, text, anchor });
    }
    outline
}

/// As GitHub: lower case, blanks to hyphens, other punctuation removed.
fn slug(text: &str) -> String {
    let kept =
        text.to_lowercase().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_')).collect::<String>();
    kept.trim().replace(' ', "-")
}

fn text_of<'a>(node: &'a AstNode<'a>) -> String {
    let mut text = String::new();
    for part in node.descendants() {
        match &part.data.borrow().value {
            NodeValue::Text(words) => text.push_str(words),
            NodeValue::Code(code) => text.push_str(&code.literal),
            NodeValue::CodeBlock(block) => text.push_str(&block.literal),
            NodeValue::SoftBreak | NodeValue::LineBreak => text.push(' '),
            value if value.block() && !text.is_empty() => text.push(' '),
            _ => {}
        }
    }
    text
}

fn contents(outline: &[Heading]) -> String {
    let top = outline.iter().map(|heading| heading.level).min().unwrap_or(1);
    let items: String = outline
        .iter()
        .map(|heading| {
            let indent = heading.level.saturating_sub(top);
            format!("<li class=\"toc-{indent}\"><a href=\"#{}\">{}</a></li>\n", heading.anchor, escaped(&heading.text))
        })
        .collect();
    format!("<nav>\n<ul>\n{items}</ul>\n</nav>\n")
}

/// Adds anchors to the headings of the body, which are in the order of the outline.
fn anchored(body: &str, outline: &[Heading]) -> String {
    let (mut out, mut rest) = (String::with_capacity(body.len()), body);
    for heading in outline {
        let open = format!("<h{}>", heading.level);
        if let Some((before, after)) = rest.split_once(&open) {
            out.push_str(before);
            out.push_str(&format!("<h{} id=\"{}\">", heading.level, heading.anchor));
            rest = after;
        }
    }
    out + rest
}

fn page(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escaped(title)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn run(input: Value) -> Value {
        crate::FAMILY.run(245, input, &Context::default()).unwrap()
    }

    fn markdown(content: &str) -> String {
        run(json!({ "content": content }))["content"].as_str().unwrap().to_owned()
    }

    /// CommonMark 0.31.2, examples 1, 25, 66, 148 (as the allow-list leaves it), 350, 482.
    #[test]
    fn examples_of_commonmark() {
        for (source, html) in [
            ("\tfoo\tbaz\t\tbim\n", "<pre><code>foo\tbaz\t\tbim\n</code></pre>\n"),
            ("&#35; &#1234; &#992; &#0;\n", "<p># Ӓ Ϡ \u{fffd}</p>\n"),
            ("# foo *bar* \\*baz\\*\n", "<h1>foo <em>bar</em> *baz*</h1>\n"),
            ("*foo bar*\n", "<p><em>foo bar</em></p>\n"),
        ] {
            assert_eq!(markdown(source), html);
        }
        let link = markdown("[link](/uri \"title\")\n");
        assert_eq!(link, "<p><a href=\"/uri\" title=\"title\" rel=\"noopener noreferrer\">link</a></p>\n");
    }

    /// GitHub Flavored Markdown 0.29, examples 198 (tables), 279 (task lists), 491 (strikethrough).
    #[test]
    fn examples_of_github() {
        let table = markdown("| foo | bar |\n| --- | --- |\n| baz | bim |\n").replace(['\n', ' '], "");
        assert!(table.contains("<th>foo</th><th>bar</th>") && table.contains("<td>baz</td><td>bim</td>"), "{table}");
        let list = markdown("- [ ] foo\n- [x] bar\n");
        assert!(list.contains("type=\"checkbox\"") && list.contains("checked"), "{list}");
        assert_eq!(markdown("~~Hi~~ Hello, world!\n"), "<p><del>Hi</del> Hello, world!</p>\n");
    }

    /// OWASP, "XSS Filter Evasion Cheat Sheet": script, event handler, javascript: address.
    #[test]
    fn active_content_is_removed_and_listed() {
        let output = run(json!({
            "content": "<SCRIPT>alert(1)</SCRIPT>\n\n<img src=x onerror=alert(1)>\n\n[a](javascript:alert(1))",
        }));
        let content = output["content"].as_str().unwrap().to_lowercase();
        assert!(!["script", "onerror", "javascript"].iter().any(|bad| content.contains(bad)), "{content}");
        assert_eq!(output["removed"], json!(["script", "javascript:", "on*"]));
    }

    #[test]
    fn equal_headings_have_anchors_of_their_own() {
        let anchors = |content: &str| -> Vec<String> {
            let output = run(json!({ "content": content, "from": "markdown", "to": "html" }));
            let outline = output["outline"].as_array().unwrap();
            outline.iter().map(|heading| heading["anchor"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(anchors("# A\n# A\n# A-1\n# A\n"), ["a", "a-1", "a-1-1", "a-2"]);
        // As many as fit: quadratic work would take minutes.
        let many = anchors(&"# A\n".repeat(50_000));
        assert_eq!((many.len(), many.last().unwrap().as_str()), (50_000, "a-49999"));
    }

    #[test]
    fn an_outline_a_table_of_contents_and_a_page() {
        let output = run(json!({
            "content": "# One & two\n\n## Same\n\n## Same\n", "toc": true, "standalone": true, "title": "<T>",
        }));
        let anchors: Vec<_> = output["outline"].as_array().unwrap().iter().map(|h| h["anchor"].clone()).collect();
        assert_eq!(anchors, ["one--two", "same", "same-1"]);
        let content = output["content"].as_str().unwrap();
        assert!(content.contains("<title>&lt;T&gt;</title>") && content.contains("<h2 id=\"same-1\">Same</h2>"));
        assert!(content.contains("<a href=\"#one--two\">One &amp; two</a>"), "{content}");
        assert_eq!(output["words"], 4);
    }

    #[test]
    fn html_is_converted_to_markdown_and_text() {
        let html =
            "<h2>Head</h2><p>Some <strong>bold</strong> <a href=\"https://e.org\">link</a></p><ul><li>a</li></ul>";
        let back = run(json!({ "content": html, "from": "html", "to": "markdown" }));
        let back = back["content"].as_str().unwrap();
        assert!(back.contains("## Head") && back.contains("**bold**") && back.contains("https://e.org"), "{back}");
        let text = run(json!({ "content": "# Head\n\nSome **bold**\n", "to": "text" }));
        assert!(text["content"].as_str().unwrap().contains("Some bold"), "{text}");
    }
}
