//! Posters: the words themselves, where no picture was found for any of them.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use resvg::tiny_skia::Transform;
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};

use super::SketchError;
use super::fold::is_invisible;
use super::raster::Canvas;
use super::rng::Rng;
use super::size::Size;
use super::warning::Warning;

/// Characters of a poster, at most.
const MAX_CHARACTERS: usize = 240;

const COLOURS: [[&str; 3]; 5] = [
    ["#264b73", "#3f7fb5", "#ffffff"],
    ["#5b2c5e", "#a4508b", "#fff4e0"],
    ["#1f5a4c", "#3fa27c", "#fdfbe8"],
    ["#7a3b1f", "#d98a3d", "#fff8ea"],
    ["#333a45", "#6d7c8f", "#ffffff"],
];

/// What was drawn.
#[derive(Debug)]
pub(super) struct Poster {
    /// One English sentence of it.
    pub(super) about: &'static str,
    pub(super) warnings: Vec<Warning>,
}

/// Draws the words of a text in the middle of the canvas.
pub(super) fn draw(canvas: &mut Canvas, text: &str, size: Size, rng: &mut Rng) -> Result<Poster, SketchError> {
    let (words, warnings) = printable(text);
    let (w, h) = (size.width() as f32, size.height() as f32);
    let index = (rng.between(0.0, 5.0) as usize).min(COLOURS.len() - 1);
    let [dark, light, ink] = COLOURS.get(index).copied().unwrap_or(["#333a45", "#6d7c8f", "#ffffff"]);
    let mut ground = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\"><defs><linearGradient id=\"p\" x2=\"1\" y2=\"1\"><stop stop-color=\"{dark}\"/><stop offset=\"1\" stop-color=\"{light}\"/></linearGradient></defs><path fill=\"url(#p)\" d=\"M0 0h{w}v{h}H0z\"/>"
    );
    for _ in 0..7 {
        let (x, y, r) = (rng.between(0.0, w), rng.between(0.0, h), rng.between(0.05, 0.2) * w.min(h));
        let _ = write!(ground, "<circle cx=\"{x:.0}\" cy=\"{y:.0}\" r=\"{r:.0}\" fill=\"{ink}\" opacity=\".06\"/>");
    }
    canvas.svg(&(ground + "</svg>"))?;
    if !words.is_empty() {
        lines_onto(canvas, &wrap(&words, w / h), (w, h), ink)?;
    }
    let about = match (words.is_empty(), warnings.contains(&Warning::ScriptWithoutGlyphs)) {
        (true, _) => "A poster without words; no picture was found for them, and the font has none of their letters.",
        (false, true) => {
            "A poster of the words, without the letters that the font lacks; no picture was found for them."
        }
        (false, false) => "A poster of the words; no picture was found for them.",
    };
    Ok(Poster { about, warnings })
}

/// Draws lines as large as four fifths of the canvas allow, at most a seventh of its shorter side high.
fn lines_onto(canvas: &mut Canvas, lines: &[String], (w, h): (f32, f32), ink: &str) -> Result<(), SketchError> {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\"><g font-family=\"DejaVu Sans\" font-weight=\"bold\" font-size=\"40\" text-anchor=\"middle\" fill=\"{ink}\">"
    );
    for (index, line) in lines.iter().enumerate() {
        let escaped = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = write!(svg, "<text x=\"0\" y=\"{}\">{escaped}</text>", index * 54);
    }
    svg.push_str("</g></svg>");
    let options = Options { fontdb: fonts(), ..Options::default() };
    let tree = Tree::from_str(&svg, &options).map_err(|error| SketchError::Render(error.to_string()))?;
    let painted = tree.root().abs_bounding_box();
    if painted.width() <= 0.0 || painted.height() <= 0.0 {
        return Ok(());
    }
    let scale = (w * 0.8 / painted.width()).min(h * 0.8 / painted.height()).min(w.min(h) / 7.0 / 40.0);
    let (x, y) = (painted.x() + painted.width() / 2.0, painted.y() + painted.height() / 2.0);
    canvas.tree(&tree, Transform::from_row(scale, 0.0, 0.0, scale, w / 2.0 - x * scale, h / 2.0 - y * scale));
    Ok(())
}

