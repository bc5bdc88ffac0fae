//! Numbers and names at offsets that the file itself gives: what lies outside is `None`.

/// Maximum length of a name.
const MAX_NAME: usize = 512;

#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    /// Whether the most significant byte is the first one.
    pub(super) big: bool,
}

impl<'a> Reader<'a> {
    pub(super) const fn little(bytes: &'a [u8]) -> Self {
        Self { bytes, big: false }
    }

    pub(super) fn slice(&self, at: usize, length: usize) -> Option<&'a [u8]> {
        self.bytes.get(at..at.checked_add(length)?)
    }

    pub(super) fn u16(&self, at: usize) -> Option<u16> {
        let bytes = self.slice(at, 2)?.try_into().ok()?;
        Some(if self.big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    pub(super) fn u32(&self, at: usize) -> Option<u32> {
        let bytes = self.slice(at, 4)?.try_into().ok()?;
        Some(if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    pub(super) fn u64(&self, at: usize) -> Option<u64> {
        let bytes = self.slice(at, 8)?.try_into().ok()?;
        Some(if self.big { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    /// A number of 8 or 4 bytes.
    pub(super) fn word(&self, at: usize, wide: bool) -> Option<u64> {
        if wide { self.u64(at) } else { self.u32(at).map(u64::from) }
    }

    /// An offset: a number of 4 bytes.
    pub(super) fn offset(&self, at: usize) -> Option<usize> {
        usize::try_from(self.u32(at)?).ok()
    }

    /// A name that ends with a zero within 512 bytes.
    pub(super) fn name(&self, at: usize) -> Option<String> {
        let rest = self.bytes.get(at..)?;
        let rest = rest.get(..MAX_NAME).unwrap_or(rest);
        let end = rest.iter().position(|byte| *byte == 0)?;
        rest.get(..end).map(text)
    }

    /// A name in a field of fixed length.
    pub(super) fn field(&self, at: usize, length: usize) -> Option<String> {
        let field = self.slice(at, length)?;
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(length);
        field.get(..end).map(text)
    }
}

/// Bytes as text; what is no UTF-8 or is a control character becomes the replacement character.
fn text(bytes: &[u8]) -> String {
    let shown = |letter: char| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter };
    String::from_utf8_lossy(bytes).chars().map(shown).collect()
}
