//! Colours turn a picture's hue.

use crate::sketch::{Colour, Figure, Quality, Scene, Size};

use super::SKETCHER;

/// Mean red, green and blue where the figure stands.
fn mean(colour: Option<Colour>) -> [f32; 3] {
    let figure = Figure { picture: "🐘".to_owned(), count: 1, colour, relation: None };
    let scene = Scene { figures: vec![figure], ..Scene::default() };
    let png = SKETCHER.render(&scene, Size::Square, Quality::Standard, 1).unwrap().png;
    let area = SKETCHER.layout(&scene, Size::Square, 1).unwrap().front[0].area;
    let pixels = image::load_from_memory(&png).unwrap().to_rgb8();
    let (x, y) = ((area.x + area.width * 0.4) as u32, (area.y + area.height * 0.2) as u32);
    let mut sum = [0.0; 3];
    for offset in 0..100 {
        let pixel = pixels.get_pixel(x + offset % 10, y + offset / 10);
        for (sum, channel) in sum.iter_mut().zip(pixel.0) {
            *sum += f32::from(channel) / 100.0;
        }
    }
    sum
}

#[test]
fn a_grey_elephant_becomes_red_green_blue_black_or_white() {
    let [r, g, b] = mean(None);
    assert!((r - g).abs() < 8.0 && (g - b).abs() < 8.0, "{r} {g} {b}");
    let [r, g, b] = mean(Some(Colour::Red));
    assert!(r > g + 60.0 && r > b + 60.0, "{r} {g} {b}");
    let [r, g, b] = mean(Some(Colour::Green));
    assert!(g > r + 30.0 && g > b + 20.0, "{r} {g} {b}");
    let [r, g, b] = mean(Some(Colour::Blue));
    assert!(b > r + 60.0 && b > g + 30.0, "{r} {g} {b}");
    let [r, g, b] = mean(Some(Colour::Black));
    assert!(r.max(g).max(b) < 80.0, "{r} {g} {b}");
    let [r, g, b] = mean(Some(Colour::White));
    assert!(r.min(g).min(b) > 200.0, "{r} {g} {b}");
}
