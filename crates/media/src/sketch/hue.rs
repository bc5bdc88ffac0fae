//! Turns the main colour of a picture to another one.

use std::collections::BTreeMap;

use super::scene::Colour;

/// Red, green, blue.
type Rgb = [u8; 3];

/// Hue (degrees), saturation and lightness (0 to 1) of a colour word.
const fn target(colour: Colour) -> (f32, f32, f32) {
    match colour {
        Colour::Red => (2.0, 0.80, 0.50),
        Colour::Orange => (28.0, 0.95, 0.55),
        Colour::Yellow => (50.0, 0.95, 0.58),
        Colour::Green => (130.0, 0.50, 0.42),
        Colour::Blue => (216.0, 0.78, 0.52),
        Colour::Purple => (275.0, 0.50, 0.50),
        Colour::Pink => (335.0, 0.85, 0.75),
        Colour::Brown => (24.0, 0.45, 0.34),
        Colour::Black => (230.0, 0.04, 0.15),
        Colour::White => (220.0, 0.10, 0.93),
        Colour::Grey => (220.0, 0.04, 0.58),
    }
}

/// Colours of a drawing by the number of pixels that have exactly that colour.
pub(super) fn count(pixels: impl Iterator<Item = Rgb>) -> BTreeMap<Rgb, u32> {
    let mut counts = BTreeMap::new();
    for pixel in pixels {
        *counts.entry(pixel).or_insert(0) += 1;
    }
    counts
}

/// Recolours the drawing's main colours; others (eyes, wheels, windows) stay.
pub(super) fn turn(body: &str, counts: &BTreeMap<Rgb, u32>, colour: Colour, keeps_skin: bool) -> String {
    let main = counts
        .iter()
        .filter(|(rgb, _)| body.contains(&hex(**rgb)) && !(keeps_skin && is_skin(**rgb)))
        .max_by_key(|(_, count)| **count)
        .map(|(rgb, _)| hsl(*rgb));
    let Some(main) = main else { return body.to_owned() };
    let (hue, saturation, lightness) = target(colour);
    map_colours(body, |rgb| {
        let own = hsl(rgb);
        if !belongs(own, main) || (keeps_skin && is_skin(rgb)) {
            return rgb;
        }
        // Shades of black stay dark; those of a grey picture are far apart as they are.
        let shade = match colour {
            Colour::Black => 0.5,
            _ if main.1 < 0.12 => 0.7,
            _ => 0.85,
        };
        rgb_of(hue, saturation, (lightness + (own.2 - main.2) * shade).clamp(0.08, 0.97))
    })
}

/// Whether a colour is a shade of the main one: near in hue, or grey as it is.
fn belongs(own: (f32, f32, f32), main: (f32, f32, f32)) -> bool {
    let is_grey = |colour: (f32, f32, f32)| colour.1 < 0.12;
    if is_grey(main) {
        return is_grey(own) && (own.2 - main.2).abs() < 0.4;
    }
    let distance = (own.0 - main.0).abs();
    !is_grey(own) && distance.min(360.0 - distance) < 38.0 && own.2 > 0.1
}

/// The yellow and brown of faces and hands.
fn is_skin(rgb: Rgb) -> bool {
    let (hue, saturation, lightness) = hsl(rgb);
    (18.0..52.0).contains(&hue) && saturation > 0.4 && lightness > 0.45
}

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Replaces every `#rrggbb` and `#rgb` of a drawing that is a colour.
fn map_colours(body: &str, map: impl Fn(Rgb) -> Rgb) -> String {
    let mut out = String::with_capacity(body.len() + 64);
    let mut rest = body;
    while let Some((before, after)) = rest.split_once("=\"#") {
        out.push_str(before);
        out.push_str("=\"");
        let word = after.split('"').next().unwrap_or_default();
        match parse(word) {
            Some(rgb) => out.push_str(&hex(map(rgb))),
            None => {
                out.push('#');
                out.push_str(word);
            }
        }
        rest = after.get(word.len()..).unwrap_or_default();
    }
    out + rest
}

fn parse(word: &str) -> Option<Rgb> {
    let value = u32::from_str_radix(word, 16).ok()?;
    let byte = |shift: u32, mask: u32| u8::try_from(value >> shift & mask).ok();
    match word.len() {
        6 => Some([byte(16, 255)?, byte(8, 255)?, byte(0, 255)?]),
        3 => Some([byte(8, 15)? * 17, byte(4, 15)? * 17, byte(0, 15)? * 17]),
        _ => None,
    }
}

fn hsl(rgb: Rgb) -> (f32, f32, f32) {
    let [r, g, b] = rgb.map(|channel| f32::from(channel) / 255.0);
    let (high, low) = (r.max(g).max(b), r.min(g).min(b));
    let (spread, lightness) = (high - low, f32::midpoint(high, low));
    if spread < 0.001 {
        return (0.0, 0.0, lightness);
    }
    let saturation = spread / (1.0 - (2.0 * lightness - 1.0).abs()).max(0.001);
    let sector = if high == r {
        (g - b) / spread
    } else if high == g {
        (b - r) / spread + 2.0
    } else {
        (r - g) / spread + 4.0
    };
    ((sector * 60.0).rem_euclid(360.0), saturation, lightness)
}

fn rgb_of(hue: f32, saturation: f32, lightness: f32) -> Rgb {
    let chroma = saturation * lightness.min(1.0 - lightness);
    [0.0, 8.0, 4.0].map(|offset: f32| {
        let k = (offset + hue / 30.0).rem_euclid(12.0);
        let value = lightness - chroma * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        (value * 255.0).round().clamp(0.0, 255.0) as u8
    })
}
