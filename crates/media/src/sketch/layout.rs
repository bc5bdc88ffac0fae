//! Places figures: clusters of figures that belong together, in rows that do not overlap.

use super::kinds::Kind;
use super::rng::Rng;
use super::scene::{Place, Scene};

/// Layer of a figure, from far to near.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    Sky,
    Back,
    Front,
    Flyers,
}

impl Layer {
    pub(super) const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Sun | Kind::Moon | Kind::Sky => Self::Sky,
            Kind::Flyer => Self::Flyers,
            Kind::Back => Self::Back,
            _ => Self::Front,
        }
    }
}

/// Size of one picture of a figure, where a grown person is 1.25 high, and its layer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measure {
    pub(super) width: f32,
    pub(super) height: f32,
    pub(super) layer: Layer,
}

/// A rectangle; `y` grows downwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    pub(super) x: f32,
    pub(super) y: f32,
    pub(super) width: f32,
    pub(super) height: f32,
}

/// One picture to draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sprite {
    /// Index of its figure in the scene.
    pub(super) figure: usize,
    pub(super) area: Area,
    /// Whether it stands on the ground, so that it has a shadow.
    pub(super) grounded: bool,
}

/// Pictures that belong together, and the area that no other cluster of the row enters.
#[derive(Debug, Clone)]
pub(super) struct Block {
    #[cfg_attr(not(test), expect(dead_code, reason = "tests hold the rows to it"))]
    pub(super) area: Area,
    pub(super) sprites: Vec<Sprite>,
}

/// All pictures of a scene, by layer.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) sky: Vec<Block>,
    pub(super) back: Vec<Block>,
    pub(super) front: Vec<Block>,
    pub(super) flyers: Vec<Block>,
}

/// Figures that belong together; `y` is negative upwards from the ground, in units.
#[derive(Debug, Clone)]
struct Cluster {
    layer: Layer,
    width: f32,
    height: f32,
    parts: Vec<Sprite>,
}

/// Places the figures of a checked scene on a canvas; nothing that stands does so above the line `ground`.
pub(super) fn place(scene: &Scene, measures: &[Measure], canvas: (f32, f32), ground: f32, rng: &mut Rng) -> Layout {
    let clusters = clusters(scene, measures);
    let of = |layer: Layer| clusters.iter().filter(|cluster| cluster.layer == layer).cloned().collect::<Vec<_>>();
    let (sky, back, front, flyers) = (of(Layer::Sky), of(Layer::Back), of(Layer::Front), of(Layer::Flyers));
    let (width, height) = canvas;
    let least = width.min(height);
    let on_ground = !back.is_empty() || !front.is_empty();
    let area = |left: f32, right: f32, top: f32, bottom: f32| Area {
        x: left * width,
        y: top * height,
        width: (right - left) * width,
        height: (bottom - top) * height,
    };
    let air_top = 0.05;
    let air_bottom = if on_ground { 0.36 } else { 0.62 };
    let split = if sky.is_empty() || flyers.is_empty() { None } else { Some(0.56) };
    let sky_area = area(split.unwrap_or(0.05), 0.95, air_top, air_bottom - 0.04);
    let flyer_area = area(0.05, split.unwrap_or(0.95), air_top + 0.03, air_bottom);
    let back_bottom = if front.is_empty() { 0.84 } else { (ground / height).max(0.64) + 0.03 };
    let back_area = if front.is_empty() { area(0.04, 0.96, 0.14, 0.84) } else { area(0.02, 0.98, 0.12, back_bottom) };
    let front_top = if !back.is_empty() {
        0.58
    } else if sky.is_empty() && flyers.is_empty() {
        0.26
    } else {
        0.40
    };
    let front_area = area(0.04, 0.96, front_top, 0.93);
    let single = |count: usize, alone: f32, many: f32| if count == 1 { alone } else { many };
    let air = if on_ground {
        Cap { unit: 0.24, height: 0.40 }
    } else {
        Cap { unit: 0.9, height: single(flyers.len() + sky.len(), 0.5, 0.34) }
    };
    let front_cap = if back.is_empty() {
        Cap { unit: 1.1, height: single(front.len(), 0.56, 0.48) }
    } else {
        Cap { unit: 0.25, height: 0.36 }
    };
    let back_cap = if front.is_empty() { Cap { unit: 0.3, height: 0.66 } } else { Cap { unit: 0.19, height: 0.54 } };
    Layout {
        sky: pack(sky, sky_area, 2, air.scale(least), None, rng),
        back: pack(back, back_area, 1, back_cap.scale(least), None, rng),
        front: pack(front, front_area, 4, front_cap.scale(least), Some(ground), rng),
        flyers: pack(flyers, flyer_area, 3, air.scale(least), None, rng),
    }
}

/// Largest scale of a row: pixels a unit, and pixels of its tallest cluster.
#[derive(Debug, Clone, Copy)]
struct Cap {
    unit: f32,
    height: f32,
}

