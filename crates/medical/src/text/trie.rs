//! All exact words and stems that a word matches, found in one walk.

/// One set of alternatives of a pattern, such as `pain|tight*`.
pub type ElementId = u16;

#[derive(Debug, Clone, Default)]
struct Node {
    /// Sorted by byte.
    children: Vec<(u8, u32)>,
    stem: Vec<ElementId>,
    exact: Vec<ElementId>,
}

#[derive(Debug, Clone)]
pub struct Trie {
    nodes: Vec<Node>,
}

impl Default for Trie {
    fn default() -> Self {
        Self { nodes: vec![Node::default()] }
    }
}

impl Trie {
    pub fn insert(&mut self, word: &str, is_stem: bool, element: ElementId) {
        let mut at = 0usize;
        for &byte in word.as_bytes() {
            at = self.child_or_new(at, byte);
        }
        if let Some(node) = self.nodes.get_mut(at) {
            let list = if is_stem { &mut node.stem } else { &mut node.exact };
            if !list.contains(&element) {
                list.push(element);
            }
        }
    }

    fn child_or_new(&mut self, at: usize, byte: u8) -> usize {
        let fresh = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let Some(node) = self.nodes.get_mut(at) else { return at };
        match node.children.binary_search_by_key(&byte, |&(b, _)| b) {
            Ok(i) => node.children.get(i).map_or(at, |&(_, n)| n as usize),
            Err(i) => {
                node.children.insert(i, (byte, fresh));
                self.nodes.push(Node::default());
                fresh as usize
            }
        }
    }

    /// Calls `each` with the elements that the word satisfies.
    pub fn walk(&self, word: &str, mut each: impl FnMut(ElementId)) {
        let Some(mut node) = self.nodes.first() else { return };
        for &byte in word.as_bytes() {
            let Ok(i) = node.children.binary_search_by_key(&byte, |&(b, _)| b) else { return };
            let Some(next) = node.children.get(i).and_then(|&(_, n)| self.nodes.get(n as usize)) else { return };
            node = next;
            node.stem.iter().for_each(|&e| each(e));
        }
        node.exact.iter().for_each(|&e| each(e));
    }

    pub fn knows(&self, word: &str) -> bool {
        let mut any = false;
        self.walk(word, |_| any = true);
        any
    }
}
