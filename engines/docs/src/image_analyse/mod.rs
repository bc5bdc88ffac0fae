//! q240: image quality and content measures.

mod change;
mod colours;

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_media::measure::{self, Measures};

use crate::picture;

/// Longest side at which two pictures are compared.
const COMPARED: u32 = 1_024;

#[derive(Input)]
pub struct Input {
    image: Bytes,
    previous: Option<Bytes>,
    colours: usize,
}

#[derive(Output)]
pub struct Output {
    sharpness: Option<f64>,
    brightness: f64,
    contrast: f64,
    dominant: Vec<Dominant>,
    shares: BTreeMap<&'static str, f64>,
    change: Option<Change>,
    quality: Quality,
    description: String,
}

/// A colour and its share of the pixels.
#[derive(Output)]
struct Dominant {
    hex: String,
    share: f64,
}

/// How two pictures differ.
#[derive(Output)]
struct Change {
    score: f64,
    ssim: f64,
    boxes: Vec<Bbox>,
}

#[derive(Clone, Copy, PartialEq, Words)]
enum Quality {
    Good,
    Fair,
    Poor,
}

/// Measures a picture, and what changed since an earlier one.
///
/// # Errors
/// `Invalid`, `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let (_, decoded) = picture::decoded(&input.image.0, &["image"], picture::LIMITS.side, cx)?;
    let luma = decoded.luma().ok_or_else(|| Failure::invalid(&["image"], "has no pixels"))?;
    let measures = measure::measure(&luma);
    if measures.sharpness.is_none() {
        cx.warn("too_small: a picture of less than 3 by 3 pixels has no sharpness");
    }
    let dominant = colours::dominant(&decoded, input.colours);
    let shares = colours::shares(&decoded);
    let size = (decoded.width(), decoded.height());
    drop(decoded);
    let change = input.previous.map(|previous| {
        let (_, now) = picture::decoded(&input.image.0, &["image"], COMPARED, cx)?;
        let (_, before) = picture::decoded(&previous.0, &["previous"], COMPARED, cx)?;
        change::between(&before, &now)
    });
    let change = change.transpose()?;
    let (quality, faults) = judged(&measures);
    let description = described(size, &measures, &faults, &shares, change.as_ref());
    Ok(Output {
        sharpness: measures.sharpness,
        brightness: measures.brightness,
        contrast: measures.contrast,
        dominant,
        shares,
        change,
        quality,
        description,
    })
}

/// Rules of thumb, not a measure: what one would see at a glance.
fn judged(measures: &Measures) -> (Quality, Vec<&'static str>) {
    let mut faults = Vec::new();
    if measures.blank {
        faults.push("of one shade");
    }
    if measures.brightness < 0.15 {
        faults.push("dark");
    } else if measures.brightness > 0.9 {
        faults.push("bright");
    }
    if measures.contrast < 0.06 {
        faults.push("of little contrast");
    }
    if measures.sharpness.is_some_and(|sharpness| sharpness < 50.0) {
        faults.push("blurred or without detail");
    }
    let quality = match (measures.blank, faults.len()) {
        (true, _) | (_, 2..) => Quality::Poor,
        (_, 1) => Quality::Fair,
        _ => Quality::Good,
    };
    (quality, faults)
}

fn described(
    (width, height): (u32, u32),
    measures: &Measures,
    faults: &[&str],
    shares: &BTreeMap<&'static str, f64>,
    change: Option<&Change>,
) -> String {
    let mut text = format!("{width} by {height} pixels, mean brightness {:.0} %", measures.brightness * 100.0);
    if !faults.is_empty() {
        text.push_str(&format!("; {}", faults.join(", ")));
    }
    let large: Vec<String> = shares
        .iter()
        .filter(|(_, share)| **share >= 0.1)
        .map(|(name, share)| format!("{:.0} % {name}-coloured", share * 100.0))
        .collect();
    if !large.is_empty() {
        text.push_str(&format!("; {}", large.join(", ")));
    }
    if let Some(change) = change {
        text.push_str(&format!("; {:.0} % of it changed, SSIM {:.2}", change.score * 100.0, change.ssim));
    }
    text.push('.');
    text
}
