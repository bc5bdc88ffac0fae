//! q237: image inspection.

use std::collections::BTreeMap;
use std::io::Cursor;

use exif::{Exif, Field, In, Tag, Value as ExifValue};
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use muster_engine::prelude::*;
use muster_engine::stack;
use muster_media::hash;
use muster_media::header::Header;
use muster_media::{Format, Orientation};

use crate::picture;

/// Largest block of Exif that is read, and longest value that is shown. Blocks of JPEG are at most 64 KiB.
const MAX_EXIF: usize = 256 << 10;
const MAX_VALUE: usize = 200;
/// Side to which pictures are shrunk to be compared with their thumbnails.
const COMPARED: u32 = 256;
/// Bits of 64 of the difference hash that a thumbnail may differ by.
const THUMBNAIL_BITS: u32 = 20;
const STACK: usize = 4 << 20;

/// Tags that are shown.
const TAGS: [Tag; 36] = [
    Tag::ImageDescription,
    Tag::Make,
    Tag::Model,
    Tag::Orientation,
    Tag::XResolution,
    Tag::YResolution,
    Tag::ResolutionUnit,
    Tag::Software,
    Tag::DateTime,
    Tag::Artist,
    Tag::Copyright,
    Tag::ExposureTime,
    Tag::FNumber,
    Tag::ExposureProgram,
    Tag::PhotographicSensitivity,
    Tag::DateTimeOriginal,
    Tag::DateTimeDigitized,
    Tag::OffsetTime,
    Tag::OffsetTimeOriginal,
    Tag::SubSecTimeOriginal,
    Tag::ExposureBiasValue,
    Tag::MeteringMode,
    Tag::Flash,
    Tag::FocalLength,
    Tag::FocalLengthIn35mmFilm,
    Tag::PixelXDimension,
    Tag::PixelYDimension,
    Tag::WhiteBalance,
    Tag::BodySerialNumber,
    Tag::CameraOwnerName,
    Tag::LensModel,
    Tag::LensSerialNumber,
    Tag::GPSAltitude,
    Tag::GPSDateStamp,
    Tag::GPSTimeStamp,
    Tag::GPSImgDirection,
];

/// Programs that edit pictures, by a part of their names.
const EDITORS: [&str; 14] = [
    "photoshop",
    "gimp",
    "lightroom",
    "snapseed",
    "pixelmator",
    "affinity",
    "paint",
    "picsart",
    "canva",
    "darktable",
    "rawtherapee",
    "capture one",
    "facetune",
    "imagemagick",
];

#[derive(Input)]
pub struct Input {
    image: Bytes,
}

#[derive(Output)]
pub struct Output {
    format: &'static str,
    width: u32,
    height: u32,
    color: String,
    exif: BTreeMap<String, String>,
    position: Option<LatLon>,
    taken_at: Option<Timestamp>,
    orientation: u8,
    warnings: Vec<String>,
    sha256: String,
}

/// Reads header and metadata, and looks for hints of edits and of private data.
///
/// # Errors
/// `Invalid`, `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let bytes = &input.image.0;
    let header = picture::header_of(bytes, &["image"])?;
    let mut warnings = Vec::new();
    let exif =
        stack::on_stack(cx, STACK, || Failure::invalid(&["image"], "has damaged Exif data"), || Ok(read(bytes)))?;
    let mut found = Found::default();
    if let Some(exif) = &exif {
        found = Found::of(exif, &header, &mut warnings);
    }
    privacy(&header, exif.is_some(), &mut warnings);
    match picture::decoded(bytes, &["image"], COMPARED, cx) {
        Ok((_, small)) => {
            if let Some(thumbnail) = exif.as_ref().and_then(thumbnail)
                && let Ok((_, thumbnail)) = picture::decoded(thumbnail, &["image"], COMPARED, cx)
                && let Some((of_picture, of_thumbnail)) = small.luma().zip(thumbnail.upright(header.orientation).luma())
            {
                let bits = hash::distance(hash::difference(&of_picture), hash::difference(&of_thumbnail));
                cx.step("thumbnail_distance", bits, "");
                if bits > THUMBNAIL_BITS {
                    warnings.push(format!("tamper: the thumbnail differs from the picture ({bits} of 64 bits)"));
                }
            }
        }
        Err(failure) => warnings.push(format!("damaged: {}", reason(&failure))),
    }
    Ok(Output {
        format: word(header.format),
        width: header.width,
        height: header.height,
        color: colour(&header, bytes),
        exif: found.exif,
        position: found.position,
        taken_at: found.taken_at,
        orientation: number(header.orientation),
        warnings,
        sha256: hash::sha256(bytes),
    })
}

fn reason(failure: &Failure) -> String {
    match failure {
        Failure::Invalid { problems } => problems.first().map_or_else(String::new, |problem| problem.message.clone()),
        other => other.to_string(),
    }
}