impl Cap {
    /// In pixels, from fractions of the canvas's shorter side.
    fn scale(self, least: f32) -> Self {
        Self { unit: self.unit * least, height: self.height * least }
    }
}

/// Space between clusters, in units.
const GAP: f32 = 0.14;

/// Places clusters in the number of rows that lets them be largest; tall ones stand behind. No row stands above the line
/// `ground`, if there is one.
fn pack(
    mut clusters: Vec<Cluster>,
    area: Area,
    most_rows: usize,
    cap: Cap,
    ground: Option<f32>,
    rng: &mut Rng,
) -> Vec<Block> {
    let tallest = clusters.iter().map(|cluster| cluster.height).fold(0.0, f32::max);
    if clusters.is_empty() || tallest <= 0.0 {
        return Vec::new();
    }
    let limit = cap.unit.min(cap.height / tallest);
    let mut best: Option<(f32, Vec<Vec<Cluster>>)> = None;
    for count in 1..=most_rows.min(clusters.len()) {
        if count == 2 {
            clusters.sort_by(|a, b| b.height.total_cmp(&a.height));
        }
        let rows = split(&clusters, count);
        let width = rows.iter().map(|row| row_width(row) + GAP * (row.len() + 1) as f32).fold(0.0, f32::max);
        let height: f32 = rows.iter().map(|row| row_height(row)).sum::<f32>() + GAP * (count - 1) as f32;
        let mut scale = (area.width / width).min(area.height / height).min(limit);
        if let Some(ground) = ground.filter(|_| rows.len() > 1) {
            let near: f32 = rows.iter().skip(1).map(|row| row_height(row) + GAP).sum();
            scale = scale.min((area.y + area.height - ground).max(1.0) / near);
        }
        // A further row must be worth it.
        if best.as_ref().is_none_or(|(other, _)| scale > other * 1.08) {
            best = Some((scale, rows));
        }
    }
    let Some((scale, rows)) = best else { return Vec::new() };
    let height: f32 = rows.iter().map(|row| row_height(row)).sum::<f32>() + GAP * rows.len().saturating_sub(1) as f32;
    let slack = if ground.is_some() && rows.len() > 1 { 0.0 } else { 0.25 };
    let mut bottom = area.y + area.height - (area.height - height * scale).max(0.0) * slack;
    let mut blocks = Vec::new();
    for row in rows.iter().rev() {
        blocks.splice(0..0, place_row(row, area, bottom, scale, rng));
        bottom -= (row_height(row) + GAP) * scale;
    }
    blocks
}

fn row_width(row: &[Cluster]) -> f32 {
    row.iter().map(|cluster| cluster.width).sum()
}

fn row_height(row: &[Cluster]) -> f32 {
    row.iter().map(|cluster| cluster.height).fold(0.0, f32::max)
}

/// Splits clusters into rows of about equal width, in order.
fn split(clusters: &[Cluster], count: usize) -> Vec<Vec<Cluster>> {
    let total = row_width(clusters);
    let mut rows = vec![Vec::new(); count];
    let mut filled = 0.0;
    for cluster in clusters {
        let row = ((filled + cluster.width / 2.0) / total * count as f32) as usize;
        filled += cluster.width;
        if let Some(row) = rows.get_mut(row.min(count - 1)) {
            row.push(cluster.clone());
        }
    }
    rows.retain(|row| !row.is_empty());
    rows
}

/// Spreads a row over the width: the gaps share what is left, unevenly.
fn place_row(row: &[Cluster], area: Area, bottom: f32, scale: f32, rng: &mut Rng) -> Vec<Block> {
    let left = (area.width - row_width(row) * scale).max(0.0);
    let weights: Vec<f32> = (0..=row.len()).map(|_| rng.between(0.75, 1.25)).collect();
    let total: f32 = weights.iter().sum();
    let mut x = area.x;
    row.iter()
        .zip(&weights)
        .map(|(cluster, weight)| {
            x += left * weight / total;
            let at = Area {
                x,
                y: bottom - cluster.height * scale,
                width: cluster.width * scale,
                height: cluster.height * scale,
            };
            x += at.width;
            let sprites = cluster.parts.iter().map(|part| scaled(*part, at.x, bottom, scale)).collect();
            Block { area: at, sprites }
        })
        .collect()
}

fn scaled(part: Sprite, x: f32, bottom: f32, scale: f32) -> Sprite {
    let area = Area {
        x: x + part.area.x * scale,
        y: bottom + part.area.y * scale,
        width: part.area.width * scale,
        height: part.area.height * scale,
    };
    Sprite { area, ..part }
}

