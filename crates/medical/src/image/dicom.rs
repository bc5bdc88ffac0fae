//! The header of a DICOM Part 10 file (PS3.10): file meta group in explicit little endian, then the data set in explicit or
//! implicit little endian, up to the pixel data.

use muster_media::Metadata;
use muster_media::format::DICOM_PREAMBLE;
use serde::Serialize;

use super::elements::{Encoding, End, MAX_DEPTH, MAX_ELEMENTS, Tag, Visitor, Walk};

/// Why a file is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DicomError {
    /// An element's length is beyond the bytes.
    #[error("is damaged DICOM: an element declares more bytes than there are")]
    Length,
    /// The file ends inside the head of an element.
    #[error("is DICOM that is cut off inside an element")]
    Truncated,
    /// Sequences are nested too deeply.
    #[error("is DICOM with sequences nested more than {MAX_DEPTH} deep: remove them")]
    Depth,
    /// Too many elements.
    #[error("is DICOM with more than {MAX_ELEMENTS} elements before its pixels: remove private ones")]
    Elements,
    /// Not as the standard says.
    #[error("is damaged DICOM: {0}")]
    Damaged(&'static str),
    /// A transfer syntax that is not read.
    #[error("is DICOM in {0}, which is not read: save it in Explicit VR Little Endian")]
    Syntax(&'static str),
    /// A file without a picture.
    #[error("is DICOM without a picture: rows, columns or pixel data are missing")]
    NoPicture,
}

/// What the header of a file declares. Texts are codes of the standard, never free text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DicomHeader {
    /// Columns of a frame.
    pub columns: u32,
    /// Rows of a frame.
    pub rows: u32,
    /// Bits of a sample that are used.
    pub bits: u8,
    /// Frames.
    pub frames: u32,
    /// The codes that are reported.
    pub codes: DicomCodes,
    /// Kinds of metadata.
    pub metadata: Metadata,
    /// Whether there is data of the patient.
    pub patient_tags: bool,
}

/// Codes of the header, in the DICOM file's own terms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DicomCodes {
    /// Modality (0008,0060), such as `MG`.
    pub modality: Option<String>,
    /// Body Part Examined (0018,0015).
    pub body_part: Option<String>,
    /// Photometric Interpretation (0028,0004).
    pub photometric: Option<String>,
    /// Burned In Annotation (0028,0301): whether identifying text may be in the pixels.
    pub burned_in_annotation: Option<bool>,
}

/// Implicit VR Little Endian.
const IMPLICIT: &[u8] = b"1.2.840.10008.1.2";
const BIG_ENDIAN: &[u8] = b"1.2.840.10008.1.2.2";
const DEFLATED: &[u8] = b"1.2.840.10008.1.2.1.99";

/// Reads the header.
///
/// # Errors
/// Why the file is refused.
pub fn read(bytes: &[u8]) -> Result<DicomHeader, DicomError> {
    let mut walk = Walk::new(bytes, DICOM_PREAMBLE + b"DICM".len());
    let mut meta = Syntax::default();
    while walk.next_group() == Some(0x0002) {
        walk.meta(&mut meta)?;
    }
    let encoding = meta.encoding()?;
    let mut header = Reading::default();
    let end = walk.elements(encoding, 0, None, &mut header)?;
    header.finish(end)
}

/// The transfer syntax of the file meta group.
#[derive(Default)]
struct Syntax {
    uid: Option<[u8; 64]>,
}

impl Visitor for Syntax {
    fn element(&mut self, _: usize, tag: Tag, value: &[u8]) {
        if tag == (0x0002, 0x0010) {
            let mut uid = [0; 64];
            // A longer value is none of those that are known.
            for (to, from) in uid.iter_mut().zip(value) {
                *to = *from;
            }
            self.uid = Some(uid);
        }
    }
}

impl Syntax {
    fn encoding(&self) -> Result<Encoding, DicomError> {
        let uid = self.uid.as_ref().ok_or(DicomError::Damaged("its transfer syntax is missing"))?;
        // Padded with a null, at times with a space.
        let length = uid.iter().position(|byte| matches!(byte, 0 | b' ')).unwrap_or(uid.len());
        match uid.get(..length).unwrap_or_default() {
            IMPLICIT => Ok(Encoding::Implicit),
            BIG_ENDIAN => Err(DicomError::Syntax("Explicit VR Big Endian")),
            DEFLATED => Err(DicomError::Syntax("a deflated transfer syntax")),
            // Every other one of PS3.5, annex A, has its data set in explicit little endian.
            uid if uid.starts_with(b"1.2.840.10008.1.2.") => Ok(Encoding::Explicit),
            _ => Err(DicomError::Syntax("a transfer syntax of its maker")),
        }
    }
}

