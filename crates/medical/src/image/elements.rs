//! The elements of a DICOM data set (PS3.5, chapter 7): a walk that allocates nothing and ends at the pixel data.

use muster_media::cursor::Cursor;

use super::dicom::DicomError;

/// Most elements and items of a file.
pub(super) const MAX_ELEMENTS: usize = 4_096;
/// Deepest nesting of sequences.
pub(super) const MAX_DEPTH: usize = 4;
/// A length that is not declared: a delimiter ends the value.
const UNDEFINED: u32 = u32::MAX;

/// Group and element number.
pub(super) type Tag = (u16, u16);

mod tag {
    use super::Tag;

    pub(super) const PIXELS: Tag = (0x7fe0, 0x0010);
    /// Pixel data as floating-point numbers.
    pub(super) const FLOAT_PIXELS: [Tag; 2] = [(0x7fe0, 0x0008), (0x7fe0, 0x0009)];
    pub(super) const ITEM: Tag = (0xfffe, 0xe000);
    pub(super) const ITEM_END: Tag = (0xfffe, 0xe00d);
    pub(super) const SEQUENCE_END: Tag = (0xfffe, 0xe0dd);
}

/// How elements are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// With their value representation.
    Explicit,
    /// Without it.
    Implicit,
}

/// Takes the elements in their order, with the depth of each.
pub(super) trait Visitor {
    /// Notes an element and its value, which is empty for a sequence.
    fn element(&mut self, depth: usize, tag: Tag, value: &[u8]);
}

/// Where a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// At the end of the bytes or of their part.
    Bytes,
    /// Before the pixel data.
    Pixels,
    /// Behind the delimiter of the value.
    Delimiter,
}

/// A walk over the elements of a file.
pub(super) struct Walk<'a> {
    cursor: Cursor<'a>,
    seen: usize,
}

/// The head of an element: its tag, whether it is a sequence by its value representation, its length.
struct Head {
    tag: Tag,
    kind: HeadKind,
    length: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HeadKind {
    Value,
    Sequence,
    /// UN: with a length that is not declared, a sequence in the implicit encoding (PS3.5, section 6.2.2).
    Unknown,
}

impl<'a> Walk<'a> {
    pub(super) const fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { cursor: Cursor::at(bytes, at), seen: 0 }
    }

    /// The group of the next element, which stays.
    pub(super) fn next_group(&self) -> Option<u16> {
        self.cursor.clone().u16_le()
    }

    /// Takes one element, which is no sequence, of the file meta group.
    pub(super) fn meta(&mut self, visitor: &mut dyn Visitor) -> Result<(), DicomError> {
        let head = self.head(Encoding::Explicit)?;
        let value = self.value(head.length, None)?;
        visitor.element(0, head.tag, value);
        Ok(())
    }

    /// Takes elements up to `end`, the end of the bytes, the pixel data, or, inside an item, its delimiter.
    pub(super) fn elements(
        &mut self,
        encoding: Encoding,
        depth: usize,
        end: Option<usize>,
        visitor: &mut dyn Visitor,
    ) -> Result<End, DicomError> {
        loop {
            if self.is_at(end)? {
                return Ok(End::Bytes);
            }
            let head = self.head(encoding)?;
            match head.tag {
                tag::ITEM_END if depth > 0 && end.is_none() => return Ok(End::Delimiter),
                tag::ITEM | tag::ITEM_END | tag::SEQUENCE_END => {
                    return Err(DicomError::Damaged("a delimiter stands where an element should"));
                }
                tag if depth == 0 && (tag == tag::PIXELS || tag::FLOAT_PIXELS.contains(&tag)) => {
                    return Ok(End::Pixels);
                }
                _ => {}
            }
            let nested = match (head.kind, head.length) {
                (HeadKind::Sequence, _) => Some(encoding),
                (HeadKind::Unknown, UNDEFINED) => Some(Encoding::Implicit),
                (HeadKind::Value, UNDEFINED) if encoding == Encoding::Implicit => Some(encoding),
                // Pixel data of an icon in fragments.
                (HeadKind::Value, UNDEFINED) if head.tag == tag::PIXELS => {
                    self.fragments(end)?;
                    continue;
                }
                (HeadKind::Value, UNDEFINED) => {
                    return Err(DicomError::Damaged("an element that is no sequence has no length"));
                }
                _ => None,
            };
            match nested {
                Some(encoding) => {
                    visitor.element(depth, head.tag, &[]);
                    self.sequence(encoding, depth + 1, head.length, end, visitor)?;
                }
                None => {
                    let value = self.value(head.length, end)?;
                    visitor.element(depth, head.tag, value);
                }
            }
        }
    }

