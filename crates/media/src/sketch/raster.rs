//! Pixels: painting of trees and shadows, halving, PNG.

use resvg::tiny_skia::{Color, FillRule, Paint, PathBuilder, Pixmap, Rect, Transform};
use resvg::usvg::{Options, Tree};

use super::SketchError;
use super::art::Art;
use super::layout::Area;
use super::size::{Quality, Size};

/// The text field of every picture: keyword and text.
const FIELDS: [(&str, &str); 2] = [("Description", "procedural illustration"), ("Software", "muster-sketch-1")];

/// A canvas: coordinates are those of the finished picture, whatever is drawn at.
#[derive(Debug)]
pub(super) struct Canvas {
    pixmap: Pixmap,
    scale: f32,
}

impl Canvas {
    pub(super) fn new(size: Size, quality: Quality) -> Result<Self, SketchError> {
        let factor = quality.factor();
        let pixmap = Pixmap::new(size.width() * factor, size.height() * factor).ok_or(SketchError::Memory)?;
        Ok(Self { pixmap, scale: factor as f32 })
    }

    /// Draws an SVG text that was made here.
    pub(super) fn svg(&mut self, text: &str) -> Result<(), SketchError> {
        let tree = Tree::from_str(text, &Options::default()).map_err(|error| SketchError::Render(error.to_string()))?;
        self.tree(&tree, Transform::identity());
        Ok(())
    }

    pub(super) fn tree(&mut self, tree: &Tree, place: Transform) {
        resvg::render(tree, place.post_scale(self.scale, self.scale), &mut self.pixmap.as_mut());
    }

    /// Draws a picture so that what is painted of it fills an area.
    pub(super) fn art(&mut self, art: &Art, area: Area) {
        let (sx, sy) = (area.width / art.bounds.width.max(0.01), area.height / art.bounds.height.max(0.01));
        let place = Transform::from_row(sx, 0.0, 0.0, sy, area.x - art.bounds.x * sx, area.y - art.bounds.y * sy);
        self.tree(&art.tree, place);
    }

    /// A flat shadow at the foot of an area.
    pub(super) fn shadow(&mut self, area: Area, colour: [u8; 4]) {
        let [r, g, b, a] = colour;
        let tall = (area.width * 0.16).min(area.height * 0.16);
        let Some(rect) =
            Rect::from_xywh(area.x - area.width * 0.04, area.y + area.height - tall * 0.6, area.width * 1.08, tall)
        else {
            return;
        };
        let mut path = PathBuilder::new();
        path.push_oval(rect);
        let Some(path) = path.finish() else { return };
        let mut paint = Paint { anti_alias: true, ..Paint::default() };
        paint.set_color(Color::from_rgba8(r, g, b, a));
        self.pixmap.fill_path(&path, &paint, FillRule::Winding, Transform::from_scale(self.scale, self.scale), None);
    }

    /// The finished picture as PNG, 8 bits RGB.
    pub(super) fn png(self, size: Size) -> Result<Vec<u8>, SketchError> {
        let rgb = if self.scale > 1.0 { halve(&self.pixmap) } else { flatten(&self.pixmap) };
        let mut out = Vec::with_capacity(256 * 1024);
        let mut encoder = png::Encoder::new(&mut out, size.width(), size.height());
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        let failed = |error: png::EncodingError| SketchError::Encode(error.to_string());
        for (keyword, text) in FIELDS {
            encoder.add_text_chunk(keyword.to_owned(), text.to_owned()).map_err(failed)?;
        }
        let mut writer = encoder.write_header().map_err(failed)?;
        writer.write_image_data(&rgb).map_err(failed)?;
        writer.finish().map_err(failed)?;
        Ok(out)
    }
}

/// RGB of a pixmap; backdrops are opaque.
fn flatten(pixmap: &Pixmap) -> Vec<u8> {
    pixmap.data().as_chunks::<4>().0.iter().flat_map(|[r, g, b, _]| [*r, *g, *b]).collect()
}

/// Means of blocks of two by two pixels.
fn halve(pixmap: &Pixmap) -> Vec<u8> {
    let row = pixmap.width() as usize * 4;
    let mut rgb = Vec::with_capacity(pixmap.data().len() / 16 * 3);
    for rows in pixmap.data().chunks_exact(row * 2) {
        let (upper, lower) = rows.split_at(row);
        for (upper, lower) in upper.as_chunks::<8>().0.iter().zip(lower.as_chunks::<8>().0) {
            let ([a0, a1, a2, _, b0, b1, b2, _], [c0, c1, c2, _, d0, d1, d2, _]) = (upper, lower);
            let mean = |a: &u8, b: &u8, c: &u8, d: &u8| {
                ((u16::from(*a) + u16::from(*b) + u16::from(*c) + u16::from(*d) + 2) / 4) as u8
            };
            rgb.extend([mean(a0, b0, c0, d0), mean(a1, b1, c1, d1), mean(a2, b2, c2, d2)]);
        }
    }
    rgb
}
