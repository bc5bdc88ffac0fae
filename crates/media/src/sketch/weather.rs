//! Rain, snow, fog and lightning in front of the figures, as SVG.

use std::fmt::Write as _;

use super::backdrop::{Stage, open};
use super::rng::Rng;
use super::scene::{Setting, Weather};

/// What is drawn over everything; `None` in clear weather and in a room.
pub(super) fn svg(stage: &Stage, rng: &mut Rng) -> Option<String> {
    if matches!(stage.setting, Setting::Indoor | Setting::Space) {
        return None;
    }
    let mut out = open(stage);
    match stage.weather {
        Weather::Clear | Weather::Cloudy => return None,
        Weather::Rain => rain(&mut out, stage, 130, rng),
        Weather::Storm => {
            lightning(&mut out, stage, rng);
            rain(&mut out, stage, 190, rng);
        }
        Weather::Snow => flakes(&mut out, stage, rng),
        Weather::Fog => fog(&mut out, stage),
    }
    out.push_str("</svg>");
    Some(out)
}

fn rain(out: &mut String, stage: &Stage, drops: usize, rng: &mut Rng) {
    let m = stage.least();
    let _ = write!(
        out,
        "<path stroke=\"#cfe6f7\" opacity=\".75\" stroke-linecap=\"round\" stroke-width=\"{:.1}\" d=\"",
        m * 0.003
    );
    for _ in 0..drops {
        let (x, y) = (rng.between(0.0, stage.width * 1.05), rng.between(0.1, 1.0) * stage.height);
        let length = m * rng.between(0.02, 0.045);
        let _ = write!(out, "M{x:.0} {y:.0}l{:.0} {length:.0}", -length * 0.3);
    }
    out.push_str("\"/>");
}

fn flakes(out: &mut String, stage: &Stage, rng: &mut Rng) {
    out.push_str("<g fill=\"#ffffff\" opacity=\".92\">");
    for _ in 0..150 {
        let (x, y) = (rng.between(0.0, stage.width), rng.between(0.0, stage.height));
        let radius = stage.least() * rng.between(0.0025, 0.008);
        let _ = write!(out, "<circle cx=\"{x:.0}\" cy=\"{y:.0}\" r=\"{radius:.1}\"/>");
    }
    out.push_str("</g>");
}

fn fog(out: &mut String, stage: &Stage) {
    let (w, h) = (stage.width, stage.height);
    out.push_str(
        "<defs><linearGradient id=\"f\" x2=\"0\" y2=\"1\"><stop stop-color=\"#f4f7f8\" stop-opacity=\"0\"/>\
         <stop offset=\".5\" stop-color=\"#f4f7f8\"/><stop offset=\"1\" stop-color=\"#f4f7f8\" stop-opacity=\"0\"/></linearGradient></defs>",
    );
    let _ = write!(out, "<path fill=\"#e6ebee\" opacity=\".30\" d=\"M0 0h{w}v{h}H0z\"/>");
    // Banks that fade out upwards and downwards.
    for (y, tall, opacity) in [(0.34, 0.30, 0.75), (0.54, 0.26, 0.6), (0.72, 0.24, 0.45)] {
        let _ =
            write!(out, "<path fill=\"url(#f)\" opacity=\"{opacity}\" d=\"M0 {:.0}h{w}v{:.0}H0z\"/>", y * h, tall * h);
    }
}

fn lightning(out: &mut String, stage: &Stage, rng: &mut Rng) {
    let s = stage.least() * 0.06;
    for share in [0.2, 0.72] {
        let (x, y) = (stage.width * (share + rng.between(-0.06, 0.06)), stage.height * 0.24);
        let _ = write!(
            out,
            "<path fill=\"#ffe14d\" stroke=\"#fff7c9\" stroke-width=\"2\" d=\"M{x:.0} {y:.0}l{:.0} {:.0}h{:.0}l{:.0} {:.0}l{:.0} {:.0}h{:.0}l{:.0} {:.0}z\"/>",
            -s,
            s * 1.7,
            s * 0.8,
            -s * 0.8,
            s * 1.8,
            s * 2.0,
            -s * 2.4,
            -s * 0.9,
            s * 0.7,
            -s * 1.1
        );
    }
}
