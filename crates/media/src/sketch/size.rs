//! Sizes and qualities of pictures.

/// Size of a picture in pixels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Size {
    /// 1024 × 1024.
    #[default]
    Square,
    /// 1792 × 1024.
    Wide,
    /// 1024 × 1792.
    Tall,
}

impl Size {
    /// Every size.
    pub const ALL: [Self; 3] = [Self::Square, Self::Wide, Self::Tall];

    /// The size of a text like `1024x1024`; `None` for another one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|size| size.text() == text)
    }

    /// Width and height as requests write them.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Square => "1024x1024",
            Self::Wide => "1792x1024",
            Self::Tall => "1024x1792",
        }
    }

    /// Width in pixels.
    #[must_use]
    pub const fn width(self) -> u32 {
        match self {
            Self::Square | Self::Tall => 1_024,
            Self::Wide => 1_792,
        }
    }

    /// Height in pixels.
    #[must_use]
    pub const fn height(self) -> u32 {
        match self {
            Self::Square | Self::Wide => 1_024,
            Self::Tall => 1_792,
        }
    }
}

/// How finely a picture is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Quality {
    /// At its own size.
    #[default]
    Standard,
    /// At twice its size, halved.
    Hd,
}

impl Quality {
    /// By how much the canvas is larger than the picture.
    pub(super) const fn factor(self) -> u32 {
        match self {
            Self::Standard => 1,
            Self::Hd => 2,
        }
    }
}
