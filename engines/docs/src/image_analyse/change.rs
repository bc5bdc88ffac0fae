//! What changed between two pictures.

use image::imageops::{FilterType, resize};
use image::{GrayImage, ImageBuffer};
use muster_engine::prelude::*;
use muster_media::Rgb;

use super::Change;

/// Half of the window of 11, its standard deviation, and the constants of Wang et al. for levels of 0 to 255.
const RADIUS: usize = 5;
const SIGMA: f64 = 1.5;
const C1: f64 = (0.01 * 255.0) * (0.01 * 255.0);
const C2: f64 = (0.03 * 255.0) * (0.03 * 255.0);
/// A pixel whose similarity is lower has changed; smaller areas than this share of the picture are noise.
const CHANGED: f64 = 0.5;
const SMALLEST: f64 = 0.0005;
const MAX_BOXES: usize = 50;
/// Pictures of other proportions show something else.
const PROPORTIONS: f64 = 0.02;

/// Compares two pictures; the earlier is scaled to the size of the later.
pub(super) fn between(before: &Rgb, now: &Rgb) -> Result<Change, Failure> {
    let ratio = |picture: &Rgb| f64::from(picture.width()) / f64::from(picture.height());
    if (ratio(before) / ratio(now) - 1.0).abs() > PROPORTIONS {
        let message = format!(
            "has other proportions: {} by {} pixels, and image has {} by {}: crop one of them",
            before.width(),
            before.height(),
            now.width(),
            now.height()
        );
        return Err(Failure::invalid(&["previous"], message));
    }
    let (width, height) = (now.width(), now.height());
    let empty = || Failure::invalid(&["previous"], "has no pixels");
    let now = grey(now).ok_or_else(empty)?;
    let mut before = grey(before).ok_or_else(empty)?;
    if before.dimensions() != (width, height) {
        before = resize(&before, width, height, FilterType::Lanczos3);
    }
    let (width, height) = (width as usize, height as usize);
    let map = similarity(before.as_raw(), now.as_raw(), width, height);
    // As scikit-image: the border, where windows are mirrored, does not count, unless there is nothing else.
    let inside = |at: usize, all: usize| all <= 2 * RADIUS || (at >= RADIUS && at + RADIUS < all);
    let (mut sum, mut count) = (0.0, 0.0_f64);
    for (_, row) in map.chunks_exact(width).enumerate().filter(|(y, _)| inside(*y, height)) {
        for (_, value) in row.iter().enumerate().filter(|(x, _)| inside(*x, width)) {
            sum += value;
            count += 1.0;
        }
    }
    let changed: Vec<bool> = map.iter().map(|value| *value < CHANGED).collect();
    let score = changed.iter().filter(|changed| **changed).count() as f64 / changed.len() as f64;
    Ok(Change { score, ssim: sum / count.max(1.0), boxes: boxes(changed, width, height) })
}

fn grey(picture: &Rgb) -> Option<GrayImage> {
    let luma: Vec<u8> = picture.luma()?.rows().flatten().copied().collect();
    ImageBuffer::from_raw(picture.width(), picture.height(), luma)
}

/// The structural similarity at each pixel.
fn similarity(before: &[u8], now: &[u8], width: usize, height: usize) -> Vec<f64> {
    let x: Vec<f64> = before.iter().map(|p| f64::from(*p)).collect();
    let y: Vec<f64> = now.iter().map(|p| f64::from(*p)).collect();
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).collect::<Vec<f64>>();
    let mean = |values: &[f64]| blurred(values, width, height);
    let (mean_x, mean_y) = (mean(&x), mean(&y));
    let (xx, yy, xy) = (mean(&product(&x, &x)), mean(&product(&y, &y)), mean(&product(&x, &y)));
    mean_x
        .iter()
        .zip(&mean_y)
        .zip(xx.iter().zip(&yy))
        .zip(&xy)
        .map(|(((mx, my), (xx, yy)), xy)| {
            let (vx, vy, cov) = (xx - mx * mx, yy - my * my, xy - mx * my);
            ((2.0 * mx * my + C1) * (2.0 * cov + C2)) / ((mx * mx + my * my + C1) * (vx + vy + C2))
        })
        .collect()
}

/// Means by a Gaussian of 11 by 11; beyond a border the picture is mirrored, its edge pixel repeated.
fn blurred(values: &[f64], width: usize, height: usize) -> Vec<f64> {
    let raw: Vec<f64> = (0..=2 * RADIUS)
        .map(|at| {
            let away = at as f64 - RADIUS as f64;
            libm::exp(-away * away / (2.0 * SIGMA * SIGMA))
        })
        .collect();
    let total: f64 = raw.iter().sum();
    let kernel: Vec<f64> = raw.iter().map(|weight| weight / total).collect();
    let mirrored = |at: isize, all: usize| {
        let period = 2 * all as isize;
        let at = at.rem_euclid(period) as usize;
        if at < all { at } else { 2 * all - 1 - at }
    };
    let mut across = Vec::with_capacity(values.len());
    for row in values.chunks_exact(width) {
        for x in 0..width {
            let near = |(offset, weight): (usize, &f64)| {
                let at = mirrored(x as isize + offset as isize - RADIUS as isize, width);
                row.get(at).copied().unwrap_or(0.0) * weight
            };
            across.push(kernel.iter().enumerate().map(near).sum::<f64>());
        }
    }
    let mut out = vec![0.0; values.len()];
    for (y, line) in out.chunks_exact_mut(width).enumerate() {
        for (offset, weight) in kernel.iter().enumerate() {
            let at = mirrored(y as isize + offset as isize - RADIUS as isize, height);
            let source = across.get(at * width..(at + 1) * width).unwrap_or_default();
            line.iter_mut().zip(source).for_each(|(sum, value)| *sum += value * weight);
        }
    }
    out
}

/// Boxes around connected areas that changed, the largest first, as shares of width and height from the top left.
fn boxes(mut changed: Vec<bool>, width: usize, height: usize) -> Vec<Bbox> {
    let least = ((width * height) as f64 * SMALLEST).max(4.0) as usize;
    let mut found = Vec::new();
    for start in 0..changed.len() {
        if !changed.get(start).copied().unwrap_or(false) {
            continue;
        }
        let (mut left, mut right, mut top, mut bottom, mut size) = (width, 0, height, 0, 0_usize);
        let mut open = vec![start];
        if let Some(pixel) = changed.get_mut(start) {
            *pixel = false;
        }
        while let Some(at) = open.pop() {
            let (x, y) = (at % width, at / width);
            (left, right, top, bottom) = (left.min(x), right.max(x), top.min(y), bottom.max(y));
            size += 1;
            let mut visit = |inside: bool, at: usize| {
                if let Some(pixel) = changed.get_mut(at).filter(|pixel| inside && **pixel) {
                    *pixel = false;
                    open.push(at);
                }
            };
            visit(x + 1 < width, at + 1);
            visit(x > 0, at.wrapping_sub(1));
            visit(y + 1 < height, at + width);
            visit(y > 0, at.wrapping_sub(width));
        }
        if size >= least {
            found.push((size, left, top, right + 1, bottom + 1));
        }
    }
    found.sort_by(|a, b| b.cmp(a));
    let share = |at: usize, all: usize| at as f64 / all as f64;
    found
        .into_iter()
        .take(MAX_BOXES)
        .map(|(_, left, top, right, bottom)| Bbox {
            west: share(left, width),
            south: share(top, height),
            east: share(right, width),
            north: share(bottom, height),
        })
        .collect()
}
