//! Distance and ground of each setting as SVG.

use std::fmt::Write as _;

use super::backdrop::Stage;
use super::rng::Rng;
use super::scene::{Setting, Weather};

/// Draws the ground of a setting and what stands far behind.
pub(super) fn draw(out: &mut String, stage: &Stage, rng: &mut Rng) {
    match stage.setting {
        Setting::Meadow => meadow(out, stage, rng),
        Setting::Park => park(out, stage, rng),
        Setting::Forest => forest(out, stage, rng),
        Setting::Beach => beach(out, stage),
        Setting::Sea => sea(out, stage, rng),
        Setting::Desert => desert(out, stage),
        Setting::City => city(out, stage, rng),
        Setting::Mountains => mountains(out, stage, rng),
        Setting::Snow => snow(out, stage, rng),
        Setting::Space => space(out, stage, rng),
        Setting::Indoor => indoor(out, stage),
    }
    let lies = stage.weather == Weather::Snow
        && !matches!(stage.setting, Setting::Snow | Setting::Sea | Setting::Indoor | Setting::Space);
    if lies {
        let (w, h, hz) = (stage.width, stage.height, stage.horizon() + stage.height * 0.015);
        let _ = write!(
            out,
            "<path fill=\"#f3f8fc\" opacity=\".8\" d=\"M0 {hz:.0}q{:.0} {:.0} {:.0} 0t{:.0} 0V{h}H0z\"/>",
            w * 0.25,
            -h * 0.03,
            w * 0.5,
            w * 0.5
        );
    }
}

/// The ground from a line downwards, in a gradient.
fn floor(out: &mut String, stage: &Stage, top: f32, colours: [&str; 2]) {
    let [near_horizon, near] = colours;
    let (w, h) = (stage.width, stage.height);
    let _ = write!(
        out,
        "<defs><linearGradient id=\"g\" x1=\"0\" y1=\"{top:.0}\" x2=\"0\" y2=\"{h}\" gradientUnits=\"userSpaceOnUse\"><stop offset=\"0\" stop-color=\"{near_horizon}\"/>\
         <stop offset=\"1\" stop-color=\"{near}\"/></linearGradient></defs><path fill=\"url(#g)\" d=\"M0 {top:.0}h{w}V{h}H0z\"/>"
    );
}

/// A line of hills: `rise` is their height, `first` the share of the width of the first one.
fn hills(out: &mut String, stage: &Stage, rise: f32, first: f32, fill: &str) {
    let (w, h, hz) = (stage.width, stage.height, stage.horizon() + stage.height * 0.02);
    let (a, b, rise) = (w * first, w * (1.0 - first), rise * h);
    let _ = write!(
        out,
        "<path fill=\"{fill}\" d=\"M{:.0} {hz:.0}Q{:.0} {:.0} {a:.0} {hz:.0}z M{:.0} {hz:.0}Q{:.0} {:.0} {:.0} {hz:.0}z\"/>",
        -w * 0.1,
        a * 0.45,
        hz - rise * 2.0,
        a - w * 0.25,
        a + b * 0.45,
        hz - rise * 2.6,
        w * 1.15
    );
}

fn meadow(out: &mut String, stage: &Stage, rng: &mut Rng) {
    hills(out, stage, 0.08, 0.55, "#a5d491");
    hills(out, stage, 0.05, 0.35, "#8cc878");
    floor(out, stage, stage.horizon(), ["#84c56d", "#4f9e47"]);
    for _ in 0..42 {
        let y = rng.between(stage.horizon() + stage.height * 0.03, stage.height * 0.98);
        let x = rng.between(0.0, stage.width);
        let s = stage.least() * rng.between(0.006, 0.012);
        let _ = write!(
            out,
            "<path fill=\"#3f8a3c\" opacity=\".45\" d=\"M{x:.0} {y:.0}l{:.1} {:.1}l{:.1} {:.1}l{:.1} {:.1}l{:.1} {:.1}z\"/>",
            -s,
            -s * 1.4,
            s * 0.9,
            s * 0.9,
            s * 0.5,
            -s * 1.5,
            s * 0.4,
            s * 2.0
        );
    }
}

