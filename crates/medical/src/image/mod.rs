//! Checks of pictures by their bytes: kind, dimensions, kinds of metadata. Of DICOM the header is read, never pixels.
//! Disease is never measured.

pub mod block;
pub mod dicom;
mod elements;
#[cfg(test)]
mod tests;

use muster_media::text::TextError;
use muster_media::{Format, Header, HeaderError, Limits, Recognised, hash, header, recognise, text};
use serde::Serialize;

use dicom::{DicomError, DicomHeader};

/// Most pictures of a request.
pub const MAX_IMAGES: usize = 8;
/// Most bytes of a picture.
pub const MAX_BYTES: usize = 16 << 20;
/// Most pixels of a picture, and of a side, by its header.
pub const LIMITS: Limits = Limits { pixels: 40_000_000, side: 16_384 };

/// Why a picture is refused, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// The text is no picture.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A format that is not accepted.
    #[error("is {0}: send PNG, JPEG or DICOM Part 10")]
    Format(&'static str),
    /// No known format.
    #[error("is neither PNG, JPEG nor DICOM Part 10 by its first bytes: send one of these")]
    Unknown,
    /// The header of a PNG or a JPEG.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The header of a DICOM file.
    #[error(transparent)]
    Dicom(#[from] DicomError),
}

/// What kind of picture it is, and its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// PNG or JPEG; its pixels may be decoded.
    Picture(Header),
    /// DICOM Part 10; its pixels are not read.
    Dicom(DicomHeader),
}

/// A picture whose header was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// SHA-256 of its bytes in hexadecimal.
    pub sha256: String,
    /// Its kind.
    pub kind: Kind,
}

/// A kind of metadata. Values are never reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MetadataKind {
    /// A position.
    Gps,
    /// Maker, model, serial number or software of a device.
    Device,
    /// A date or time.
    Time,
    /// Data of the patient in DICOM elements.
    PatientTags,
}

impl Picture {
    /// Reads a picture of a request: base64 or a data URL.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn from_text(encoded: &str) -> Result<Self, ImageError> {
        Self::from_bytes(text::decode(encoded, MAX_BYTES)?)
    }

    /// Reads the header of a picture and checks it. No pixel is decoded.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ImageError> {
        if bytes.len() > MAX_BYTES {
            return Err(TextError::TooLarge(MAX_BYTES >> 20).into());
        }
        let kind = match recognise(&bytes) {
            Some(Recognised::Picture(format @ (Format::Png | Format::Jpeg))) => {
                Kind::Picture(header::read(&bytes, format, &LIMITS)?)
            }
            // These are not made by devices of medicine, and their losses and palettes change what is seen.
            Some(Recognised::Picture(format)) => return Err(ImageError::Format(format.name())),
            Some(Recognised::Dicom) => {
                let header = dicom::read(&bytes)?;
                LIMITS.check(header.columns, header.rows)?;
                Kind::Dicom(header)
            }
            Some(Recognised::Other(name)) => return Err(ImageError::Format(name)),
            None => return Err(ImageError::Unknown),
        };
        Ok(Self { sha256: hash::sha256(&bytes), bytes, kind })
    }

    /// Returns the format whose pixels can be decoded; `None` for DICOM.
    #[must_use]
    pub const fn format(&self) -> Option<Format> {
        match &self.kind {
            Kind::Picture(header) => Some(header.format),
            Kind::Dicom(_) => None,
        }
    }

    /// Returns the kinds of metadata that were found.
    #[must_use]
    pub fn metadata(&self) -> Vec<MetadataKind> {
        let (found, patient) = match &self.kind {
            Kind::Picture(header) => (header.metadata, false),
            Kind::Dicom(header) => (header.metadata, header.patient_tags),
        };
        let kinds = [
            (found.gps, MetadataKind::Gps),
            (found.device, MetadataKind::Device),
            (found.time, MetadataKind::Time),
            (patient, MetadataKind::PatientTags),
        ];
        kinds.into_iter().filter_map(|(found, kind)| found.then_some(kind)).collect()
    }
}
