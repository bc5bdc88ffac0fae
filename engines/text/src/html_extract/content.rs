//! Which blocks are the main text.

use scraper::{ElementRef, Html, Selector};

use super::walk::{Block, Kind};

/// Share of a block's words in links from which it is no text.
const LINKED: f64 = 1.0 / 3.0;
/// The same of the block before.
const LINKED_BEFORE: f64 = 0.555_556;

/// Returns the elements in which the page itself says that its main text is: `main`, else its articles; none else.
pub(super) fn declared(page: &Html) -> Vec<ElementRef<'_>> {
    for selector in ["main, [role=main]", "article"] {
        let Ok(selector) = Selector::parse(selector) else { continue };
        let found: Vec<ElementRef<'_>> = page.select(&selector).collect();
        let outer = outermost(found);
        if outer.iter().any(|element| element.text().any(|text| !text.trim().is_empty())) {
            return outer;
        }
    }
    Vec::new()
}

/// Elements, in the order of the page, without those within another.
pub(super) fn outermost(elements: Vec<ElementRef<'_>>) -> Vec<ElementRef<'_>> {
    let mut kept: Vec<ElementRef<'_>> = Vec::new();
    let mut ids = std::collections::HashSet::new();
    for element in elements {
        if !element.ancestors().any(|ancestor| ids.contains(&ancestor.id())) {
            ids.insert(element.id());
            kept.push(element);
        }
    }
    kept
}

/// Marks the blocks of the main text: by the words and the links of a block and its neighbours (Kohlschütter et al. 2010,
/// algorithm 2), or, in an element that the page declares to be its main text, all but lists of links. Headings count if
/// text follows before the next heading of their level.
pub(super) fn main_text(blocks: &[Block], declared: bool) -> Vec<bool> {
    let linked = |block: &Block| if block.words == 0 { 0.0 } else { block.linked as f64 / block.words as f64 };
    let candidate = |block: Option<&Block>| -> (f64, usize) {
        block.filter(|block| !block.apart).map_or((0.0, 0), |block| (linked(block), block.words))
    };
    let text = |at: usize, block: &Block| {
        let before = candidate(at.checked_sub(1).and_then(|at| blocks.get(at)));
        let after = candidate(blocks.get(at + 1));
        let this = (linked(block), block.words);
        match () {
            () if block.apart || matches!(block.kind, Kind::Heading(_)) => false,
            () if declared => this.0 <= LINKED || this.1 > 10 || !matches!(block.kind, Kind::Item(..)),
            () => this.0 <= LINKED && enough(this.1, before, after),
        }
    };
    let mut kept: Vec<bool> = blocks.iter().enumerate().map(|(at, block)| text(at, block)).collect();
    // From the end: whether text follows a heading before one of its level or above.
    let mut follows = [false; 7];
    for (keep, block) in kept.iter_mut().zip(blocks).rev() {
        if let Kind::Heading(level) = block.kind {
            let has = follows.get(level).copied().unwrap_or_default();
            *keep = has && !block.apart;
            follows.iter_mut().skip(level).for_each(|follows| *follows = false);
        } else if *keep {
            follows = [true; 7];
        }
    }
    kept
}

/// Algorithm 2 for a block with few links; neighbours as their share of links and their words.
fn enough(words: usize, before: (f64, usize), after: (f64, usize)) -> bool {
    if before.0 <= LINKED_BEFORE { words > 16 || after.1 > 15 || before.1 > 4 } else { words > 40 || after.1 > 17 }
}
