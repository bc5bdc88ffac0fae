//! Index of moving points.

use std::collections::HashMap;
use std::hash::Hash;

use rstar::primitives::GeomWithData;
use rstar::{AABB, RTree};

use crate::earth::circle_box;
use crate::{BBox, Point, Shape, distance_m};

/// A position in the tree and the slot of its entry.
type Entry = GeomWithData<[f64; 2], u32>;

/// Result of [`PointIndex::near`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbor<'a, K> {
    /// Key of the point.
    pub key: &'a K,
    /// Position of the point.
    pub point: Point,
    /// Great-circle distance in metres.
    pub distance_m: f64,
}

/// Points by key, in an R-tree.
#[derive(Debug, Clone)]
pub struct PointIndex<K> {
    slots: HashMap<K, u32>,
    entries: Vec<Option<(K, Point)>>,
    free: Vec<u32>,
    tree: RTree<Entry>,
}

impl<K> Default for PointIndex<K> {
    fn default() -> Self {
        Self { slots: HashMap::new(), entries: Vec::new(), free: Vec::new(), tree: RTree::new() }
    }
}

impl<K: Clone + Eq + Hash> PointIndex<K> {
    /// Builds an index at once, which is faster and yields a better tree than repeated inserts. If a key occurs more
    /// than once, its last point is used. Points that [`Point::check`] rejects are skipped.
    pub fn bulk(points: impl IntoIterator<Item = (K, Point)>) -> Self {
        let mut index = Self::default();
        for (key, point) in points {
            if point.check().is_ok() {
                index.place(key, point);
            }
        }
        let entries = index.entries.iter().zip(0..);
        let boxed = |(entry, slot): (&Option<(K, Point)>, u32)| Some(Entry::new(entry.as_ref()?.1.xy(), slot));
        index.tree = RTree::bulk_load(entries.filter_map(boxed).collect());
        index
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns whether the index is empty.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns the position of a key.
    pub fn get(&self, key: &K) -> Option<Point> {
        self.entry(*self.slots.get(key)?).map(|(_, point)| *point)
    }

    /// Sets the position of a key; returns the previous one. A point that [`Point::check`] rejects removes the key.
    pub fn insert(&mut self, key: K, point: Point) -> Option<Point> {
        if point.check().is_err() {
            return self.remove(&key);
        }
        let (slot, before) = self.place(key, point);
        match before {
            Some(before) if before.xy() == point.xy() => {}
            Some(before) => {
                self.tree.remove(&Entry::new(before.xy(), slot));
                self.tree.insert(Entry::new(point.xy(), slot));
            }
            None => self.tree.insert(Entry::new(point.xy(), slot)),
        }
        before
    }

    /// Removes a key; returns its position.
    pub fn remove(&mut self, key: &K) -> Option<Point> {
        let slot = self.slots.remove(key)?;
        let (_, point) = self.entries.get_mut(usize::try_from(slot).ok()?)?.take()?;
        self.tree.remove(&Entry::new(point.xy(), slot));
        self.free.push(slot);
        Some(point)
    }

    /// Returns the nearest `limit` points within `radius_m`, nearest first, including those across the antimeridian and
    /// the poles.
    pub fn near(&self, center: &Point, radius_m: f64, limit: usize) -> Vec<Neighbor<'_, K>> {
        if center.check().is_err() || radius_m.is_nan() || radius_m < 0.0 {
            return Vec::new();
        }
        let mut found: Vec<Neighbor<'_, K>> = self
            .in_box(circle_box(center, radius_m))
            .map(|(key, point)| Neighbor { key, point: *point, distance_m: distance_m(center, point) })
            .filter(|near| near.distance_m <= radius_m)
            .collect();
        let order = |one: &Neighbor<'_, K>, other: &Neighbor<'_, K>| one.distance_m.total_cmp(&other.distance_m);
        if limit > 0 && limit < found.len() {
            found.select_nth_unstable_by(limit - 1, order);
        }
        found.truncate(limit);
        found.sort_unstable_by(order);
        found
    }

    /// Returns the points inside a shape or on its edge, in no particular order.
    pub fn within<'a>(&'a self, shape: &'a Shape) -> impl Iterator<Item = (&'a K, Point)> {
        self.in_box(shape.bbox()).filter(|(_, point)| shape.contains(point)).map(|(key, point)| (key, *point))
    }

    /// Returns the points inside a box or on its edge, in no particular order.
    pub fn within_bbox(&self, bbox: BBox) -> impl Iterator<Item = (&K, Point)> {
        self.in_box(bbox).filter(move |(_, point)| bbox.contains(point)).map(|(key, point)| (key, *point))
    }

    /// Iterates over all points in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, Point)> {
        self.entries.iter().flatten().map(|(key, point)| (key, *point))
    }

    /// Returns the entries inside a box, including those at the same place as its edge: 180 and -180, and every
    /// longitude of a pole.
    fn in_box(&self, bbox: BBox) -> impl Iterator<Item = &(K, Point)> {
        let BBox { west, south, east, north } = bbox;
        let strip = |lon: f64| Some(([lon, south], [lon, north]));
        let pole = |lat: f64| Some(([-180.0, lat], [180.0, lat]));
        let (crosses, whole) = (bbox.crosses_antimeridian(), west <= -180.0 && east >= 180.0);
        let single = !crosses && !whole;
        // The rectangles are disjoint, so no entry is found twice.
        let beyond_east = if single && west <= -180.0 { strip(180.0) } else { None };
        let beyond_west = if single && east >= 180.0 { strip(-180.0) } else { None };
        let north_pole = if !whole && north >= 90.0 { pole(90.0) } else { None };
        let south_pole = if !whole && south <= -90.0 { pole(-90.0) } else { None };
        let poles = [north_pole, south_pole].into_iter().flatten();
        let open = [beyond_east, beyond_west].into_iter().flatten();
        let at_pole = move |lat: f64| !whole && lat.abs() >= 90.0;
        let plain = bbox.parts().chain(open).map(|rect| (rect, false));
        let rects = plain.chain(poles.map(|rect| (rect, true)));
        rects.flat_map(move |((low, high), polar)| {
            let found = self.tree.locate_in_envelope(AABB::from_corners(low, high));
            found.filter(move |entry| at_pole(entry.geom()[1]) == polar).filter_map(|entry| self.entry(entry.data))
        })
    }

    fn entry(&self, slot: u32) -> Option<&(K, Point)> {
        self.entries.get(usize::try_from(slot).ok()?)?.as_ref()
    }

    /// Sets a key's position in everything but the tree.
    fn place(&mut self, key: K, point: Point) -> (u32, Option<Point>) {
        if let Some(&slot) = self.slots.get(&key) {
            let entry = usize::try_from(slot).ok().and_then(|slot| self.entries.get_mut(slot));
            let before = entry.and_then(Option::as_mut).map(|(_, at)| std::mem::replace(at, point));
            return (slot, before);
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)
        });
        self.slots.insert(key.clone(), slot);
        if let Some(entry) = usize::try_from(slot).ok().and_then(|slot| self.entries.get_mut(slot)) {
            *entry = Some((key, point));
        }
        (slot, None)
    }
}
