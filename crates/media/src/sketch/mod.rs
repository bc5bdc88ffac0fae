//! muster-sketch-1: flat illustrations from words, by rules.
//!
//! Words are matched with the names and keywords that Unicode's CLDR gives to emoji, in 80 languages; each picture is drawn
//! from a set of flat drawings. Counts, colours, settings, times of day and weather are read too. What was not matched is
//! listed and not drawn; where nothing was matched, the words themselves are drawn. Nothing here guesses: the same text,
//! seed, size and quality give the same bytes.
//!
//! Pure: the two data files are handed in as bytes.

mod art;
mod backdrop;
mod choose;
mod colour_names;
mod compose;
mod concepts;
mod fold;
mod ground;
mod hue;
mod kinds;
mod layout;
mod names;
mod poster;
mod raster;
mod reader;
mod rng;
mod scene;
mod size;
mod sketcher;
#[cfg(test)]
mod tests;
mod tokens;
mod warning;
mod weather;

pub use scene::{
    Colour, Figure, MAX_COUNT, MAX_DRAWN, MAX_FIGURES, Place, Relation, Scene, SceneError, Setting, TimeOfDay, Weather,
};
pub use size::{Quality, Size};
pub use sketcher::{Drawing, MAX_PROMPT, Plan, Prompt, SketchError, Sketcher};
pub use warning::Warning;
