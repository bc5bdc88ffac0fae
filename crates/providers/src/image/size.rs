//! Sizes of pictures, and what is requested of a model that does not draw every size.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Columns and rows of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ImageSize {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// Width to height, such as 16:9.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AspectRatio {
    /// Parts of the width.
    pub width: u32,
    /// Parts of the height.
    pub height: u32,
}

macro_rules! pair {
    ($name:ident, $between:literal, $most:literal, $example:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}{}", self.width, $between, self.height)
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let number = |text: &str| {
                    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                    text.parse().ok().filter(|number| digits && (1..=$most).contains(number))
                };
                let parsed = text.split_once($between).and_then(|(w, h)| Some((number(w)?, number(h)?)));
                let (width, height) = parsed.ok_or_else(|| format!("{text:?} is not of the form {}", $example))?;
                Ok(Self { width, height })
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(pair: $name) -> Self {
                pair.to_string()
            }
        }

        impl $name {
            /// Natural logarithm of width over height: equal factors are equally far apart.
            fn log_ratio(self) -> f64 {
                (f64::from(self.width) / f64::from(self.height)).ln()
            }
        }
    };
}

pair!(ImageSize, 'x', 16_384, "1024x1024");
pair!(AspectRatio, ':', 1_000, "16:9");

impl ImageSize {
    /// Creates a size.
    pub const fn new(width: u32, height: u32) -> Self {
        Self { width, height }
    }

    /// Returns the number of pixels.
    pub fn pixels(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

/// What a model draws.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ImageShapes {
    /// Every size that is requested.
    #[default]
    Free,
    /// These sizes, at least one.
    Sizes(Vec<ImageSize>),
    /// Sizes of its own with these aspect ratios, at least one.
    Ratios(Vec<AspectRatio>),
}

/// What is requested of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ImageShape {
    /// Nothing: the model chooses.
    #[default]
    Auto,
    /// A size.
    Size(ImageSize),
    /// An aspect ratio.
    Ratio(AspectRatio),
}

impl ImageShapes {
    /// Returns the shape to request for pictures of a size: the size itself, else the nearest that the model draws. The
    /// picture is then cropped.
    pub fn nearest(&self, requested: Option<ImageSize>) -> ImageShape {
        let Some(wanted) = requested else { return ImageShape::Auto };
        let far = |log_ratio: f64| (log_ratio - wanted.log_ratio()).abs();
        match self {
            Self::Free => ImageShape::Size(wanted),
            Self::Sizes(sizes) => {
                // Of sizes of one aspect ratio, the one whose number of pixels is nearest.
                let key = |size: &ImageSize| (far(size.log_ratio()), size.pixels().abs_diff(wanted.pixels()));
                let nearest = sizes.iter().min_by(|a, b| {
                    let ((far_a, pixels_a), (far_b, pixels_b)) = (key(a), key(b));
                    far_a.total_cmp(&far_b).then(pixels_a.cmp(&pixels_b))
                });
                nearest.map_or(ImageShape::Auto, |size| ImageShape::Size(*size))
            }
            Self::Ratios(ratios) => {
                let nearest = ratios.iter().min_by(|a, b| far(a.log_ratio()).total_cmp(&far(b.log_ratio())));
                nearest.map_or(ImageShape::Auto, |ratio| ImageShape::Ratio(*ratio))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(text: &str) -> ImageSize {
        text.parse().unwrap()
    }

    #[test]
    fn sizes_are_read_and_written() {
        assert_eq!(size("1792x1024"), ImageSize::new(1792, 1024));
        assert_eq!(size("1792x1024").to_string(), "1792x1024");
        for bad in ["", "1024", "1024X1024", "x", "1024x", "0x1", "+1x1", "1x1x1", "16385x1", " 1x1", "99999999999x1"] {
            assert!(bad.parse::<ImageSize>().is_err(), "{bad}");
        }
        assert_eq!("16:9".parse(), Ok(AspectRatio { width: 16, height: 9 }));
        assert!("16x9".parse::<AspectRatio>().is_err());
    }

    #[test]
    fn the_nearest_shape_has_the_nearest_aspect_ratio() {
        let sizes = ["1024x1024", "512x512", "1536x1024", "1024x1536"].map(size).to_vec();
        let sizes = ImageShapes::Sizes(sizes);
        for (wanted, expected) in
            [("1792x1024", "1536x1024"), ("1024x1792", "1024x1536"), ("1024x1024", "1024x1024"), ("600x600", "512x512")]
        {
            assert_eq!(sizes.nearest(Some(size(wanted))), ImageShape::Size(size(expected)), "{wanted}");
        }
        let ratios = ImageShapes::Ratios(["1:1", "16:9", "9:16", "4:3"].map(|text| text.parse().unwrap()).to_vec());
        // 1792:1024 is 1.75; 16:9 is 1.78.
        assert_eq!(ratios.nearest(Some(size("1792x1024"))), ImageShape::Ratio("16:9".parse().unwrap()));
        assert_eq!(ImageShapes::Free.nearest(Some(size("7x5"))), ImageShape::Size(size("7x5")));
        assert_eq!(ratios.nearest(None), ImageShape::Auto);
    }
}
