//! The blocks of a page in the order of its text.

use ego_tree::NodeId;
use ego_tree::iter::Edge;
use scraper::node::Element;
use scraper::{ElementRef, Html, Node};

/// What a block is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Text,
    Heading(usize),
    /// Depth of the list from 0, and the number of the item in an ordered one.
    Item(usize, Option<usize>),
    Preformatted,
    /// Rows of cells.
    Table(Vec<Vec<String>>),
}

/// A piece of text that the page sets apart.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) kind: Kind,
    pub(super) quoted: bool,
    pub(super) text: String,
    pub(super) markdown: String,
    /// Words, and those of them in links.
    pub(super) words: usize,
    pub(super) linked: usize,
    /// Whether it is in navigation, a form, a footer or the like.
    pub(super) apart: bool,
    pub(super) links: Vec<(String, String)>,
}

const SKIPPED: [&str; 19] = [
    "audio", "button", "canvas", "datalist", "head", "iframe", "math", "noscript", "object", "script", "select",
    "style", "svg", "template", "textarea", "title", "video", "input", "meter",
];
const APART: [&str; 6] = ["aside", "dialog", "footer", "form", "menu", "nav"];
const BLOCKS: [&str; 43] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "html",
    "li",
    "main",
    "menu",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "th",
    "tr",
    "ul",
];
const ROLES: [&str; 6] = ["banner", "complementary", "contentinfo", "dialog", "navigation", "search"];

/// Whether an element and all within it are not shown.
fn hidden(element: &Element) -> bool {
    let style = element.attr("style").unwrap_or_default().replace(' ', "").to_ascii_lowercase();
    SKIPPED.contains(&element.name())
        || element.attr("hidden").is_some()
        || element.attr("aria-hidden").is_some_and(|value| value.eq_ignore_ascii_case("true"))
        || style.contains("display:none")
        || style.contains("visibility:hidden")
}

/// Returns the blocks within an element.
pub(super) fn blocks(root: ElementRef<'_>, page: &Html) -> Vec<Block> {
    let mut walk = Walk::new(page);
    for edge in root.traverse() {
        match edge {
            Edge::Open(node) => match node.value() {
                Node::Text(text) if walk.skipping.is_none() => walk.text(text),
                Node::Element(element) if walk.skipping.is_none() => walk.open(node.id(), element),
                _ => {}
            },
            Edge::Close(node) => {
                if let Node::Element(element) = node.value() {
                    walk.close(node.id(), element);
                }
            }
        }
    }
    walk.finish();
    walk.found
}

struct Walk<'a> {
    page: &'a Html,
    found: Vec<Block>,
    text: String,
    markdown: String,
    linked: usize,
    links: Vec<(String, String)>,
    /// The element that is skipped with all within it.
    skipping: Option<NodeId>,
    apart: usize,
    quotes: usize,
    preformatted: usize,
    heading: Option<usize>,
    /// Of each open list the number of its next item; `None` if it is not ordered.
    lists: Vec<Option<usize>>,
    item: Option<(usize, Option<usize>)>,
    /// Address of the open link, and where its text began.
    link: Option<(String, usize, usize)>,
}

impl<'a> Walk<'a> {
    fn new(page: &'a Html) -> Self {
        Self {
            page,
            found: Vec::new(),
            text: String::new(),
            markdown: String::new(),
            linked: 0,
            links: Vec::new(),
            skipping: None,
            apart: 0,
            quotes: 0,
            preformatted: 0,
            heading: None,
            lists: Vec::new(),
            item: None,
            link: None,
        }
    }

    fn text(&mut self, text: &str) {
        let letters = text.chars().filter(|letter| *letter != LINK);
        if self.preformatted > 0 {
            let text: String = letters.collect();
            self.text.push_str(&text);
            self.markdown.push_str(&text);
            return;
        }
        for letter in letters {
            let space = matches!(letter, ' ' | '\t' | '\n' | '\r' | '\u{c}');
            if !space {
                self.text.push(letter);
                if matches!(letter, '*' | '_' | '`' | '[' | ']' | '\\') {
                    self.markdown.push('\\');
                }
                self.markdown.push(letter);
            } else {
                for out in [&mut self.text, &mut self.markdown] {
                    if !out.is_empty() && !out.ends_with([' ', '\n']) {
                        out.push(' ');
                    }
                }
            }
        }
    }

    fn open(&mut self, id: NodeId, element: &Element) {
        let name = element.name();
        if hidden(element) {
            self.skipping = Some(id);
            return;
        }
        if BLOCKS.contains(&name) {
            self.finish();
        }
        if apart(element) {
            self.apart += 1;
        }
        match name {
            "table" => self.table(id),
            "br" => {
                self.text.push('\n');
                self.markdown.push_str(if self.preformatted > 0 { "\n" } else { "  \n" });
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.heading = name.get(1..).and_then(|level| level.parse().ok());
            }
            "pre" => self.preformatted += 1,
            "blockquote" => self.quotes += 1,
            "ul" | "ol" | "menu" | "dir" => {
                let first = element.attr("start").and_then(|start| start.parse().ok()).unwrap_or(1);
                self.lists.push((name == "ol").then_some(first));
            }
            "li" => {
                let depth = self.lists.len().saturating_sub(1);
                let number = self.lists.last_mut().and_then(Option::as_mut);
                self.item = Some((depth, number.as_deref().copied()));
                if let Some(number) = number {
                    *number += 1;
                }
            }
            "a" => {
                if let Some(address) = element.attr("href") {
                    self.link = Some((address.to_owned(), self.text.len(), self.markdown.len()));
                }
            }
            "strong" | "b" => self.mark("**"),
            "em" | "i" => self.mark("*"),
            "code" if self.preformatted == 0 => self.mark("`"),
            _ => {}
        }
    }

