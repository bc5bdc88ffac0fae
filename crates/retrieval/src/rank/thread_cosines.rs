use std::collections::HashMap;

use super::thread::neighbours;
use crate::DocNo;
use crate::collection::Collection;

/// Computes cosines of entries together with their thread neighbours: a turn of a conversation often means little alone.
pub(super) struct ThreadCosines<'a> {
    collection: &'a Collection,
    /// Of length 1.
    query: Vec<f32>,
    /// Vectors by entry, with their products with the query: each is read once, however often it is a neighbour.
    read: HashMap<DocNo, Option<(Vec<f32>, f32)>>,
}

/// Cosines of an entry with a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cosine {
    /// Cosine of the entry's own vector.
    pub own: f32,
    /// Cosine of the weighted sum of its vector and its neighbours'.
    pub whole: f32,
    /// Number of neighbours with a vector.
    pub neighbours: usize,
}

impl<'a> ThreadCosines<'a> {
    pub(super) fn new(collection: &'a Collection, query: &[f32]) -> Self {
        let norm = length(query);
        let query = query.iter().map(|x| if norm > 0.0 { x / norm } else { 0.0 }).collect();
        Self { collection, query, read: HashMap::new() }
    }

    /// Returns the cosines of an entry; `None` if it has no vector.
    pub(super) fn cosine(&mut self, doc: DocNo) -> Option<Cosine> {
        self.read(doc)?;
        let collection = self.collection;
        let near: Vec<(DocNo, f32)> =
            neighbours(collection, doc).filter(|(other, _)| self.read(*other).is_some()).collect();
        let (vector, own) = self.known(doc)?;
        if near.is_empty() {
            return Some(Cosine { own, whole: own, neighbours: 0 });
        }
        let mut sum = vector.to_vec();
        let mut product = own;
        for (vector, other, weight) in near.iter().filter_map(|(other, weight)| {
            let (vector, product) = self.known(*other)?;
            Some((vector, product, *weight))
        }) {
            product += weight * other;
            sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += weight * x);
        }
        let norm = length(&sum);
        let whole = if norm > 0.0 { (product / norm).clamp(-1.0, 1.0) } else { own };
        Some(Cosine { own, whole, neighbours: near.len() })
    }

    fn known(&self, doc: DocNo) -> Option<(&[f32], f32)> {
        self.read.get(&doc)?.as_ref().map(|(vector, product)| (&**vector, *product))
    }

    fn read(&mut self, doc: DocNo) -> Option<f32> {
        let Self { collection, query, read } = self;
        let entry = read.entry(doc).or_insert_with(|| {
            let vector = collection.vector_index().get(doc)?;
            let product = vector.iter().zip(&*query).map(|(a, b)| a * b).sum();
            Some((vector, product))
        });
        entry.as_ref().map(|(_, product)| *product)
    }
}

fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|x| x * x).sum::<f32>().sqrt()
}
