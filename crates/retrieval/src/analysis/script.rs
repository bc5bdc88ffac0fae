/// Script of a word: it decides segmentation and stemmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    Latin,
    Cyrillic,
    Greek,
    Arabic,
    Tamil,
    /// Written without spaces between words (or, like Korean, with attached endings): indexed by character bigrams.
    Unspaced,
    Other,
}

impl Script {
    /// By the blocks of Unicode 16.
    pub(super) const fn of(c: char) -> Self {
        match c as u32 {
            0x41..=0x5a | 0x61..=0x7a | 0xaa | 0xba | 0xc0..=0x24f | 0x250..=0x2af | 0x1e00..=0x1eff => Self::Latin,
            0x2c60..=0x2c7f | 0xa720..=0xa7ff | 0xfb00..=0xfb06 | 0xff21..=0xff3a | 0xff41..=0xff5a => Self::Latin,
            0x400..=0x52f | 0x1c80..=0x1c8f | 0x2de0..=0x2dff | 0xa640..=0xa69f => Self::Cyrillic,
            0x370..=0x3ff | 0x1f00..=0x1fff => Self::Greek,
            0x600..=0x6ff | 0x750..=0x77f | 0x8a0..=0x8ff | 0xfb50..=0xfdff | 0xfe70..=0xfeff => Self::Arabic,
            0xb80..=0xbff => Self::Tamil,
            // Thai, Lao, Tibetan, Burmese, Khmer.
            0xe00..=0xeff | 0xf00..=0xfff | 0x1000..=0x109f | 0x1780..=0x17ff => Self::Unspaced,
            0xa9e0..=0xa9ff | 0xaa60..=0xaa7f => Self::Unspaced,
            // Hangul.
            0x1100..=0x11ff | 0x3130..=0x318f | 0xa960..=0xa97f | 0xac00..=0xd7ff | 0xffa0..=0xffdc => Self::Unspaced,
            // Kana, bopomofo, and Han with its extensions.
            0x3005..=0x3007 | 0x3041..=0x3096 | 0x309d..=0x30ff | 0x3100..=0x312f | 0x31a0..=0x31ff => Self::Unspaced,
            0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0xff66..=0xff9f | 0x20000..=0x3ffff => Self::Unspaced,
            _ => Self::Other,
        }
    }

    /// Script of a word's first letter.
    pub(super) fn of_word(word: &str) -> Self {
        word.chars().find(|c| c.is_alphabetic()).map_or(Self::Other, Self::of)
    }
}

/// Returns whether a single character can be a searchable word.
pub(super) const fn is_ideograph(c: char) -> bool {
    matches!(c as u32, 0x3005..=0x3007 | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}
