use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::vector::VectorIndex;
use crate::{DocNo, Filter};

/// SplitMix64 (Steele, Lea, Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn centred(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 24) as f32 - 0.5
    }

    /// One of 20 clusters whose centres are the same for all seeds.
    pub fn clustered(&mut self, dimensions: usize) -> Vec<f32> {
        let mut centre = Self(self.next() % 20);
        (0..dimensions).map(|_| centre.centred() + self.centred()).collect()
    }
}

/// Reference implementation: unquantised vectors, cosine by its definition.
#[derive(Debug, Clone, Default)]
pub struct Model(pub BTreeMap<u32, Vec<f32>>);

impl Model {
    pub fn cosine(&self, doc: u32, query: &[f32]) -> f32 {
        cosine(&self.0[&doc], query)
    }

    /// Cosines of all admitted vectors, best first.
    pub fn nearest(&self, query: &[f32], filter: Filter<'_>) -> Vec<(u32, f32)> {
        let admitted = self.0.keys().filter(|doc| filter.admits(DocNo(**doc)));
        let mut all: Vec<(u32, f32)> = admitted.map(|doc| (*doc, self.cosine(*doc, query))).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }
}

pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    (dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()) as f32
}

#[derive(Debug, Clone)]
pub enum Step {
    Insert(u32, Vec<f32>),
    Remove(u32),
    Work(usize),
}

/// Few document numbers, so that they are replaced and reused; few distinct values, so that there are equal and
/// opposite vectors.
pub fn steps(dimensions: usize, docs: u32, most: usize) -> impl Strategy<Value = Vec<Step>> {
    let vector = proptest::collection::vec((-4_i8..=4).prop_map(f32::from), dimensions);
    let vector = vector.prop_filter("a direction", |vector| vector.iter().any(|x| *x != 0.0));
    let kind = move |kind| (0..dimensions).map(|at| f32::from(u8::from(at == kind))).collect::<Vec<f32>>();
    let vector = prop_oneof![3 => vector, 1 => (0_usize..3).prop_map(kind)];
    let step = prop_oneof![
        6 => (0..docs, vector).prop_map(|(doc, vector)| Step::Insert(doc, vector)),
        2 => (0..docs).prop_map(Step::Remove),
        1 => (0_usize..40).prop_map(Step::Work),
    ];
    proptest::collection::vec(step, 1..most)
}

pub fn apply(index: &mut VectorIndex, model: &mut Model, step: &Step) {
    match step {
        Step::Insert(doc, vector) => {
            index.insert(DocNo(*doc), vector).unwrap();
            model.0.insert(*doc, vector.clone());
        }
        Step::Remove(doc) => {
            index.remove(DocNo(*doc));
            model.0.remove(doc);
        }
        Step::Work(budget) => {
            index.work(*budget);
            if let Some(graph) = &index.graph {
                graph.check(&index.vectors);
            }
        }
    }
}
