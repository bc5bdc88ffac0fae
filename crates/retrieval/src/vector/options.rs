/// Parameters of a vector index; its figures were measured with the defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorOptions {
    /// Numbers per vector, at most 16,384.
    pub dimensions: usize,
    /// Up to this many vectors a search is an exact scan; above, a graph is built.
    pub exact_below: usize,
    /// Links per node in the upper layers of the graph; twice as many in the lowest. 2 to 64.
    pub links: usize,
    /// Candidates kept while inserting: more give a better graph, slower.
    pub build_breadth: usize,
    /// Candidates kept while searching: more find more, slower.
    pub search_breadth: usize,
}

impl VectorOptions {
    pub(super) const MAX_DIMENSIONS: usize = 1 << 14;
    pub(super) const MAX_LINKS: usize = 64;
    const MAX_BREADTH: usize = 1 << 12;

    /// Returns the defaults (Malkov & Yashunin 2018, section 4.1, for the graph) for vectors of this length.
    #[must_use]
    pub const fn new(dimensions: usize) -> Self {
        Self { dimensions, exact_below: 50_000, links: 16, build_breadth: 128, search_breadth: 96 }
    }

    /// Clamps the options to valid ranges.
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
