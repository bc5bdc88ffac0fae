/// What a vector index is tuned by; the defaults are what its figures are measured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorOptions {
    /// Numbers in a vector, at most 16,384.
    pub dimensions: usize,
    /// Up to so many vectors a search is an exact scan; above, a graph is grown.
    pub exact_below: usize,
    /// Links of a node in the graph's upper layers; twice as many in the lowest. 2 to 64.
    pub links: usize,
    /// Candidates kept while a place for a new vector is looked for: more give a better graph, slower.
    pub build_breadth: usize,
    /// Candidates kept in a search of the graph: more find more, slower.
    pub search_breadth: usize,
}

impl VectorOptions {
    pub(super) const MAX_DIMENSIONS: usize = 1 << 14;
    pub(super) const MAX_LINKS: usize = 64;
    const MAX_BREADTH: usize = 1 << 12;

    /// The defaults (Malkov & Yashunin 2018, section 4.1, for the graph) for vectors of so many numbers.
    #[must_use]
    pub const fn new(dimensions: usize) -> Self {
        Self { dimensions, exact_below: 50_000, links: 16, build_breadth: 128, search_breadth: 96 }
    }

    /// The same within bounds: what was set too small or too large is set to the nearest that works.
    pub(super) fn bounded(self) -> Self {
        Self {
            dimensions: self.dimensions.clamp(1, Self::MAX_DIMENSIONS),
            exact_below: self.exact_below,
            links: self.links.clamp(2, Self::MAX_LINKS),
            build_breadth: self.build_breadth.clamp(self.links.max(8), Self::MAX_BREADTH),
            search_breadth: self.search_breadth.clamp(8, Self::MAX_BREADTH),
        }
    }
}