fn park(out: &mut String, stage: &Stage, rng: &mut Rng) {
    let (w, h, m, hz) = (stage.width, stage.height, stage.least(), stage.horizon());
    for index in 0..9 {
        let x = w * (index as f32 + rng.between(0.1, 0.9)) / 9.0;
        let r = m * rng.between(0.04, 0.065);
        let _ = write!(
            out,
            "<path fill=\"#7a5a3a\" d=\"M{:.0} {:.0}h{:.0}v{:.0}h{:.0}z\"/><circle cx=\"{x:.0}\" cy=\"{:.0}\" r=\"{r:.0}\" fill=\"#5faa55\"/>",
            x - r * 0.12,
            hz - r,
            r * 0.24,
            r * 1.2,
            -r * 0.24,
            hz - r * 1.5
        );
    }
    floor(out, stage, hz, ["#8ccb72", "#58a64c"]);
    let _ = write!(
        out,
        "<path fill=\"#e6d3a8\" d=\"M{:.0} {hz:.0}Q{:.0} {:.0} {:.0} {h}H{:.0}Q{:.0} {:.0} {:.0} {hz:.0}z\"/>",
        w * 0.60,
        w * 0.72,
        h * 0.75,
        w * 0.22,
        w * 0.52,
        w * 0.84,
        h * 0.75,
        w * 0.63
    );
}

/// A row of conifers on a line.
fn conifers(out: &mut String, stage: &Stage, base: f32, count: usize, size: f32, fill: &str, rng: &mut Rng) {
    for index in 0..count {
        let x = stage.width * (index as f32 + rng.between(0.1, 0.9)) / count as f32;
        let s = size * stage.height * rng.between(0.75, 1.2);
        let _ = write!(
            out,
            "<path fill=\"{fill}\" d=\"M{x:.0} {:.0}l{:.0} {:.0}h{:.0}z\"/>",
            base - s,
            s * 0.28,
            s,
            -s * 0.56
        );
    }
}

fn forest(out: &mut String, stage: &Stage, rng: &mut Rng) {
    let hz = stage.horizon();
    floor(out, stage, hz, ["#5d9150", "#3c6d38"]);
    conifers(out, stage, hz + stage.height * 0.01, 22, 0.20, "#8bb58a", rng);
    conifers(out, stage, hz + stage.height * 0.02, 16, 0.26, "#5f9463", rng);
    conifers(out, stage, hz + stage.height * 0.04, 11, 0.30, "#3d7446", rng);
}

fn beach(out: &mut String, stage: &Stage) {
    let (w, h, hz) = (stage.width, stage.height, stage.horizon());
    let shore = hz + h * 0.11;
    let _ = write!(
        out,
        "<path fill=\"#3fa3d4\" d=\"M0 {hz:.0}h{w}v{:.0}H0z\"/><path fill=\"#63bde2\" d=\"M0 {:.0}h{w}v{:.0}H0z\"/>",
        h * 0.12,
        hz + h * 0.06,
        h * 0.06
    );
    floor(out, stage, shore, ["#f6e0ad", "#e2bf7f"]);
    let _ = write!(
        out,
        "<path fill=\"none\" stroke=\"#ffffff\" stroke-width=\"{:.0}\" d=\"M0 {shore:.0}q{:.0} {:.0} {:.0} 0t{:.0} 0t{:.0} 0t{:.0} 0\"/>",
        h * 0.008,
        w * 0.125,
        h * 0.015,
        w * 0.25,
        w * 0.25,
        w * 0.25,
        w * 0.25
    );
}