fn word(format: Format) -> &'static str {
    match format {
        Format::Png => "png",
        Format::Jpeg => "jpeg",
        Format::Webp => "webp",
        Format::Gif => "gif",
        Format::Bmp => "bmp",
    }
}

fn number(orientation: Orientation) -> u8 {
    match orientation {
        Orientation::Upright => 1,
        Orientation::Mirrored => 2,
        Orientation::UpsideDown => 3,
        Orientation::Flipped => 4,
        Orientation::Transposed => 5,
        Orientation::QuarterClockwise => 6,
        Orientation::Transversed => 7,
        Orientation::QuarterCounterclockwise => 8,
    }
}

fn colour(header: &Header, bytes: &[u8]) -> String {
    // Byte 25 of a PNG is its colour type: 3 is a palette.
    let palette = match header.format {
        Format::Png => bytes.get(25) == Some(&3),
        Format::Gif => true,
        _ => false,
    };
    let kind = match (header.channels, header.format) {
        (1, _) if palette => "palette",
        (1, Format::Bmp) => "palette or grey",
        (1, _) => "grey",
        (2, _) => "grey with alpha",
        (3, _) => "rgb",
        (4, Format::Jpeg) => "cmyk",
        (4, _) => "rgb with alpha",
        _ => "unknown",
    };
    format!("{kind}, {} bits", header.bit_depth)
}

fn read(bytes: &[u8]) -> Option<Exif> {
    let mut reader = exif::Reader::new();
    reader.continue_on_error(true);
    let read =
        reader.read_from_container(&mut Cursor::new(bytes)).or_else(|error| error.distill_partial_result(|_| ()));
    // Values are copied when they are asked for: a large block with many that overlap would be long.
    read.ok().filter(|exif| exif.buf().len() <= MAX_EXIF)
}

fn privacy(header: &Header, has_exif: bool, warnings: &mut Vec<String>) {
    let metadata = header.metadata;
    for (carried, what) in [
        (metadata.gps, "privacy: carries the position where it was taken"),
        (metadata.device, "privacy: carries the device or the software that made it"),
        (metadata.time, "privacy: carries the time when it was taken"),
    ] {
        if carried {
            warnings.push(what.to_owned());
        }
    }
    if metadata.unread && !has_exif {
        warnings.push("unread: has a block of metadata that was not read".to_owned());
    }
}

/// What the metadata says.
#[derive(Default)]
struct Found {
    exif: BTreeMap<String, String>,
    position: Option<LatLon>,
    taken_at: Option<Timestamp>,
}

impl Found {
    fn of(exif: &Exif, header: &Header, warnings: &mut Vec<String>) -> Self {
        let mut found = Self::default();
        for tag in TAGS {
            if let Some(field) = exif.get_field(tag, In::PRIMARY) {
                found.exif.insert(tag.to_string(), shown(field));
            }
        }
        found.position = position(exif);
        if found.position.is_none() && exif.get_field(Tag::GPSLatitude, In::PRIMARY).is_some() {
            warnings.push("damaged: the position is none of this world".to_owned());
        }
        let taken = time(exif, Tag::DateTimeOriginal, Tag::OffsetTimeOriginal);
        let satellite = satellite_time(exif);
        found.taken_at = match (taken, satellite) {
            (Some((local, Some(offset))), _) => offset.to_timestamp(local).ok(),
            (_, Some(satellite)) => Some(satellite),
            (Some((local, None)), None) => {
                warnings.push("time_zone: the time has no offset from UTC: taken_at reads it as UTC".to_owned());
                Offset::UTC.to_timestamp(local).ok()
            }
            (None, None) => None,
        };
        if let (Some((local, offset)), Some(satellite)) = (taken, satellite) {
            // Without an offset the clock may be anywhere on earth.
            let allowed = if offset.is_some() { 2 } else { 16 };
            let gap = offset
                .unwrap_or(Offset::UTC)
                .to_timestamp(local)
                .map(|taken| taken.duration_since(satellite).as_hours());
            if gap.is_ok_and(|hours| hours.abs() > allowed) {
                warnings.push("tamper: the clock and the satellites' time differ by hours".to_owned());
            }
        }
        hints(exif, header, taken, warnings);
        found
    }
}

/// Hints that a picture was changed. Each has harmless causes too.
fn hints(exif: &Exif, header: &Header, taken: Option<(DateTime, Option<Offset>)>, warnings: &mut Vec<String>) {
    if let Some(software) = exif.get_field(Tag::Software, In::PRIMARY).map(shown) {
        let name = software.to_lowercase();
        if EDITORS.iter().any(|editor| name.contains(editor)) {
            warnings.push(format!("tamper: saved by a program that edits pictures ({software})"));
        }
    }
    if let (Some((taken, _)), Some((changed, _))) = (taken, time(exif, Tag::DateTime, Tag::OffsetTime))
        && changed > taken
        && taken.duration_until(changed).as_secs() > 60
    {
        warnings.push("tamper: changed after it was taken".to_owned());
    }
    let size = |tag| exif.get_field(tag, In::PRIMARY).and_then(|field| field.value.get_uint(0));
    if let (Some(width), Some(height)) = (size(Tag::PixelXDimension), size(Tag::PixelYDimension)) {
        let (stored, turned) = ((header.width, header.height), (header.height, header.width));
        if (width, height) != stored && (width, height) != turned && width > 0 && height > 0 {
            warnings.push(format!("tamper: was {width} by {height} pixels when it was taken"));
        }
    }
}