    fn sequence(
        &mut self,
        encoding: Encoding,
        depth: usize,
        length: u32,
        outer: Option<usize>,
        visitor: &mut dyn Visitor,
    ) -> Result<(), DicomError> {
        if depth > MAX_DEPTH {
            return Err(DicomError::Depth);
        }
        let end = self.end_of(length, outer)?;
        loop {
            if self.is_at(end)? {
                return Ok(());
            }
            let (tag, length) = self.delimiter()?;
            match tag {
                tag::SEQUENCE_END if end.is_none() => return Ok(()),
                tag::ITEM => {
                    let end = self.end_of(length, end.or(outer))?;
                    self.elements(encoding, depth, end, visitor)?;
                }
                _ => return Err(DicomError::Damaged("a sequence has something other than items")),
            }
        }
    }

    /// Passes over encapsulated fragments.
    fn fragments(&mut self, outer: Option<usize>) -> Result<(), DicomError> {
        loop {
            match self.delimiter()? {
                (tag::SEQUENCE_END, _) => return Ok(()),
                (tag::ITEM, length) => {
                    self.value(length, outer)?;
                }
                _ => return Err(DicomError::Damaged("encapsulated data has something other than items")),
            }
        }
    }

    /// Returns whether the part is at its end. An item without a length may have reached beyond that of its sequence.
    fn is_at(&self, end: Option<usize>) -> Result<bool, DicomError> {
        match end {
            Some(end) if self.cursor.position() > end => Err(DicomError::Length),
            Some(end) => Ok(self.cursor.position() == end),
            None => Ok(self.cursor.left() == 0),
        }
    }

    /// Returns the end of a value of this length, which must be inside the bytes and inside its part; `None` for one that
    /// is not declared.
    fn end_of(&self, length: u32, outer: Option<usize>) -> Result<Option<usize>, DicomError> {
        if length == UNDEFINED {
            return Ok(None);
        }
        let most = outer.map_or(self.cursor.left(), |outer| outer.saturating_sub(self.cursor.position()));
        match usize::try_from(length) {
            Ok(length) if length <= most.min(self.cursor.left()) => Ok(Some(self.cursor.position() + length)),
            _ => Err(DicomError::Length),
        }
    }

    fn value(&mut self, length: u32, outer: Option<usize>) -> Result<&'a [u8], DicomError> {
        let end = self.end_of(length, outer)?.ok_or(DicomError::Length)?;
        self.cursor.take(end - self.cursor.position()).ok_or(DicomError::Length)
    }

    fn count(&mut self) -> Result<(), DicomError> {
        self.seen += 1;
        if self.seen > MAX_ELEMENTS { Err(DicomError::Elements) } else { Ok(()) }
    }

    fn tag(&mut self) -> Result<Tag, DicomError> {
        self.count()?;
        let tag = (|| Some((self.cursor.u16_le()?, self.cursor.u16_le()?)))();
        tag.ok_or(DicomError::Truncated)
    }

    fn delimiter(&mut self) -> Result<(Tag, u32), DicomError> {
        let tag = self.tag()?;
        Ok((tag, self.cursor.u32_le().ok_or(DicomError::Truncated)?))
    }

    fn head(&mut self, encoding: Encoding) -> Result<Head, DicomError> {
        let tag = self.tag()?;
        // Items and delimiters have no value representation in either encoding.
        if encoding == Encoding::Implicit || tag.0 == 0xfffe {
            let length = self.cursor.u32_le().ok_or(DicomError::Truncated)?;
            return Ok(Head { tag, kind: HeadKind::Value, length });
        }
        let representation: [u8; 2] = self.cursor.array().ok_or(DicomError::Truncated)?;
        let kind = match &representation {
            b"SQ" => HeadKind::Sequence,
            b"UN" => HeadKind::Unknown,
            _ => HeadKind::Value,
        };
        let length = match &representation {
            b"OB" | b"OD" | b"OF" | b"OL" | b"OV" | b"OW" | b"SQ" | b"SV" | b"UC" | b"UN" | b"UR" | b"UT" | b"UV" => {
                let _reserved = self.cursor.u16_le();
                self.cursor.u32_le()
            }
            [b'A'..=b'Z', b'A'..=b'Z'] => self.cursor.u16_le().map(u32::from),
            _ => return Err(DicomError::Damaged("an element has no value representation")),
        };
        Ok(Head { tag, kind, length: length.ok_or(DicomError::Truncated)? })
    }
}