fn sea(out: &mut String, stage: &Stage, rng: &mut Rng) {
    floor(out, stage, stage.horizon(), ["#53b1de", "#15558f"]);
    for index in 0..34 {
        let depth = (index as f32 + 0.5) / 34.0;
        let y = stage.horizon() + (stage.height - stage.horizon()) * depth;
        let (x, length) = (rng.between(-0.05, 0.95) * stage.width, stage.least() * (0.03 + 0.07 * depth));
        let _ = write!(
            out,
            "<path fill=\"none\" stroke=\"#d6f0fb\" opacity=\".45\" stroke-linecap=\"round\" stroke-width=\"{:.1}\" d=\"M{x:.0} {y:.0}q{:.0} {:.0} {length:.0} 0t{length:.0} 0\"/>",
            stage.least() * 0.004,
            length / 2.0,
            -length * 0.22
        );
    }
}

fn desert(out: &mut String, stage: &Stage) {
    let (w, h, hz) = (stage.width, stage.height, stage.horizon());
    hills(out, stage, 0.07, 0.6, "#edcf95");
    floor(out, stage, hz, ["#e8c27d", "#cf9a55"]);
    let _ = write!(
        out,
        "<path fill=\"#d9ab66\" opacity=\".7\" d=\"M0 {:.0}Q{:.0} {:.0} {:.0} {:.0}T{w} {:.0}V{h}H0z\"/>",
        h * 0.74,
        w * 0.25,
        h * 0.66,
        w * 0.55,
        h * 0.75,
        h * 0.71
    );
    let _ = write!(
        out,
        "<path fill=\"#c88f4c\" opacity=\".5\" d=\"M0 {:.0}Q{:.0} {:.0} {:.0} {:.0}T{w} {:.0}V{h}H0z\"/>",
        h * 0.90,
        w * 0.35,
        h * 0.80,
        w * 0.62,
        h * 0.89,
        h * 0.86
    );
}

fn city(out: &mut String, stage: &Stage, rng: &mut Rng) {
    let (w, h, hz) = (stage.width, stage.height, stage.horizon() + stage.height * 0.02);
    let lit = if stage.time == super::scene::TimeOfDay::Night { "#ffe08a" } else { "#dfeaf2" };
    for (count, low, high, fill) in [(14, 0.20, 0.36, "#a9b9c9"), (10, 0.12, 0.28, "#7d91a6")] {
        let step = w / count as f32;
        for index in 0..count {
            let (x, tall) = (step * index as f32, h * rng.between(low, high));
            let _ = write!(
                out,
                "<path fill=\"{fill}\" d=\"M{x:.0} {:.0}h{:.0}v{tall:.0}h{:.0}z\"/>",
                hz - tall,
                step * 0.94,
                -step * 0.94
            );
            let (columns, rows) = (3, (tall / (h * 0.035)) as usize);
            for cell in 0..columns * rows.min(12) {
                if rng.one_in(3) {
                    continue;
                }
                let wx = x + step * (0.16 + 0.26 * (cell % columns) as f32);
                let wy = hz - tall + h * 0.014 + h * 0.033 * (cell / columns) as f32;
                let _ = write!(
                    out,
                    "<path fill=\"{lit}\" opacity=\".8\" d=\"M{wx:.0} {wy:.0}h{0:.0}v{1:.0}h-{0:.0}z\"/>",
                    step * 0.13,
                    h * 0.014
                );
            }
        }
    }
    floor(out, stage, hz, ["#b4bac0", "#979ea5"]);
    let _ = write!(
        out,
        "<path fill=\"#5d646c\" d=\"M0 {:.0}h{w}V{:.0}H0z\"/><path stroke=\"#f4e9b8\" stroke-width=\"{:.0}\" stroke-dasharray=\"{:.0}\" d=\"M0 {:.0}h{w}\"/>",
        h * 0.74,
        h * 0.96,
        h * 0.008,
        w * 0.05,
        h * 0.85
    );
}

