//! q244: PDF text and structure.

mod guard;
mod structure;
mod text;

use std::collections::BTreeMap;

use lopdf::{Document, LoadOptions};
use muster_engine::prelude::*;
use muster_engine::stack;

/// Largest file. What an encrypted one inflates to cannot be measured before it is read: a small one cannot be large.
const MAX_FILE: usize = 16 << 20;
const MAX_ENCRYPTED: usize = 128 << 10;
/// Most pages whose text is read.
const MAX_PAGES: usize = 500;
/// The parser of objects recurses to a bound of its own.
const STACK: usize = 64 << 20;

#[derive(Input)]
pub struct Input {
    pdf: Bytes,
    pages: Option<String>,
    password: Option<String>,
}

#[derive(Output)]
pub struct Output {
    pages: Vec<Page>,
    metadata: BTreeMap<String, String>,
    outline: Vec<Heading>,
    fields: BTreeMap<String, String>,
    attachments: Vec<String>,
    scanned: bool,
    page_count: usize,
}

#[derive(Output)]
struct Page {
    number: u32,
    text: String,
    width: f64,
    height: f64,
}

#[derive(Output)]
struct Heading {
    title: String,
    /// 0 where no page is found that it leads to.
    page: u32,
}

/// Reads text and structure.
///
/// # Errors
/// `Invalid`, `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let bytes = &input.pdf.0;
    if bytes.len() > MAX_FILE {
        return Err(Failure::too_large(format!("pdf: is over {} MiB", MAX_FILE >> 20)));
    }
    if !bytes.windows(5).take(1_024).any(|window| window == b"%PDF-") {
        return Err(Failure::invalid(&["pdf"], "is no PDF: `%PDF-` is not at its begin"));
    }
    let broken = || Failure::invalid(&["pdf"], "is damaged: its reader cannot go on. Print it to a new PDF");
    let (output, warnings) = stack::on_stack(cx, STACK, broken, || read(&input))?;
    for warning in warnings {
        cx.warn(warning);
    }
    Ok(output)
}

fn read(input: &Input) -> Result<(Output, Vec<String>), Failure> {
    let bytes = &input.pdf.0;
    let encrypted = guard::check(bytes)?;
    if encrypted && bytes.len() > MAX_ENCRYPTED {
        let message = format!("pdf: is encrypted and over {} KiB: save it without a password", MAX_ENCRYPTED >> 10);
        return Err(Failure::too_large(message));
    }
    let options = match &input.password {
        Some(password) => LoadOptions::with_password(password),
        None => LoadOptions::default(),
    };
    let document = Document::load_mem_with_options(bytes, options).map_err(|error| {
        let why: String = error.to_string().chars().take(120).collect();
        match (encrypted, &input.password) {
            (true, None) => Failure::invalid(&["password"], format!("is needed for this PDF ({why})")),
            (true, Some(_)) => Failure::invalid(&["password"], format!("does not open this PDF ({why})")),
            _ => Failure::invalid(&["pdf"], format!("is damaged: {why}")),
        }
    })?;
    if document.is_encrypted() && document.encryption_state.is_none() {
        return Err(Failure::invalid(&["password"], "is needed for this PDF"));
    }
    let all = document.get_pages();
    if all.is_empty() {
        return Err(Failure::invalid(&["pdf"], "is damaged: it has no page"));
    }
    let mut wanted = chosen(input.pages.as_deref(), all.len())?;
    let mut warnings = Vec::new();
    if wanted.len() > MAX_PAGES {
        wanted.truncate(MAX_PAGES);
        warnings.push(format!("truncated: the text of the first {MAX_PAGES} pages: choose others with `pages`"));
    }
    let mut reader = text::Reader::new(&document);
    let mut pages = Vec::new();
    let (mut empty, mut pictured) = (0, 0);
    for number in wanted {
        let Some(id) = all.get(&number) else { continue };
        let found = reader.page(*id);
        empty += usize::from(found.text.trim().is_empty());
        pictured += usize::from(found.has_pictures && found.text.trim().is_empty());
        let (width, height) = structure::size(&document, *id);
        pages.push(Page { number, text: found.text, width, height });
    }
    warnings.extend(reader.warnings());
    // A page of a picture without text was scanned, or is a photograph.
    let scanned = !pages.is_empty() && empty == pages.len() && pictured * 2 >= pages.len();
    if scanned {
        warnings.push("scanned: the pages are pictures without text".to_owned());
    }
    let output = Output {
        pages,
        metadata: structure::metadata(&document),
        outline: structure::outline(&document, &all),
        fields: structure::fields(&document),
        attachments: structure::attachments(&document),
        scanned,
        page_count: all.len(),
    };
    Ok((output, warnings))
}

/// Reads `1-3,7`; all pages without it.
fn chosen(text: Option<&str>, count: usize) -> Result<Vec<u32>, Failure> {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok((1..=count).collect()) };
    let wrong = || Failure::invalid(&["pages"], format!("must be pages of 1 to {count} such as 1-3,7"));
    let mut pages = std::collections::BTreeSet::new();
    if text.len() > 4_000 {
        return Err(wrong());
    }
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let page =
            |text: &str| text.trim().parse::<u32>().ok().filter(|page| (1..=count).contains(page)).ok_or_else(wrong);
        let (from, to) = (page(from)?, page(to)?);
        if to < from {
            return Err(wrong());
        }
        pages.extend(from..=to);
    }
    Ok(pages.into_iter().collect())
}
