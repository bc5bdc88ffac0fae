//! Drawings of pictures: their SVG bodies, parsed when a scene needs them.

use std::collections::HashMap;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use serde::Deserialize;

use super::SketchError;
use super::hue;
use super::kinds::{Kinds, Picture};
use super::layout::Area;
use super::scene::Colour;

/// Pixels a side of the drawing by which colours are counted.
const PREVIEW: u32 = 64;

/// The file of drawings.
#[derive(Debug, Deserialize)]
struct File {
    size: f32,
    pictures: HashMap<String, String>,
}

/// All drawings, by the index of their picture.
#[derive(Debug)]
pub(super) struct Drawings {
    size: f32,
    bodies: HashMap<u16, Box<str>>,
}

/// One drawing, ready to be painted.
#[derive(Debug)]
pub(super) struct Art {
    pub(super) tree: Tree,
    /// What of its square is painted.
    pub(super) bounds: Area,
    /// Side of the square.
    pub(super) size: f32,
}

impl Drawings {
    /// Reads the file; a picture that the table of kinds does not have is left out.
    pub(super) fn open(bytes: &[u8]) -> Result<Self, SketchError> {
        let file: File = serde_json::from_slice(bytes).map_err(SketchError::Pictures)?;
        if !(1.0..=4_096.0).contains(&file.size) {
            return Err(SketchError::PictureSize(file.size));
        }
        let kinds = Kinds::get();
        let bodies: HashMap<_, _> = file
            .pictures
            .into_iter()
            .filter_map(|(emoji, body)| Some((kinds.find(&emoji)?, body.into_boxed_str())))
            .collect();
        if bodies.is_empty() {
            return Err(SketchError::NoPictures);
        }
        Ok(Self { size: file.size, bodies })
    }

    pub(super) fn has(&self, picture: u16) -> bool {
        self.bodies.contains_key(&picture)
    }

    /// Parses a drawing, turned to a colour where one is given.
    pub(super) fn art(&self, index: u16, picture: &Picture, colour: Option<Colour>) -> Result<Art, SketchError> {
        let body = self.bodies.get(&index).ok_or_else(|| SketchError::Drawing(picture.emoji.to_owned()))?;
        let plain = self.parse(body, picture)?;
        let tree = match colour {
            Some(colour) => {
                let counts = hue::count(self.preview(&plain).into_iter());
                self.parse(&hue::turn(body, &counts, colour, picture.is_person), picture)?
            }
            None => plain,
        };
        let painted = tree.root().abs_layer_bounding_box();
        let bounds = Area { x: painted.x(), y: painted.y(), width: painted.width(), height: painted.height() };
        Ok(Art { tree, bounds, size: self.size })
    }

    fn parse(&self, body: &str, picture: &Picture) -> Result<Tree, SketchError> {
        let side = self.size;
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{side}\" height=\"{side}\" viewBox=\"0 0 {side} {side}\">{body}</svg>"
        );
        Tree::from_str(&svg, &Options::default()).map_err(|_| SketchError::Drawing(picture.emoji.to_owned()))
    }

    /// Colours of the opaque pixels of a small rendering.
    fn preview(&self, tree: &Tree) -> Vec<[u8; 3]> {
        let Some(mut pixmap) = Pixmap::new(PREVIEW, PREVIEW) else { return Vec::new() };
        let scale = PREVIEW as f32 / self.size;
        resvg::render(tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
        let opaque = pixmap.pixels().iter().filter(|pixel| pixel.alpha() == 255);
        opaque.map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect()
    }
}