fn mountains(out: &mut String, stage: &Stage, rng: &mut Rng) {
    let (w, h, hz) = (stage.width, stage.height, stage.horizon() + stage.height * 0.02);
    for (peaks, tall, fill) in [(4, 0.36, "#9aa9bf"), (3, 0.30, "#76879f")] {
        for index in 0..peaks {
            let x = w * (index as f32 + rng.between(0.3, 0.7)) / peaks as f32;
            let (t, half) = (h * tall * rng.between(0.8, 1.1), w * rng.between(0.20, 0.28));
            let _ =
                write!(out, "<path fill=\"{fill}\" d=\"M{x:.0} {:.0}l{half:.0} {t:.0}h{:.0}z\"/>", hz - t, -half * 2.0);
            let (cap, side) = (t * 0.28, half * 0.28);
            let _ = write!(
                out,
                "<path fill=\"#f7fafd\" d=\"M{x:.0} {:.0}l{side:.0} {cap:.0}l{:.0} {:.0}l{:.0} {:.0}l{:.0} {:.0}l{:.0} {:.0}z\"/>",
                hz - t,
                -side * 0.6,
                -cap * 0.3,
                -side * 0.4,
                cap * 0.25,
                -side * 0.4,
                -cap * 0.25,
                -side * 0.6,
                cap * 0.3
            );
        }
    }
    floor(out, stage, hz, ["#8fc27c", "#5a9c4e"]);
}

fn snow(out: &mut String, stage: &Stage, rng: &mut Rng) {
    hills(out, stage, 0.08, 0.5, "#d3e2f0");
    conifers(out, stage, stage.horizon() + stage.height * 0.01, 13, 0.11, "#6d9484", rng);
    floor(out, stage, stage.horizon(), ["#f7fbff", "#cfdfee"]);
}

fn space(out: &mut String, stage: &Stage, rng: &mut Rng) {
    floor(out, stage, stage.horizon(), ["#a3a7b5", "#6f7384"]);
    for _ in 0..9 {
        let (x, y) =
            (rng.between(0.0, stage.width), rng.between(stage.horizon() + stage.height * 0.03, stage.height * 0.97));
        let r = stage.least() * rng.between(0.015, 0.05);
        let _ = write!(
            out,
            "<ellipse cx=\"{x:.0}\" cy=\"{y:.0}\" rx=\"{r:.0}\" ry=\"{:.0}\" fill=\"#5c6071\" opacity=\".7\"/>",
            r * 0.4
        );
    }
}

fn indoor(out: &mut String, stage: &Stage) {
    let (w, h, m, hz) = (stage.width, stage.height, stage.least(), stage.horizon());
    let pane = match stage.time {
        super::scene::TimeOfDay::Night => "#22345f",
        super::scene::TimeOfDay::Day => "#a9d8f5",
        _ => "#f7b98c",
    };
    let (x, y, side) = (w * 0.5 - m * 0.15, h * 0.10, m * 0.3);
    let _ = write!(
        out,
        "<path fill=\"#b98a57\" d=\"M{:.0} {:.0}h{2:.0}v{2:.0}h-{2:.0}z\"/><path fill=\"{pane}\" d=\"M{x:.0} {y:.0}h{side:.0}v{side:.0}h-{side:.0}z\"/>",
        x - m * 0.014,
        y - m * 0.014,
        side + m * 0.028
    );
    let _ = write!(
        out,
        "<path stroke=\"#b98a57\" stroke-width=\"{:.0}\" d=\"M{:.0} {y:.0}v{side:.0}M{x:.0} {:.0}h{side:.0}\"/>",
        m * 0.01,
        x + side / 2.0,
        y + side / 2.0
    );
    floor(out, stage, hz, ["#cf9f6c", "#b17f4c"]);
    let _ = write!(out, "<path fill=\"#fffaf0\" d=\"M0 {:.0}h{w}v{:.0}H0z\"/>", hz - h * 0.02, h * 0.02);
    for index in 1..5 {
        let y = hz + (h - hz) * (index * index) as f32 / 25.0;
        let _ = write!(
            out,
            "<path stroke=\"#9c6d3f\" opacity=\".5\" stroke-width=\"{:.1}\" d=\"M0 {y:.0}h{w}\"/>",
            m * 0.003
        );
    }
}