fn shown(field: &Field) -> String {
    let text = match &field.value {
        ExifValue::Ascii(parts) => {
            parts.iter().map(|part| String::from_utf8_lossy(part)).collect::<Vec<_>>().join(" ").trim().to_owned()
        }
        _ => field.display_value().to_string(),
    };
    text.chars().filter(|c| !c.is_control()).take(MAX_VALUE).collect()
}

/// A local time, and its offset from UTC if there is one.
fn time(exif: &Exif, tag: Tag, offset_tag: Tag) -> Option<(DateTime, Option<Offset>)> {
    let ascii = |tag| match &exif.get_field(tag, In::PRIMARY)?.value {
        ExifValue::Ascii(parts) => parts.first().cloned(),
        _ => None,
    };
    let mut time = exif::DateTime::from_ascii(&ascii(tag)?).ok()?;
    if let Some(offset) = ascii(offset_tag) {
        // A damaged offset is none.
        let _ = time.parse_offset(&offset);
    }
    let part = |value: u8| i8::try_from(value).ok();
    let local = DateTime::new(
        i16::try_from(time.year).ok()?,
        part(time.month)?,
        part(time.day)?,
        part(time.hour)?,
        part(time.minute)?,
        part(time.second)?.min(59),
        0,
    );
    let offset = time.offset.and_then(|minutes| Offset::from_seconds(i32::from(minutes) * 60).ok());
    Some((local.ok()?, offset))
}

/// Date and time that satellites gave, in UTC.
fn satellite_time(exif: &Exif) -> Option<Timestamp> {
    let date = match &exif.get_field(Tag::GPSDateStamp, In::PRIMARY)?.value {
        ExifValue::Ascii(parts) => String::from_utf8(parts.first()?.clone()).ok()?,
        _ => return None,
    };
    let mut parts = date.trim().split(':');
    let (year, month, day) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let [hour, minute, second] = rationals(exif, Tag::GPSTimeStamp)?;
    let small = |value: f64, most: f64| (0.0..most).contains(&value).then_some(value as i8);
    let local =
        DateTime::new(year, month, day, small(hour, 24.0)?, small(minute, 60.0)?, small(second, 60.0)?, 0).ok()?;
    TimeZone::UTC.to_timestamp(local).ok()
}

/// Three fractions; `None` where one is no number.
fn rationals(exif: &Exif, tag: Tag) -> Option<[f64; 3]> {
    match &exif.get_field(tag, In::PRIMARY)?.value {
        ExifValue::Rational(parts) => match parts.get(..3)? {
            [a, b, c] => Some([a, b, c].map(|part| f64::from(part.num) / f64::from(part.denom)))
                .filter(|parts| parts.iter().all(|part| part.is_finite())),
            _ => None,
        },
        _ => None,
    }
}

fn position(exif: &Exif) -> Option<LatLon> {
    let axis = |tag, reference, positive: u8, negative: u8, most: f64| {
        let [degrees, minutes, seconds] = rationals(exif, tag)?;
        let value = degrees + minutes / 60.0 + seconds / 3_600.0;
        let sign = match &exif.get_field(reference, In::PRIMARY)?.value {
            ExifValue::Ascii(parts) => match parts.first()?.first()?.to_ascii_uppercase() {
                letter if letter == positive => 1.0,
                letter if letter == negative => -1.0,
                _ => return None,
            },
            _ => return None,
        };
        (minutes < 60.0 && seconds < 60.0 && value <= most).then_some(sign * value)
    };
    Some(LatLon {
        lat: axis(Tag::GPSLatitude, Tag::GPSLatitudeRef, b'N', b'S', 90.0)?,
        lon: axis(Tag::GPSLongitude, Tag::GPSLongitudeRef, b'E', b'W', 180.0)?,
    })
}

/// The bytes of the thumbnail, a JPEG within the block.
fn thumbnail(exif: &Exif) -> Option<&[u8]> {
    let value = |tag| exif.get_field(tag, In::THUMBNAIL)?.value.get_uint(0);
    let begin = usize::try_from(value(Tag::JPEGInterchangeFormat)?).ok()?;
    let length = usize::try_from(value(Tag::JPEGInterchangeFormatLength)?).ok()?;
    exif.buf().get(begin..begin.checked_add(length)?)
}