    fn mark(&mut self, mark: &str) {
        if self.preformatted == 0 {
            self.markdown.push_str(mark);
        }
    }

    fn close(&mut self, id: NodeId, element: &Element) {
        if let Some(skipped) = self.skipping {
            if skipped == id {
                self.skipping = None;
                // Of a table that was read as a whole.
                if element.name() == "table" && apart(element) {
                    self.apart = self.apart.saturating_sub(1);
                }
            }
            return;
        }
        let name = element.name();
        match name {
            "strong" | "b" => self.mark("**"),
            "em" | "i" => self.mark("*"),
            "code" if self.preformatted == 0 => self.mark("`"),
            "a" => self.end_link(),
            _ => {}
        }
        if BLOCKS.contains(&name) {
            self.finish();
        }
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading = None,
            "pre" => self.preformatted = self.preformatted.saturating_sub(1),
            "blockquote" => self.quotes = self.quotes.saturating_sub(1),
            "ul" | "ol" | "menu" | "dir" => {
                self.lists.pop();
                self.item = None;
            }
            "li" => self.item = None,
            _ => {}
        }
        if apart(element) {
            self.apart = self.apart.saturating_sub(1);
        }
    }

    fn end_link(&mut self) {
        let Some((address, text_at, markdown_at)) = self.link.take() else { return };
        let text = self.text.get(text_at..).unwrap_or_default().trim().to_owned();
        self.linked += count_words(&text);
        let inner = self.markdown.get(markdown_at..).unwrap_or_default().to_owned();
        // The address stands in marks of its own until it is resolved: see `resolved`.
        if !inner.trim().is_empty() {
            self.markdown.truncate(markdown_at);
            self.markdown.push_str(&format!("[{}]({LINK}{}{LINK})", inner.trim(), self.links.len()));
        }
        self.links.push((text, address));
    }

    /// Reads a table of data as a whole; one that only lays the page out is walked through.
    fn table(&mut self, id: NodeId) {
        let Some(table) = self.page.tree.get(id).and_then(ElementRef::wrap) else { return };
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut links = Vec::new();
        for element in table.descendent_elements().skip(1) {
            match element.value().name() {
                "table" => return,
                "tr" => rows.push(Vec::new()),
                "td" | "th" => {
                    if let Some(row) = rows.last_mut() {
                        row.push(cell(element));
                    }
                }
                "a" => links.extend(element.attr("href").map(|address| (cell(element), address.to_owned()))),
                _ => {}
            }
        }
        rows.retain(|row| !row.is_empty());
        if rows.len() < 2 || rows.iter().map(Vec::len).max().unwrap_or_default() < 2 {
            return;
        }
        let text: Vec<String> = rows.iter().map(|row| row.join("\t")).collect();
        let text = text.join("\n");
        self.found.push(Block {
            words: count_words(&text),
            linked: links.iter().map(|(text, _)| count_words(text)).sum(),
            markdown: String::new(),
            kind: Kind::Table(rows),
            quoted: self.quotes > 0,
            apart: self.apart > 0,
            text,
            links,
        });
        self.skipping = Some(id);
    }

    /// Ends the block.
    fn finish(&mut self) {
        let open = self.link.take();
        if let Some((address, ..)) = &open {
            // A link over several blocks: all of this one is linked.
            self.linked = count_words(&self.text);
            self.links.push((self.text.trim().to_owned(), address.clone()));
        }
        let (text, markdown) = (std::mem::take(&mut self.text), std::mem::take(&mut self.markdown));
        let linked = std::mem::take(&mut self.linked);
        let links = std::mem::take(&mut self.links);
        self.link = open.map(|(address, ..)| (address, 0, 0));
        let preformatted = self.preformatted > 0;
        let text = if preformatted { text.trim_matches('\n').to_owned() } else { tidy(&text) };
        if text.trim().is_empty() {
            return;
        }
        let kind = match (preformatted, self.heading, self.item) {
            (true, ..) => Kind::Preformatted,
            (_, Some(level), _) => Kind::Heading(level),
            (_, _, Some((depth, number))) => Kind::Item(depth, number),
            _ => Kind::Text,
        };
        self.found.push(Block {
            kind,
            quoted: self.quotes > 0,
            words: count_words(&text),
            linked,
            markdown: if preformatted { text.clone() } else { markdown.trim().to_owned() },
            text,
            apart: self.apart > 0,
            links,
        });
    }
}

/// Stands around the number of a link in Markdown. It is no character, and taken out of texts.
pub(super) const LINK: char = '\u{fffe}';

fn apart(element: &Element) -> bool {
    APART.contains(&element.name())
        || element.attr("role").is_some_and(|role| ROLES.contains(&role.to_ascii_lowercase().as_str()))
}

/// The text of an element on one line.
pub(super) fn cell(element: ElementRef<'_>) -> String {
    element.text().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn count_words(text: &str) -> usize {
    muster_kernel_words::tokens::words(text).count()
}

/// Without space at the ends of lines, and without empty lines at both ends.
fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.join("\n").trim().to_owned()
}
