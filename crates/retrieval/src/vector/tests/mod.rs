mod exact;
mod graph;
mod model;
mod parts;
mod stored;

use self::model::Random;
use crate::DocNo;
use crate::vector::{VectorIndex, VectorOptions};

/// Searched by many threads while a clone is modified.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<VectorIndex>();
};

/// Options of a sparse graph used from 100 vectors on.
pub fn small(dimensions: usize) -> VectorOptions {
    VectorOptions {
        exact_below: 100,
        links: 8,
        build_breadth: 32,
        search_breadth: 40,
        ..VectorOptions::new(dimensions)
    }
}

/// Builds an index of these vectors, numbered from 0, with a complete graph.
pub fn filled(options: VectorOptions, vectors: &[Vec<f32>]) -> VectorIndex {
    let mut index = VectorIndex::with(options);
    for (doc, vector) in vectors.iter().enumerate() {
        index.insert(DocNo(doc as u32), vector).unwrap();
    }
    while index.work(64) > 0 {}
    index
}

pub fn draw(count: usize, dimensions: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut random = Random(seed);
    (0..count).map(|_| random.clustered(dimensions)).collect()
}

pub fn encoded(index: &VectorIndex) -> Vec<u8> {
    let mut bytes = Vec::new();
    index.encode(&mut bytes).unwrap();
    bytes
}