#[derive(Default)]
struct Reading {
    columns: Option<u16>,
    rows: Option<u16>,
    bits: Option<u16>,
    frames: Option<u32>,
    codes: DicomCodes,
    metadata: Metadata,
    patient_tags: bool,
}

impl Visitor for Reading {
    fn element(&mut self, depth: usize, tag: Tag, value: &[u8]) {
        let said = !trimmed(value).is_empty();
        self.patient_tags |= said && is_of_patient(tag);
        self.metadata.device |= said && DEVICE.contains(&tag);
        self.metadata.time |= said && is_time(tag);
        if depth > 0 {
            return;
        }
        match tag {
            (0x0008, 0x0060) => self.codes.modality = code(value),
            (0x0018, 0x0015) => self.codes.body_part = code(value),
            (0x0028, 0x0004) => self.codes.photometric = code(value),
            (0x0028, 0x0301) => {
                self.codes.burned_in_annotation = match trimmed(value) {
                    b"YES" => Some(true),
                    b"NO" => Some(false),
                    _ => None,
                }
            }
            (0x0028, 0x0008) => self.frames = integer(value),
            (0x0028, 0x0010) => self.rows = short(value),
            (0x0028, 0x0011) => self.columns = short(value),
            // Bits stored, else bits allocated.
            (0x0028, 0x0101) => self.bits = short(value).or(self.bits),
            (0x0028, 0x0100) => self.bits = self.bits.or_else(|| short(value)),
            _ => {}
        }
    }
}

impl Reading {
    fn finish(self, end: End) -> Result<DicomHeader, DicomError> {
        let (Some(columns), Some(rows), End::Pixels) = (self.columns, self.rows, end) else {
            return Err(DicomError::NoPicture);
        };
        Ok(DicomHeader {
            columns: columns.into(),
            rows: rows.into(),
            bits: self.bits.and_then(|bits| u8::try_from(bits).ok()).unwrap_or_default(),
            frames: self.frames.unwrap_or(1).max(1),
            codes: self.codes,
            metadata: self.metadata,
            patient_tags: self.patient_tags,
        })
    }
}

/// Manufacturer, station, model, device serial number, software, device identifiers.
const DEVICE: [Tag; 7] = [
    (0x0008, 0x0070),
    (0x0008, 0x1010),
    (0x0008, 0x1090),
    (0x0018, 0x1000),
    (0x0018, 0x1002),
    (0x0018, 0x1020),
    (0x0018, 0x1008),
];

/// The patient group; accession number, referring physician, other identifiers of the admission and of the study.
fn is_of_patient(tag: Tag) -> bool {
    // Group length is no datum.
    let patient_group = tag.0 == 0x0010 && tag.1 != 0;
    patient_group || [(0x0008, 0x0050), (0x0008, 0x0090), (0x0020, 0x0010), (0x0038, 0x0010)].contains(&tag)
}

/// Dates and times of the instance, the study, the series, the acquisition, the content and the procedure.
fn is_time(tag: Tag) -> bool {
    let (group, element) = tag;
    match group {
        0x0008 => matches!(element, 0x0012 | 0x0013 | 0x0020..=0x0035),
        0x0018 => matches!(element, 0x1012 | 0x1014 | 0x9074 | 0x9151),
        0x0040 => matches!(element, 0x0002..=0x0005 | 0x0244 | 0x0245),
        _ => false,
    }
}

/// Without the padding of nulls and spaces.
fn trimmed(value: &[u8]) -> &[u8] {
    let padding = |byte: &u8| matches!(byte, 0 | b' ');
    let start = value.iter().position(|byte| !padding(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !padding(byte)).map_or(start, |last| last + 1);
    value.get(start..end).unwrap_or_default()
}

/// A code string (PS3.5, section 6.2): capitals, digits, space and underscore, at most 16. Anything else could be free
/// text and is not reported.
fn code(value: &[u8]) -> Option<String> {
    let value = trimmed(value);
    let permitted = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || matches!(byte, b' ' | b'_');
    if !(1..=16).contains(&value.len()) || !value.iter().all(permitted) {
        return None;
    }
    String::from_utf8(value.to_vec()).ok()
}

fn short(value: &[u8]) -> Option<u16> {
    value.get(..2)?.try_into().ok().map(u16::from_le_bytes)
}

/// An integer string.
fn integer(value: &[u8]) -> Option<u32> {
    std::str::from_utf8(trimmed(value)).ok()?.parse().ok()
}
