//! What is answered about a picture.

use muster_media::{Measures, hash};
use serde::Serialize;

use super::dicom::DicomCodes;
use super::{Kind, MetadataKind, Picture};
use crate::input::round;

/// Measures of the pixels. They say how a picture was taken, never what it shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    /// Variance of the Laplacian of luma 0 to 255; null for a picture without a pixel inside its border.
    pub sharpness: Option<f64>,
    /// Mean luma, 0 to 1.
    pub brightness: f64,
    /// Standard deviation of luma, 0 to 0.5.
    pub contrast: f64,
    /// Share of pixels that are entirely black or white.
    pub clipped_share: f64,
    /// Whether all but one in a thousand of the darkest and of the brightest pixels are within two of 256 levels.
    pub blank: bool,
}

impl From<&Measures> for Measured {
    fn from(found: &Measures) -> Self {
        Self {
            sharpness: found.sharpness.map(|value| round(value, 2)),
            brightness: round(found.brightness, 4),
            contrast: round(found.contrast, 4),
            clipped_share: round(found.clipped_share, 4),
            blank: found.blank,
        }
    }
}

/// What was found about a picture.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageBlock {
    /// Position in the request, from 0.
    pub index: usize,
    /// SHA-256 of its bytes.
    pub sha256: String,
    pub media_type: &'static str,
    pub width: u32,
    pub height: u32,
    /// Bits of a sample.
    pub bit_depth: u8,
    pub frames: u32,
    /// Null for DICOM, whose pixels are not read.
    pub measured: Option<Measured>,
    /// Index of the first picture with the same bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dicom: Option<DicomCodes>,
    /// Kinds of metadata, never values.
    pub metadata_found: Vec<MetadataKind>,
    /// Whether it is not blank and has at least 128 pixels a side (ours; no standard).
    pub usable: bool,
    /// Codes of what a reader has to know about the picture.
    pub issues: Vec<String>,
    pub interpretation: &'static str,
    /// What a provider's model wrote about it, where the operator and the request permit that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_findings: Option<ProviderFindings>,
}

/// What a provider's model wrote about a picture. It is quoted and changes nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProviderFindings {
    pub provider: String,
    pub model: String,
    pub text: String,
    /// Always false.
    pub verified: bool,
}

/// Fewest pixels of a side of a usable picture.
const LEAST_SIDE: u32 = 128;
/// Most bits in which the difference hashes of similar pictures differ.
const SIMILAR_BITS: u32 = 2;

/// Returns the blocks of pictures with the measures of those that were decoded, in their order.
#[must_use]
pub fn blocks(pictures: &[(Picture, Option<Measures>)]) -> Vec<ImageBlock> {
    let earlier = |index: usize| pictures.iter().take(index).enumerate();
    let block = |(index, (picture, measures)): (usize, &(Picture, Option<Measures>))| {
        let same = earlier(index).find(|(_, (other, _))| other.sha256 == picture.sha256);
        let duplicate_of = same.map(|(first, _)| first);
        let similar = earlier(index).find(|(_, (_, other))| duplicate_of.is_none() && are_similar(measures, other));
        let mut block = single(index, picture, measures.as_ref());
        if duplicate_of.is_some() {
            block.issues.push("duplicate".to_owned());
        }
        block.issues.extend(similar.map(|(other, _)| format!("similar_to_{other}")));
        ImageBlock { duplicate_of, ..block }
    };
    pictures.iter().enumerate().map(block).collect()
}

/// A blank picture has no features that could be similar.
fn are_similar(one: &Option<Measures>, other: &Option<Measures>) -> bool {
    let hash = |measures: &Option<Measures>| measures.filter(|found| !found.blank).map(|found| found.difference_hash);
    hash(one).zip(hash(other)).is_some_and(|(one, other)| hash::distance(one, other) <= SIMILAR_BITS)
}

fn single(index: usize, picture: &Picture, measures: Option<&Measures>) -> ImageBlock {
    let (media_type, width, height, bit_depth, frames, dicom) = match &picture.kind {
        Kind::Picture(header) => {
            (header.format.media_type(), header.width, header.height, header.bit_depth, header.frames, None)
        }
        Kind::Dicom(header) => {
            let codes = Some(header.codes.clone());
            ("application/dicom", header.columns, header.rows, header.bits, header.frames, codes)
        }
    };
    let small = width.min(height) < LEAST_SIDE;
    let blank = measures.is_some_and(|found| found.blank);
    let metadata_found = picture.metadata();
    let identifying = metadata_found.iter().any(|kind| matches!(kind, MetadataKind::Gps | MetadataKind::PatientTags));
    let unread = matches!(&picture.kind, Kind::Picture(header) if header.metadata.unread);
    let burned_in = dicom.as_ref().is_some_and(|codes| codes.burned_in_annotation == Some(true));
    let found = [
        (blank, "blank"),
        (small, "small"),
        (frames > 1, "several_frames"),
        (dicom.is_some(), "pixels_not_read"),
        (burned_in, "burned_in_annotation"),
        (identifying, "identifying_metadata"),
        (unread, "metadata_not_read"),
    ];
    ImageBlock {
        index,
        sha256: picture.sha256.clone(),
        media_type,
        width,
        height,
        bit_depth,
        frames,
        measured: measures.map(Measured::from),
        duplicate_of: None,
        dicom,
        metadata_found,
        usable: !blank && !small,
        issues: found.into_iter().filter(|(found, _)| *found).map(|(_, code)| code.to_owned()).collect(),
        interpretation: "not_interpreted",
        provider_findings: None,
    }
}
