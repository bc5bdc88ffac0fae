mod exact;
mod graph;
mod model;
mod parts;
mod stored;

use self::model::Random;
use crate::DocNo;
use crate::vector::{VectorIndex, VectorOptions};

/// Searched by many threads while a clone is written by another.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<VectorIndex>();
};

/// A graph of few links that is used from 100 vectors on.
pub fn small(dimensions: usize) -> VectorOptions {
    VectorOptions {
        exact_below: 100,
        links: 8,
        build_breadth: 32,
        search_breadth: 40,
        ..VectorOptions::new(dimensions)
    }
}

/// An index of so many drawn vectors, numbered from 0, its graph complete.
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
