//! All exact words and stems that a word matches, found in one walk.

use std::collections::VecDeque;

/// What a word of a trie belongs to: one set of alternatives of a pattern, such as `pain|tight*`.
pub type ElementId = u16;

/// Whether a word matches as a whole or as the beginning of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    Stem,
    Whole,
}

/// A word, or a stem before its star.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub word: String,
    pub extent: Extent,
    pub element: ElementId,
}

impl Entry {
    /// A word that is a stem if it ends with a star.
    pub fn new(starred: &str, element: ElementId) -> Self {
        let stem = starred.strip_suffix('*');
        let extent = if stem.is_some() { Extent::Stem } else { Extent::Whole };
        Self { word: stem.unwrap_or(starred).to_owned(), extent, element }
    }
}

#[derive(Debug, Clone, Copy)]
struct Node {
    /// The first child; the next node's first child is the end.
    children: u32,
    /// The first element of the stem that ends here.
    stem: u32,
    /// The first element of the word that ends here; the next node's stem is the end.
    whole: u32,
}

/// Nodes are in breadth-first order, so that the children of a node are neighbours, sorted by their bytes.
#[derive(Debug, Clone)]
pub struct Trie {
    /// One more than there are nodes.
    nodes: Vec<Node>,
    /// The byte that leads to a node.
    bytes: Vec<u8>,
    elements: Vec<ElementId>,
}

impl Trie {
    pub fn new(mut entries: Vec<Entry>) -> Self {
        entries.sort_unstable();
        entries.dedup();
        let mut trie = Self { nodes: Vec::new(), bytes: vec![0], elements: Vec::with_capacity(entries.len()) };
        let mut queue = VecDeque::from([(entries.as_slice(), 0)]);
        while let Some((entries, depth)) = queue.pop_front() {
            let (ending, longer) = entries.split_at(entries.partition_point(|e| e.word.len() == depth));
            let (stem, whole) = ending.split_at(ending.partition_point(|e| e.extent == Extent::Stem));
            let node = Node {
                children: place(trie.bytes.len()),
                stem: place(trie.elements.len()),
                whole: place(trie.elements.len() + stem.len()),
            };
            trie.nodes.push(node);
            trie.elements.extend(stem.iter().chain(whole).map(|e| e.element));
            let byte = |e: &Entry| e.word.as_bytes().get(depth).copied().unwrap_or_default();
            for child in longer.chunk_by(|a, b| byte(a) == byte(b)) {
                trie.bytes.extend(child.first().map(byte));
                queue.push_back((child, depth + 1));
            }
        }
        let (children, end) = (place(trie.bytes.len()), place(trie.elements.len()));
        trie.nodes.push(Node { children, stem: end, whole: end });
        trie.nodes.shrink_to_fit();
        trie.bytes.shrink_to_fit();
        trie
    }

    /// Calls `each` with the elements that the word satisfies.
    pub fn walk(&self, word: &str, mut each: impl FnMut(ElementId)) {
        let mut at = 0;
        for &byte in word.as_bytes() {
            let Some(child) = self.child(at, byte) else { return };
            at = child;
            if let Some(node) = self.nodes.get(at) {
                self.elements(node.stem, node.whole).iter().for_each(|&e| each(e));
            }
        }
        if let (Some(node), Some(next)) = (self.nodes.get(at), self.nodes.get(at + 1)) {
            self.elements(node.whole, next.stem).iter().for_each(|&e| each(e));
        }
    }

    fn child(&self, at: usize, byte: u8) -> Option<usize> {
        let first = self.nodes.get(at)?.children as usize;
        let end = self.nodes.get(at + 1)?.children as usize;
        let place = self.bytes.get(first..end)?.iter().position(|&b| b == byte)?;
        Some(first + place)
    }

    fn elements(&self, from: u32, to: u32) -> &[ElementId] {
        self.elements.get(from as usize..to as usize).unwrap_or(&[])
    }

    pub fn knows(&self, word: &str) -> bool {
        let mut any = false;
        self.walk(word, |_| any = true);
        any
    }
}

/// A place in an array; the lexicons are far smaller than four thousand million bytes.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(trie: &Trie, word: &str) -> Vec<ElementId> {
        let mut found = Vec::new();
        trie.walk(word, |e| found.push(e));
        found
    }

    #[test]
    fn a_word_satisfies_its_stems_and_itself() {
        let words = [("pain", 1), ("pain*", 2), ("pai*", 3), ("painful", 4), ("боль", 5), ("pain", 6), ("pain", 1)];
        let trie = Trie::new(words.iter().map(|&(word, element)| Entry::new(word, element)).collect());
        assert_eq!(found(&trie, "pain"), [3, 2, 1, 6]);
        assert_eq!(found(&trie, "painful"), [3, 2, 4]);
        assert_eq!(found(&trie, "pains"), [3, 2]);
        assert_eq!(found(&trie, "боль"), [5]);
        assert!(!trie.knows("pa") && !trie.knows("") && !trie.knows("боли"));
        assert!(!Trie::new(Vec::new()).knows("pain"));
    }
}
