//! Codes of what a picture does not show as asked.

/// A warning that goes with a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warning {
    /// A count above nine is drawn as nine.
    CountLimited,
    /// More figures were named than are drawn.
    FiguresLimited,
    /// Nothing was matched: the words themselves are drawn.
    Poster,
    /// The poster's font has no letters of this script; they are left out.
    ScriptWithoutGlyphs,
    /// A poster of more than its bound of characters is cut.
    PosterCut,
}

impl Warning {
    /// The code that answers carry.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::CountLimited => "count_limited",
            Self::FiguresLimited => "figures_limited",
            Self::Poster => "poster",
            Self::ScriptWithoutGlyphs => "script_without_glyphs",
            Self::PosterCut => "poster_cut",
        }
    }
}
