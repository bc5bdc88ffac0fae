//! Encoding of pictures anew: nothing of the file that they came in goes along.

use image::ExtendedColorType;
use image::codecs::jpeg::JpegEncoder;

use crate::rgb::Rgb;

/// Quality of a JPEG, 1 to 100, at which text stays legible.
const QUALITY: u8 = 90;

/// Encodes a picture as JPEG without metadata; `None` if the encoder refuses it.
#[must_use]
pub fn jpeg(picture: &Rgb) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, QUALITY);
    let encoded = encoder.encode(picture.pixels(), picture.width(), picture.height(), ExtendedColorType::Rgb8);
    encoded.ok().map(|()| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::{Limits, read};
    use crate::{Format, Metadata};

    #[test]
    fn a_picture_encoded_anew_has_its_size_and_no_metadata() {
        let picture = Rgb::new(5, 3, vec![200; 45]).unwrap();
        let header = read(&jpeg(&picture).unwrap(), Format::Jpeg, &Limits { pixels: 100, side: 100 }).unwrap();
        assert_eq!((header.width, header.height, header.metadata), (5, 3, Metadata::default()));
    }
}