/// The bundled font, read once.
fn fonts() -> Arc<Database> {
    static FONTS: OnceLock<Arc<Database>> = OnceLock::new();
    let fonts = FONTS.get_or_init(|| {
        let mut fonts = Database::new();
        fonts.load_font_data(include_bytes!("font/DejaVuSans-Bold.subset.ttf").to_vec());
        Arc::new(fonts)
    });
    Arc::clone(fonts)
}

/// What of a text the font can draw, with two marks a letter at most, spaces made one, cut to the poster's bound.
fn printable(text: &str) -> (String, Vec<Warning>) {
    let mut warnings = vec![Warning::Poster];
    let mut out = String::new();
    let mut marks = 0;
    let mut missing = false;
    for c in text.chars() {
        if c.is_whitespace() || is_invisible(c) {
            if !out.ends_with(' ') && !out.is_empty() {
                out.push(' ');
            }
            continue;
        }
        marks = if is_combining(c) { marks + 1 } else { 0 };
        if marks > 2 {
            continue;
        }
        if has_glyph(c) { out.push(c) } else { missing = true }
    }
    if missing {
        warnings.push(Warning::ScriptWithoutGlyphs);
    }
    let mut out = out.trim().to_owned();
    if out.chars().count() > MAX_CHARACTERS {
        out = out.chars().take(MAX_CHARACTERS).collect::<String>() + "…";
        warnings.push(Warning::PosterCut);
    }
    (out, warnings)
}

const fn is_combining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{5b0}'..='\u{5c7}' | '\u{64b}'..='\u{655}')
}

/// Letters of the bundled font: Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic, Georgian.
const fn has_glyph(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{24f}' | '\u{300}'..='\u{304}' | '\u{306}'..='\u{30c}' | '\u{323}' | '\u{327}'..='\u{328}'
        | '\u{370}'..='\u{377}' | '\u{37a}'..='\u{37e}' | '\u{384}'..='\u{38a}' | '\u{38c}' | '\u{38e}'..='\u{3a1}' | '\u{3a3}'..='\u{525}'
        | '\u{531}'..='\u{556}' | '\u{559}'..='\u{55f}' | '\u{561}'..='\u{587}' | '\u{589}' | '\u{5b0}'..='\u{5c3}' | '\u{5d0}'..='\u{5ea}'
        | '\u{60c}' | '\u{61b}' | '\u{61f}' | '\u{621}'..='\u{63a}' | '\u{641}'..='\u{655}' | '\u{660}'..='\u{670}' | '\u{679}'..='\u{6bf}'
        | '\u{6c6}'..='\u{6c8}' | '\u{6cb}'..='\u{6cc}' | '\u{6d5}' | '\u{6f0}'..='\u{6f9}' | '\u{10a0}'..='\u{10c5}' | '\u{10d0}'..='\u{10fc}'
        | '\u{1e00}'..='\u{1efb}' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{203a}' | '\u{20a0}'..='\u{20b5}' | '\u{2122}')
}

/// Breaks words into lines so that their block has about the canvas's shape.
fn wrap(words: &str, shape: f32) -> Vec<String> {
    let letters = words.chars().count() as f32;
    let longest = words.split(' ').map(|word| word.chars().count()).max().unwrap_or(1).min(30);
    // A letter is some half as wide as a line is high.
    let width = ((letters * shape * 2.0).sqrt() as usize).max(longest).max(8);
    let mut lines = vec![String::new()];
    for word in words.split(' ') {
        for piece in pieces(word, 30) {
            let fits = lines
                .last()
                .is_some_and(|line| line.is_empty() || line.chars().count() + 1 + piece.chars().count() <= width);
            match lines.last_mut().filter(|_| fits) {
                Some(line) => {
                    if !line.is_empty() {
                        line.push(' ');
                    }
                    line.push_str(&piece);
                }
                None => lines.push(piece),
            }
        }
    }
    lines
}

fn pieces(word: &str, most: usize) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    letters.chunks(most).map(|chunk| chunk.iter().collect()).collect()
}
