//! Measures searches and updates of the indexes: `cargo bench -p muster-geo`. Synthetic, uniformly distributed data
//! with a fixed seed, one thread.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use muster_geo::{Geometry, GeometryError, Point, PointIndex, Shape, ShapeIndex, h3_cell};

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let high = u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or_default();
        f64::from(high) / f64::from(u32::MAX)
    }

    fn place(&mut self) -> Point {
        Point::new(self.unit() * 360.0 - 180.0, self.unit() * 170.0 - 85.0)
    }
}

fn regular_polygon(center: Point, radius: f64, corners: u32) -> Result<Shape, GeometryError> {
    let step = std::f64::consts::TAU / f64::from(corners);
    let corner = |n: u32| (f64::from(n % corners) * step).sin_cos();
    let at =
        |(sin, cos): (f64, f64)| Point::new(center.lon + radius * cos, (center.lat + radius * sin).clamp(-90.0, 90.0));
    Geometry::Polygon(vec![(0..=corners).map(corner).map(at).collect()]).shape()
}

fn measure<T>(what: &str, times: u32, mut one: impl FnMut() -> T) {
    let begun = Instant::now();
    for _ in 0..times {
        black_box(one());
    }
    println!("{what:<58} {:>12.3} µs", begun.elapsed().as_secs_f64() * 1e6 / f64::from(times));
}

fn points(count: u32) -> Result<(), GeometryError> {
    let mut random = Random(7);
    let all: Vec<(u32, Point)> = (0..count).map(|key| (key, random.place())).collect();
    let begun = Instant::now();
    let mut index = PointIndex::bulk(all);
    println!("{count} points at once: {:.0} ms", begun.elapsed().as_secs_f64() * 1e3);
    let mut key = 0;
    measure(&format!("move one of {count}, anywhere"), 200_000, || {
        key = (key + 7_919) % count;
        index.insert(key, random.place())
    });
    measure(&format!("move one of {count}, by metres"), 200_000, || {
        key = (key + 7_919) % count;
        let at = index.get(&key).unwrap_or(Point::new(0.0, 0.0));
        index.insert(key, Point::new(at.lon, (at.lat + 1e-4).min(90.0)))
    });
    let mut hits = 0;
    measure(&format!("near, 500 km, of {count}"), 2_000, || {
        hits += index.near(&random.place(), 500_000.0, 1_000).len()
    });
    println!("    {} hits each", hits / 2_000);
    let shapes: Result<Vec<Shape>, _> = (0..500).map(|_| regular_polygon(random.place(), 6.0, 32)).collect();
    let (shapes, mut next, mut hits) = (shapes?, 0, 0);
    measure(&format!("within a 32-gon of 12 degrees, of {count}"), 500, || {
        hits += shapes.get(next).map_or(0, |shape| index.within(shape).count());
        next += 1;
    });
    println!("    {} hits each", hits / 500);
    Ok(())
}

fn fences(count: u32) -> Result<(), GeometryError> {
    let mut random = Random(11);
    let mut index = ShapeIndex::default();
    // The size keeps the number of hits constant for each number of fences: 11, as in the contract's figures.
    let radius = (11.0 * 360.0 * 170.0 / (std::f64::consts::PI * f64::from(count))).sqrt();
    for key in 0..count {
        index.insert(key, Arc::new(regular_polygon(random.place(), radius.min(30.0), 32)?));
    }
    let mut hits = 0;
    measure(&format!("fences a point is in, of {count}"), 50_000, || hits += index.containing(&random.place()).len());
    println!("    {:.1} hits each", f64::from(u32::try_from(hits).unwrap_or(u32::MAX)) / 50_000.0);
    Ok(())
}

fn main() -> Result<(), GeometryError> {
    for count in [100_000, 1_000_000] {
        points(count)?;
    }
    for count in [1_000, 10_000, 100_000] {
        fences(count)?;
    }
    let mut random = Random(3);
    measure("H3 cell of a point, resolution 7", 200_000, || h3_cell(&random.place(), 7));
    measure("check and prepare a ring of 9,999 corners", 20, || {
        regular_polygon(Point::new(0.0, 0.0), 10.0, 9_999).is_ok()
    });
    let comb = |n: u32| Point::new(f64::from(n) * 1e-3 + f64::from(n % 2) * 50.0, f64::from(n % 2) * 50.0);
    let mut comb: Vec<Point> = (0..9_000).map(comb).collect();
    comb.extend([Point::new(80.0, 60.0), Point::new(-10.0, 60.0)]);
    comb.extend(comb.first().copied());
    let comb = Geometry::Polygon(vec![comb]);
    measure("the same of a comb of 9,000 long teeth", 2, || comb.check().is_ok());
    Ok(())
}
