//! Index of shapes.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use rstar::primitives::{GeomWithData, Rectangle};
use rstar::{AABB, RTree};

use crate::{BBox, Point, Shape};

/// Bounding box of a part of a shape, and the slot of its entry.
type Entry = GeomWithData<Rectangle<[f64; 2]>, u32>;

/// Shapes by key, with their bounding boxes in an R-tree.
#[derive(Debug, Clone)]
pub struct ShapeIndex<K> {
    slots: HashMap<K, u32>,
    entries: Vec<Option<(K, Arc<Shape>)>>,
    free: Vec<u32>,
    tree: RTree<Entry>,
}

impl<K> Default for ShapeIndex<K> {
    fn default() -> Self {
        Self { slots: HashMap::new(), entries: Vec::new(), free: Vec::new(), tree: RTree::new() }
    }
}

impl<K: Clone + Eq + Hash> ShapeIndex<K> {
    /// Returns the number of shapes.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns whether the index is empty.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns the shape of a key.
    pub fn get(&self, key: &K) -> Option<&Arc<Shape>> {
        self.entry(*self.slots.get(key)?).map(|(_, shape)| shape)
    }

    /// Sets the shape of a key; returns the previous one.
    pub fn insert(&mut self, key: K, shape: Arc<Shape>) -> Option<Arc<Shape>> {
        let before = self.remove(&key);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)
        });
        for entry in boxes(&shape, slot) {
            self.tree.insert(entry);
        }
        self.slots.insert(key.clone(), slot);
        if let Some(entry) = usize::try_from(slot).ok().and_then(|slot| self.entries.get_mut(slot)) {
            *entry = Some((key, shape));
        }
        before
    }

    /// Removes a key; returns its shape.
    pub fn remove(&mut self, key: &K) -> Option<Arc<Shape>> {
        let slot = self.slots.remove(key)?;
        let (_, shape) = self.entries.get_mut(usize::try_from(slot).ok()?)?.take()?;
        for entry in boxes(&shape, slot) {
            self.tree.remove(&entry);
        }
        self.free.push(slot);
        Some(shape)
    }

    /// Returns the shapes that contain a point or have it on their edge, in no particular order.
    pub fn containing(&self, point: &Point) -> Vec<&K> {
        let Point { lon, lat, .. } = *point;
        if point.check().is_err() {
            return Vec::new();
        }
        let slots = if lat.abs() >= 90.0 {
            self.slots_in([([-180.0, lat], [180.0, lat])])
        } else if lon.abs() >= 180.0 {
            self.slots_in([([lon, lat], [lon, lat]), ([-lon, lat], [-lon, lat])])
        } else {
            self.slots_in([([lon, lat], [lon, lat])])
        };
        self.of(slots).filter(|(_, shape)| shape.contains(point)).map(|(key, _)| key).collect()
    }

    /// Returns the shapes that share a point with a box, in no particular order.
    pub fn intersecting(&self, bbox: &BBox) -> Vec<&K> {
        let pole = |lat: f64| (bbox.south..=bbox.north).contains(&lat).then_some(([-180.0, lat], [180.0, lat]));
        let edge = |at: f64| {
            let there = bbox.parts().any(|([west, _], [east, _])| west <= at && at <= east);
            there.then_some(([-at, bbox.south], [-at, bbox.north]))
        };
        let same_place = [pole(-90.0), pole(90.0), edge(-180.0), edge(180.0)];
        let slots = self.slots_in(bbox.parts().chain(same_place.into_iter().flatten()));
        self.of(slots).filter(|(_, shape)| shape.intersects(bbox)).map(|(key, _)| key).collect()
    }

    fn slots_in(&self, rects: impl IntoIterator<Item = ([f64; 2], [f64; 2])>) -> Vec<u32> {
        let rects = rects.into_iter().map(|(low, high)| AABB::from_corners(low, high));
        let found = rects.flat_map(|rect| self.tree.locate_in_envelope_intersecting(rect)).map(|entry| entry.data);
        let mut slots: Vec<u32> = found.collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    fn of(&self, slots: Vec<u32>) -> impl Iterator<Item = &(K, Arc<Shape>)> {
        slots.into_iter().filter_map(|slot| self.entry(slot))
    }

    fn entry(&self, slot: u32) -> Option<&(K, Arc<Shape>)> {
        self.entries.get(usize::try_from(slot).ok()?)?.as_ref()
    }
}

fn boxes(shape: &Shape, slot: u32) -> impl Iterator<Item = Entry> {
    let rects = shape.boxes().flat_map(|bbox| bbox.parts());
    rects.map(move |(low, high)| Entry::new(Rectangle::from_corners(low, high), slot))
}
