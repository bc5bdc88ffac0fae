//! Reads lines in batches of similar width.

use std::path::Path;

use super::crop::{self, HEIGHT, MAX_WIDTH};
use super::ctc::{Characters, Reading};
use super::order::ReadLine;
use crate::media::MediaModel;
use crate::vision::geometry::LineBox;
use crate::vision::session::{Session, inference, output};
use crate::vision::types::checkpoint;
use crate::vision::{IsCancelled, RgbImage, Rotation, VisionError};

/// Narrowest batch: what the model was trained on.
const MIN_WIDTH: usize = 320;
/// Columns of a batch in all: bounds the memory, as does [`MAX_WIDTH`].
const MAX_BATCH_WIDTH: usize = MAX_WIDTH;

/// Reads lines of text.
#[derive(Debug)]
pub(super) struct Recognizer {
    session: Session,
    characters: Characters,
}

/// A piece of a line, and which line it is of.
struct Piece {
    line: usize,
    place: LineBox,
    width: usize,
}

impl Recognizer {
    pub(super) fn load(model: &MediaModel, cache: &Path) -> Result<Self, VisionError> {
        let path = model.path(cache, "characters")?;
        let table =
            std::fs::read_to_string(&path).map_err(|error| model.failed(format!("{}: {error}", path.display())))?;
        Ok(Self { session: Session::load(model, cache, "recognition")?, characters: Characters::parse(&table) })
    }

    /// Reads lines, each in its direction. One reading a line, in order.
    pub(super) fn read(
        &self,
        image: RgbImage,
        lines: &[LineBox],
        is_cancelled: IsCancelled,
    ) -> Result<Vec<Reading>, VisionError> {
        let mut pieces: Vec<Piece> = Vec::new();
        for (line, place) in lines.iter().enumerate() {
            pieces.extend(crop::pieces(image, place).into_iter().map(|place| {
                let width = (crop::scaled_width(&place) as usize).clamp(1, MAX_WIDTH);
                Piece { line, place, width }
            }));
        }
        let mut order: Vec<usize> = (0..pieces.len()).collect();
        order.sort_by_key(|at| pieces.get(*at).map(|piece| piece.width));
        let mut readings = vec![Reading::default(); pieces.len()];
        let mut rest = order.as_slice();
        while !rest.is_empty() {
            checkpoint(is_cancelled)?;
            let (batch, after) = rest.split_at(batch_size(rest, &pieces));
            let of_batch: Vec<&Piece> = batch.iter().filter_map(|at| pieces.get(*at)).collect();
            for (at, reading) in batch.iter().zip(self.read_batch(image, &of_batch)?) {
                if let Some(place) = readings.get_mut(*at) {
                    *place = reading;
                }
            }
            rest = after;
        }
        Ok(joined(lines.len(), &pieces, readings))
    }

    /// Reads lines. A column is read upright and in both directions sideways, and the best reading counts. Lines
    /// without text are left out.
    pub(super) fn read_any_direction(
        &self,
        image: RgbImage,
        lines: &[LineBox],
        is_cancelled: IsCancelled,
    ) -> Result<Vec<ReadLine>, VisionError> {
        let mut places: Vec<(usize, LineBox)> = Vec::new();
        for (line, place) in lines.iter().enumerate() {
            places.push((line, *place));
            if place.is_tall() {
                let sideways = [Rotation::Quarter, Rotation::ThreeQuarters].map(|turn| (line, place.read_after(turn)));
                places.extend(sideways);
            }
        }
        let boxes: Vec<LineBox> = places.iter().map(|(_, place)| *place).collect();
        let mut best: Vec<Option<ReadLine>> = vec![None; lines.len()];
        for ((line, place), reading) in places.into_iter().zip(self.read(image, &boxes, is_cancelled)?) {
            let text = reading.text.trim();
            if let Some(best) = best.get_mut(line)
                && !text.is_empty()
                && best.as_ref().is_none_or(|best| best.score < reading.score)
            {
                *best = Some(ReadLine { place, text: text.to_owned(), score: reading.score });
            }
        }
        Ok(best.into_iter().flatten().collect())
    }

