//! PNG (W3C, third edition): its chunks and its header.

use crate::cursor::Cursor;
use crate::exif;
use crate::format::Format;
use crate::header::{Header, HeaderError, Limits};
use crate::metadata::Metadata;

const SIGNATURE: usize = 8;

/// A chunk: its type and its data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk<'a> {
    pub(crate) kind: [u8; 4],
    pub(crate) data: &'a [u8],
}

/// The chunks up to `IEND`.
#[derive(Debug, Clone)]
pub(crate) struct Chunks<'a> {
    cursor: Cursor<'a>,
    ended: bool,
}

/// Returns the chunks of a PNG.
pub(crate) const fn chunks(bytes: &[u8]) -> Chunks<'_> {
    Chunks { cursor: Cursor::at(bytes, SIGNATURE), ended: false }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>, HeaderError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let chunk = self.read().ok_or(HeaderError::Truncated("last chunk"));
        self.ended = chunk.as_ref().map_or(true, |chunk| &chunk.kind == b"IEND");
        Some(chunk)
    }
}

impl<'a> Chunks<'a> {
    fn read(&mut self) -> Option<Chunk<'a>> {
        let length = usize::try_from(self.cursor.u32_be()?).ok()?;
        let kind = self.cursor.array()?;
        let data = self.cursor.take(length)?;
        // The check sum is the decoder's to verify.
        self.cursor.take(4)?;
        Some(Chunk { kind, data })
    }
}

/// The fields of `IHDR`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ImageHeader {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) bit_depth: u8,
    pub(crate) channels: u8,
    #[cfg_attr(not(feature = "decode"), allow(dead_code, reason = "counts where data is inflated"))]
    pub(crate) interlaced: bool,
}

impl ImageHeader {
    pub(crate) fn read(chunk: Chunk<'_>) -> Result<Self, HeaderError> {
        let mut cursor = Cursor::new(chunk.data);
        let fields = (|| Some((cursor.u32_be()?, cursor.u32_be()?, cursor.array::<5>()?)))();
        let (Some((width, height, [bit_depth, colour, compression, filter, interlace])), b"IHDR", 13) =
            (fields, &chunk.kind, chunk.data.len())
        else {
            return Err(HeaderError::Damaged("it does not begin with a chunk IHDR"));
        };
        let channels = match (colour, bit_depth) {
            (0, 1 | 2 | 4 | 8 | 16) | (3, 1 | 2 | 4 | 8) => 1,
            (2, 8 | 16) => 3,
            (4, 8 | 16) => 2,
            (6, 8 | 16) => 4,
            _ => {
                return Err(HeaderError::Damaged("its IHDR has a colour type and a bit depth that do not go together"));
            }
        };
        if (compression, filter) != (0, 0) || interlace > 1 {
            return Err(HeaderError::Damaged("its IHDR names an unknown method"));
        }
        Ok(Self { width, height, bit_depth, channels, interlaced: interlace == 1 })
    }

    /// Returns the number of bytes that the image data has when inflated: rows with a filter byte each, of seven passes if
    /// interlaced.
    #[cfg(feature = "decode")]
    pub(crate) fn inflated(&self) -> u64 {
        let rows = |width: u64, height: u64| {
            let bits = width * u64::from(self.channels) * u64::from(self.bit_depth);
            if width == 0 { 0 } else { height * (1 + bits.div_ceil(8)) }
        };
        let (width, height) = (u64::from(self.width), u64::from(self.height));
        if !self.interlaced {
            return rows(width, height);
        }
        // First column, first row, distance of columns, distance of rows.
        let passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)];
        let count = |length: u64, first: u64, step: u64| length.saturating_sub(first).div_ceil(step);
        passes.iter().map(|(x, y, dx, dy)| rows(count(width, *x, *dx), count(height, *y, *dy))).sum()
    }
}

/// Reads the chunks before any pixel is inflated.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Header, HeaderError> {
    let mut chunks = chunks(bytes);
    let first = chunks.next().unwrap_or(Err(HeaderError::Truncated("header")))?;
    let image = ImageHeader::read(first)?;
    // Before the rest, so that what is refused is refused by its size.
    limits.check(image.width, image.height)?;
    let mut header = Header {
        format: Format::Png,
        width: image.width,
        height: image.height,
        bit_depth: image.bit_depth,
        channels: image.channels,
        frames: 1,
        orientation: exif::Orientation::default(),
        metadata: Metadata::default(),
    };
    let mut has_data = false;
    for chunk in chunks {
        let chunk = chunk?;
        has_data |= &chunk.kind == b"IDAT";
        note(&mut header, chunk);
    }
    if has_data { Ok(header) } else { Err(HeaderError::Damaged("it has no image data")) }
}

fn note(header: &mut Header, chunk: Chunk<'_>) {
    let found = &mut header.metadata;
    match &chunk.kind {
        b"acTL" => header.frames = Cursor::new(chunk.data).u32_be().unwrap_or(1).max(1),
        b"tIME" => found.time = true,
        b"eXIf" => {
            let exif = exif::read(chunk.data);
            found.add(exif.metadata);
            header.orientation = exif.orientation;
        }
        b"tEXt" | b"zTXt" | b"iTXt" => text(found, chunk),
        _ => {}
    }
}

/// Notes a text by its keyword. A compressed text is not inflated.
fn text(found: &mut Metadata, chunk: Chunk<'_>) {
    let end = chunk.data.iter().position(|byte| *byte == 0).unwrap_or(chunk.data.len());
    let (keyword, rest) = chunk.data.split_at(end);
    let keyword = keyword.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| keyword.windows(word.len()).any(|part| part == word.as_bytes()));
    if keyword == b"xml:com.adobe.xmp" {
        // Behind the keyword: 0, whether it is compressed, the method.
        match rest.get(1) {
            Some(0) => found.add_xmp(rest),
            _ => found.unread = true,
        }
        return;
    }
    found.unread |= has(&["raw profile type"]);
    found.gps |= has(&["gps", "latitude", "longitude"]);
    found.time |= has(&["time", "date"]);
    found.device |= has(&["software", "source", "model", "make", "serial", "device"]);
}
