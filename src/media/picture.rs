//! A picture that a request brings: as base64, data URL or link, decoded in a process of its own.

use std::sync::Arc;
use std::time::Duration;

use actix_web::web;
use muster_core::{Error, Kind};
use muster_identity::By;
use muster_media::decode::DecodeError;
use muster_media::text::{TextError, decode};
use muster_media::{Format, Header, HeaderError, Recognised, Rgb, header, recognise};
use muster_tasks::engine::{EngineCaller, JobCall};
use serde_json::Value;

use super::fetch::MAX_BYTES;
use crate::app::App;
use crate::pictures::{LIMITS, VISION, read_output};

/// Pictures whose decoding may wait.
pub const QUEUE: usize = 32;

/// A decoded picture.
#[derive(Debug, Clone)]
pub struct Upright {
    /// Upright, at most 2,048 a side.
    pub picture: Arc<Rgb>,
    /// Sides of the upright picture as it was sent.
    pub sides: (u32, u32),
    pub format: Format,
    /// Bytes as it was sent.
    pub bytes: usize,
    /// Whether it was turned or mirrored as its Exif says.
    pub oriented: bool,
    /// Pictures in the file; only the first one was decoded.
    pub frames: u32,
}

const FIELD: [&str; 2] = ["body", "image"];

fn refused(code: &'static str, why: impl Into<String>) -> Error {
    Error::field(Kind::Invalid, &FIELD, why, Value::Null).coded(code)
}

/// Returns the picture of the field `image`.
///
/// # Errors
/// `Invalid` on `image` with the code `invalid_image`, `unsupported_image`, `image_too_large`, `url_not_allowed` or
/// `url_failed`; `Unavailable` where too many pictures wait.
pub async fn load(app: &App, image: String, by: &By) -> Result<Upright, Error> {
    let bytes = bytes_of(app, image, by).await?;
    let header = examine(&bytes)?;
    let length = bytes.len();
    let picture = decoded(app, bytes, by).await?;
    Ok(Upright {
        picture: Arc::new(picture),
        sides: header.upright(),
        format: header.format,
        bytes: length,
        oriented: header.orientation != muster_media::Orientation::Upright,
        frames: header.frames,
    })
}

async fn bytes_of(app: &App, image: String, by: &By) -> Result<Vec<u8>, Error> {
    if is_link(&image) {
        let fetched = app.media.fetcher.fetch(image.trim(), by.id()).await;
        app.metrics.media_fetch(fetched.as_ref().map_or_else(|error| error.word(), |_| "fetched"));
        return fetched.map_err(|error| error.at(&FIELD));
    }
    // Up to 24 MiB of base64.
    let decoded = web::block(move || decode(&image, MAX_BYTES)).await.map_err(|_| busy())?;
    decoded.map_err(|error| match error {
        TextError::TooLarge(_) => refused("image_too_large", error.to_string()),
        TextError::Link => refused("url_not_allowed", "is a URL of another scheme: send http, https or base64"),
        TextError::DataUrl | TextError::Base64 | TextError::Empty => refused("invalid_image", error.to_string()),
    })
}

/// Whether the text is an http or https URL.
pub fn is_link(text: &str) -> bool {
    // Compared byte by byte: a character of the host may stand across the end of the scheme.
    let begins = |scheme: &str| {
        let begin = text.trim_start().as_bytes().get(..scheme.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(scheme.as_bytes()))
    };
    begins("http://") || begins("https://")
}

/// Reads the header, so that what is refused by it takes no process.
fn examine(bytes: &[u8]) -> Result<Header, Error> {
    match recognise(bytes) {
        Some(Recognised::Picture(format)) => header::read(bytes, format, &LIMITS).map_err(|error| match error {
            HeaderError::Side { .. } | HeaderError::Pixels { .. } => refused("image_too_large", error.to_string()),
            HeaderError::Unsupported(_) => refused("unsupported_image", error.to_string()),
            HeaderError::Truncated(_) | HeaderError::Damaged(_) => refused("invalid_image", error.to_string()),
        }),
        Some(Recognised::Dicom) => Err(unsupported("DICOM")),
        Some(Recognised::Other(name)) => Err(unsupported(name)),
        None => {
            let why = "is neither PNG, JPEG, WebP, GIF nor BMP by its first bytes: send one of these";
            Err(refused("invalid_image", why))
        }
    }
}

fn unsupported(name: &str) -> Error {
    refused("unsupported_image", format!("is {name}, which is not read: send PNG, JPEG, WebP, GIF or BMP"))
}

fn busy() -> Error {
    let message = format!("{QUEUE} pictures wait to be decoded already: try again");
    Error::new(Kind::Unavailable, message).coded("vision_busy").retry_in(Duration::from_secs(5))
}

async fn decoded(app: &App, bytes: Vec<u8>, by: &By) -> Result<Rgb, Error> {
    let _place = app.media.decodes.try_acquire().map_err(|_| busy())?;
    let call = JobCall { job: &VISION, input: bytes, caller: EngineCaller::of(by) };
    let output = app.engines.run_job(call).await.map_err(|error| match error.kind {
        Kind::TimedOut => {
            let seconds = VISION.time.as_secs();
            refused("image_too_large", format!("takes more than {seconds} s to be decoded: scale it down"))
        }
        Kind::TooLarge => {
            refused("image_too_large", "needs more memory to be decoded than is permitted: scale it down")
        }
        Kind::Invalid => refused("invalid_image", "cannot be decoded: save it again"),
        _ => error,
    })?;
    let decoded =
        read_output(output).ok_or_else(|| Error::new(Kind::Internal, "the pixels of a picture are missing"))?;
    decoded.map_err(|error| match error {
        DecodeError::TooLarge(_) | DecodeError::Memory(_) => refused("image_too_large", error.to_string()),
        _ => refused("invalid_image", error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_known_by_their_scheme() {
        assert!(is_link("http://a/b") && is_link(" HTTPS://a/b"));
        assert!(!is_link("data:image/png;base64,AA==") && !is_link("aHR0cDovL2E=") && !is_link("http") && !is_link(""));
    }

    #[test]
    fn what_is_no_picture_is_refused_by_name() {
        for (bytes, code, why) in [
            (b"\0\0\0\x18ftypavif".as_slice(), "unsupported_image", "is AVIF"),
            (b"\0\0\0\x18ftypheic", "unsupported_image", "is HEIC"),
            (b"II*\0....", "unsupported_image", "is TIFF"),
            (b"<svg xmlns=''/>", "unsupported_image", "is SVG"),
            (b"%PDF-1.7", "unsupported_image", "is PDF"),
            (b"hello", "invalid_image", "by its first bytes"),
            (b"\x89PNG\r\n\x1a\n", "invalid_image", ""),
        ] {
            let error = examine(bytes).unwrap_err();
            assert_eq!(error.code, Some(code), "{error}");
            assert!(error.message.contains(why), "{error}");
            assert_eq!(error.fields[0].loc, FIELD);
        }
    }
}