    fn read_batch(&self, image: RgbImage, pieces: &[&Piece]) -> Result<Vec<Reading>, VisionError> {
        let width = pieces.iter().map(|piece| piece.width).fold(MIN_WIDTH, usize::max);
        let each = 3 * HEIGHT * width;
        let mut input = vec![0.0_f32; pieces.len() * each];
        for (piece, planes) in pieces.iter().zip(input.chunks_exact_mut(each)) {
            crop::write(image, &piece.place, piece.width, planes, width);
        }
        let outputs = self.session.run([pieces.len(), 3, HEIGHT, width], input)?;
        let found = output::<3>(outputs.into_iter().next())?;
        let [lines, steps, classes] = found.shape;
        if lines != pieces.len() || classes != self.characters.len() || steps == 0 {
            return Err(inference(format!("the recognizer's output has the shape {:?}", found.shape)));
        }
        Ok(found.data.chunks_exact(steps * classes).map(|line| self.characters.decode(line)).collect())
    }
}

/// Number of the next pieces, ordered by width, that fit a batch. At least 1.
fn batch_size(order: &[usize], pieces: &[Piece]) -> usize {
    let widths = order.iter().filter_map(|at| pieces.get(*at)).map(|piece| piece.width.max(MIN_WIDTH));
    let fitting = widths.enumerate().take_while(|(before, width)| (before + 1) * width <= MAX_BATCH_WIDTH);
    fitting.count().max(1)
}

/// Joins the pieces of each line by spaces.
fn joined(lines: usize, pieces: &[Piece], readings: Vec<Reading>) -> Vec<Reading> {
    let mut whole: Vec<Vec<Reading>> = vec![Vec::new(); lines];
    for (piece, reading) in pieces.iter().zip(readings) {
        if let Some(line) = whole.get_mut(piece.line) {
            line.push(reading);
        }
    }
    whole.into_iter().map(join).collect()
}

fn join(mut pieces: Vec<Reading>) -> Reading {
    if pieces.len() == 1 {
        return pieces.pop().unwrap_or_default();
    }
    pieces.retain(|piece| !piece.text.trim().is_empty());
    let texts: Vec<&str> = pieces.iter().map(|piece| piece.text.trim()).collect();
    let letters = |piece: &Reading| piece.text.chars().count() as f32;
    let all: f32 = pieces.iter().map(letters).sum();
    let score: f32 = pieces.iter().map(|piece| piece.score * letters(piece)).sum();
    Reading { text: texts.join(" "), score: if all > 0.0 { score / all } else { 0.0 } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(line: usize, width: usize) -> Piece {
        let place = LineBox { center: [0.0, 0.0], along: [1.0, 0.0], length: 1.0, height: 1.0 };
        Piece { line, place, width }
    }

    #[test]
    fn a_batch_holds_as_many_columns_as_allowed_and_at_least_one_line() {
        let pieces = [piece(0, 10), piece(1, 320), piece(2, 1000), piece(3, 3200)];
        // 3 lines of 1,000 columns are 3,000; with the fourth they would be 12,800.
        assert_eq!(batch_size(&[0, 1, 2, 3], &pieces), 3);
        assert_eq!(batch_size(&[3], &pieces), 1);
        let many: Vec<Piece> = (0..30).map(|line| piece(line, 10)).collect();
        assert_eq!(batch_size(&(0..30).collect::<Vec<_>>(), &many), 10);
    }

    #[test]
    fn pieces_of_a_line_are_joined_in_order_and_weighed_by_their_letters() {
        let reading = |text: &str, score| Reading { text: text.to_owned(), score };
        let pieces = [piece(0, 9), piece(1, 9), piece(1, 9), piece(1, 9)];
        let readings = vec![reading("one", 0.5), reading("two ", 1.0), reading("", 0.0), reading("threes", 0.5)];
        let whole = joined(2, &pieces, readings);
        assert_eq!((whole[0].text.as_str(), whole[0].score), ("one", 0.5));
        assert_eq!(whole[1].text, "two threes");
        assert!((whole[1].score - (4.0 + 3.0) / 10.0).abs() < 1e-6);
    }
}