/// A picture alone is a cluster; figures that relate to one another are one together.
fn clusters(scene: &Scene, measures: &[Measure]) -> Vec<Cluster> {
    let layer = |index: usize| measures.get(index).map(|measure| measure.layer);
    let beside = |target: usize| -> f32 {
        let those = scene.figures.iter().zip(measures).filter(|(figure, _)| {
            figure.relation.is_some_and(|relation| relation.place == Place::Beside && relation.to == target)
        });
        those.map(|(figure, measure)| f32::from(figure.count) * measure.width).sum()
    };
    // What is in the sky stays there, whatever stands below it.
    let relation = |index: usize| {
        let relation = scene.figures.get(index)?.relation?;
        let bound = matches!(layer(index)?, Layer::Front | Layer::Back | Layer::Flyers)
            && matches!(layer(relation.to)?, Layer::Front | Layer::Back);
        // Many beside a house would be one long row with it, and so small; in a row of their own before it they are
        // large.
        let apart = relation.place == Place::Beside
            && layer(index)? != layer(relation.to)?
            && beside(relation.to) > measures.get(relation.to)?.width * 1.5;
        (bound && !apart).then_some(relation)
    };
    let mut clusters = Vec::new();
    for (index, (figure, measure)) in scene.figures.iter().zip(measures).enumerate() {
        if relation(index).is_some() {
            continue;
        }
        let followers: Vec<(usize, Place)> = (0..scene.figures.len())
            .filter_map(|other| {
                relation(other).filter(|relation| relation.to == index).map(|relation| (other, relation.place))
            })
            .collect();
        if followers.is_empty() {
            clusters.extend((0..figure.count).map(|_| row(index, 1, *measure)));
            continue;
        }
        let mut group = Group::new(row(index, figure.count, *measure));
        // Those at one side stand next to one another.
        for place in Place::ALL {
            let here = followers.iter().filter(|(_, other)| other == place);
            let rows = here
                .filter_map(|(other, _)| Some(row(*other, scene.figures.get(*other)?.count, *measures.get(*other)?)));
            if let Some(rows) = rows.reduce(side_by_side) {
                group.join(rows, *place);
            }
        }
        clusters.push(group.cluster);
    }
    clusters
}

/// Pictures of one figure side by side.
fn row(figure: usize, count: u8, measure: Measure) -> Cluster {
    let step = measure.width + GAP / 2.0;
    let parts = (0..count).map(|index| Sprite {
        figure,
        area: Area { x: f32::from(index) * step, y: -measure.height, width: measure.width, height: measure.height },
        grounded: true,
    });
    let width = f32::from(count) * step - GAP / 2.0;
    Cluster { layer: measure.layer, width, height: measure.height, parts: parts.collect() }
}

/// Two clusters as one, the second to the right of the first.
fn side_by_side(left: Cluster, right: Cluster) -> Cluster {
    let offset = left.width + GAP / 2.0;
    let moved = right.parts.iter().map(|part| scaled(*part, offset, 0.0, 1.0));
    Cluster {
        layer: left.layer,
        width: offset + right.width,
        height: left.height.max(right.height),
        parts: left.parts.iter().copied().chain(moved).collect(),
    }
}

/// A figure with those that relate to it.
#[derive(Debug)]
struct Group {
    cluster: Cluster,
    /// The figure itself: its left edge in the cluster, its width and height.
    left: f32,
    width: f32,
    height: f32,
}

impl Group {
    fn new(base: Cluster) -> Self {
        Self { left: 0.0, width: base.width, height: base.height, cluster: base }
    }

    /// Adds a row at a side of the figure.
    fn join(&mut self, row: Cluster, place: Place) {
        let (width, height) = (self.width, self.height);
        let fit = |wide: f32, tall: f32| (width * wide / row.width).min(height * tall / row.height).min(1.0);
        let centred = |scale: f32| self.left + (width - row.width * scale) / 2.0;
        let (scale, x, y, grounded) = match place {
            Place::On => {
                let scale = fit(1.0, 1.0);
                (scale, centred(scale), -height * 0.95, false)
            }
            Place::Above => {
                let scale = fit(1.2, 1.0);
                (scale, centred(scale), -self.cluster.height - 0.3, false)
            }
            Place::Under => {
                let scale = fit(1.0, 0.42);
                (scale, centred(scale), 0.0, true)
            }
            Place::Front => {
                let scale = fit(0.7, 0.6);
                (scale, self.left + width * 0.08, 0.0, true)
            }
            Place::Behind => (1.0, self.left + width * 0.55, -height * 0.14, false),
            Place::Left => (1.0, -row.width - GAP, 0.0, true),
            Place::Right | Place::Beside => (1.0, self.cluster.width + GAP, 0.0, true),
        };
        let moved =
            row.parts.iter().map(|part| Sprite { grounded: part.grounded && grounded, ..scaled(*part, x, y, scale) });
        let own = std::mem::take(&mut self.cluster.parts);
        let mut parts: Vec<Sprite> =
            if place == Place::Behind { moved.chain(own).collect() } else { own.into_iter().chain(moved).collect() };
        let left = parts.iter().map(|part| part.area.x).fold(0.0, f32::min);
        for part in &mut parts {
            part.area.x -= left;
        }
        self.left -= left;
        self.cluster.width = parts.iter().map(|part| part.area.x + part.area.width).fold(0.0, f32::max);
        self.cluster.height = parts.iter().map(|part| -part.area.y).fold(0.0, f32::max);
        self.cluster.parts = parts;
    }
}
