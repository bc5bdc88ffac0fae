//! Names of a picture's colours by rules: hue, saturation and value of each pixel (Smith, SIGGRAPH 1978).

use serde::Serialize;

use crate::rgb::Rgb;

/// A basic colour term of English.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Colour {
    /// Value under 0.2.
    Black,
    /// Saturation under 0.15, value from 0.85.
    White,
    /// Saturation under 0.15.
    Grey,
    /// Hue from 345 to 15 degrees.
    Red,
    /// Hue from 15 to 45 degrees.
    Orange,
    /// Hue from 15 to 45 degrees, value under 0.65.
    Brown,
    /// Hue from 45 to 70 degrees.
    Yellow,
    /// Hue from 70 to 165 degrees.
    Green,
    /// Hue from 165 to 195 degrees.
    Cyan,
    /// Hue from 195 to 260 degrees.
    Blue,
    /// Hue from 260 to 300 degrees.
    Purple,
    /// Hue from 300 to 345 degrees.
    Pink,
}

impl Colour {
    const ALL: [Self; 12] = [
        Self::Black,
        Self::White,
        Self::Grey,
        Self::Red,
        Self::Orange,
        Self::Brown,
        Self::Yellow,
        Self::Green,
        Self::Cyan,
        Self::Blue,
        Self::Purple,
        Self::Pink,
    ];

    /// Returns the English word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Black => "black",
            Self::White => "white",
            Self::Grey => "grey",
            Self::Red => "red",
            Self::Orange => "orange",
            Self::Brown => "brown",
            Self::Yellow => "yellow",
            Self::Green => "green",
            Self::Cyan => "cyan",
            Self::Blue => "blue",
            Self::Purple => "purple",
            Self::Pink => "pink",
        }
    }

    /// Returns the colour of a pixel.
    #[must_use]
    pub fn of([red, green, blue]: [u8; 3]) -> Self {
        let [r, g, b] = [red, green, blue].map(|sample| f64::from(sample) / 255.0);
        let (most, least) = (r.max(g).max(b), r.min(g).min(b));
        let chroma = most - least;
        let saturation = if most > 0.0 { chroma / most } else { 0.0 };
        if most < 0.2 {
            return Self::Black;
        }
        if saturation < 0.15 {
            return if most >= 0.85 { Self::White } else { Self::Grey };
        }
        let sixth = if red >= green && red >= blue {
            ((g - b) / chroma).rem_euclid(6.0)
        } else if green >= blue {
            (b - r) / chroma + 2.0
        } else {
            (r - g) / chroma + 4.0
        };
        match sixth * 60.0 {
            hue if !(15.0..345.0).contains(&hue) => Self::Red,
            hue if hue < 45.0 && most < 0.65 => Self::Brown,
            hue if hue < 45.0 => Self::Orange,
            hue if hue < 70.0 => Self::Yellow,
            hue if hue < 165.0 => Self::Green,
            hue if hue < 195.0 => Self::Cyan,
            hue if hue < 260.0 => Self::Blue,
            hue if hue < 300.0 => Self::Purple,
            _ => Self::Pink,
        }
    }
}

/// A colour and its share of the pixels, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ColourShare {
    /// Colour.
    pub colour: Colour,
    /// Share of the pixels, 0 to 1.
    pub share: f64,
}

/// Returns the colours of at least `least` of the pixels, the commonest first.
#[must_use]
pub fn shares(picture: &Rgb, least: f64) -> Vec<ColourShare> {
    let mut counts = Colour::ALL.map(|colour| (colour, 0_u64));
    let pixels = picture.pixels().chunks_exact(3).filter_map(|pixel| <[u8; 3]>::try_from(pixel).ok());
    for pixel in pixels {
        let found = Colour::of(pixel);
        if let Some((_, count)) = counts.iter_mut().find(|(colour, _)| *colour == found) {
            *count += 1;
        }
    }
    let all = f64::from(picture.width()) * f64::from(picture.height());
    let share = |(colour, count): (Colour, u64)| ColourShare { colour, share: count as f64 / all };
    let mut shares: Vec<ColourShare> = counts.into_iter().map(share).filter(|found| found.share >= least).collect();
    shares.sort_by(|a, b| b.share.total_cmp(&a.share));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The colours of CSS of these names.
    #[test]
    fn colours_of_css_have_their_names() {
        for (pixel, name) in [
            ([0, 0, 0], "black"),
            ([255, 255, 255], "white"),
            ([128, 128, 128], "grey"),
            ([255, 0, 0], "red"),
            ([255, 165, 0], "orange"),
            ([165, 42, 42], "red"),
            ([139, 69, 19], "brown"),
            ([255, 255, 0], "yellow"),
            ([0, 128, 0], "green"),
            ([0, 255, 255], "cyan"),
            ([0, 0, 255], "blue"),
            ([75, 0, 130], "purple"),
            ([255, 105, 180], "pink"),
        ] {
            assert_eq!(Colour::of(pixel).name(), name, "{pixel:?}");
        }
    }

    #[test]
    fn shares_are_of_all_pixels_and_rare_colours_are_left_out() {
        let mut pixels = [255, 0, 0].repeat(70);
        pixels.extend([0, 0, 255].repeat(28));
        pixels.extend([0; 6]);
        let found = shares(&Rgb::new(10, 10, pixels).unwrap(), 0.05);
        let names: Vec<_> = found.iter().map(|found| (found.colour.name(), found.share)).collect();
        assert_eq!(names, [("red", 0.7), ("blue", 0.28)]);
    }
}
