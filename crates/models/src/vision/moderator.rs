//! Scores sexual content: Yahoo's Open NSFW (Mahadeokar and Pesavento 2016).

use std::path::Path;

use super::resize::resize;
use super::session::{Session, inference, output, verified};
use super::types::checkpoint;
use super::{IsCancelled, ModerationScores, RgbImage, VisionError};

/// Side to which the published preprocessing stretches a picture.
const STRETCHED: u32 = 256;
/// Side of the middle of it that the model sees.
const SIDE: usize = 224;
/// Means of blue, green and red that the model was trained with.
const MEANS: [f32; 3] = [104.0, 117.0, 123.0];

/// Scores sexual content, and nothing else.
#[derive(Debug)]
pub struct Moderator {
    session: Session,
}

impl Moderator {
    /// Verifies and loads the model `moderate` from the cache folder.
    ///
    /// # Errors
    /// The model is absent or cannot be used.
    pub fn load(cache: &Path) -> Result<Self, VisionError> {
        let model = verified("moderate", cache)?;
        Ok(Self { session: Session::load(&model, cache, "weights")? })
    }

    /// Scores a picture.
    ///
    /// # Errors
    /// The picture is out of bounds, the caller cancelled, or the model failed.
    pub fn assess(&self, image: RgbImage, is_cancelled: IsCancelled) -> Result<ModerationScores, VisionError> {
        image.check()?;
        checkpoint(is_cancelled)?;
        let outputs = self.session.run([1, SIDE, SIDE, 3], input(image))?;
        let scores = output::<2>(outputs.into_iter().next())?;
        match scores.data.as_slice() {
            [_, sexual] => Ok(ModerationScores { sexual: sexual.clamp(0.0, 1.0) }),
            _ => Err(inference(format!("the scores have the shape {:?}", scores.shape))),
        }
    }
}

/// The middle of the stretched picture: blue, green and red of each pixel less their means.
fn input(image: RgbImage) -> Vec<f32> {
    let stretched = resize(image, STRETCHED, STRETCHED);
    let border = (STRETCHED as usize - SIDE) / 2;
    let rows = stretched.data.chunks_exact(STRETCHED as usize * 3).skip(border).take(SIDE);
    let pixels = rows.flat_map(|row| row.chunks_exact(3).skip(border).take(SIDE));
    pixels.flat_map(|pixel| pixel.iter().rev().zip(MEANS).map(|(byte, mean)| f32::from(*byte) - mean)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_sees_the_middle_as_blue_green_red_less_the_means() {
        let pixels: Vec<u8> = (0..256 * 256).flat_map(|at: usize| [(at % 256) as u8, (at / 256) as u8, 9]).collect();
        let input = input(RgbImage { width: 256, height: 256, pixels: &pixels });
        assert_eq!(input.len(), 224 * 224 * 3);
        // The first pixel is at (16, 16), the last at (239, 239).
        assert_eq!(input[..3], [9.0 - 104.0, 16.0 - 117.0, 16.0 - 123.0]);
        assert_eq!(input[input.len() - 3..], [9.0 - 104.0, 239.0 - 117.0, 239.0 - 123.0]);
    }
}
