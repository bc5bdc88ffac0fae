//! Sky, distance and ground of a scene as SVG.

use std::fmt::Write as _;

use super::ground;
use super::rng::Rng;
use super::scene::{Setting, TimeOfDay, Weather};

/// Where, when, in what weather, on what canvas.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stage {
    pub(super) setting: Setting,
    pub(super) time: TimeOfDay,
    pub(super) weather: Weather,
    pub(super) width: f32,
    pub(super) height: f32,
    /// Whether the backdrop draws its own sun or moon.
    pub(super) draws_light: bool,
}

impl Stage {
    /// The line where the ground begins.
    pub(super) fn horizon(&self) -> f32 {
        match self.setting {
            Setting::Space => self.height * 0.74,
            Setting::Indoor => self.height * 0.66,
            Setting::Sea => self.height * 0.52,
            _ => self.height * 0.58,
        }
    }

    /// The line below which things can stand: on the beach below the water.
    pub(super) fn ground(&self) -> f32 {
        self.horizon() + self.height * if self.setting == Setting::Beach { 0.13 } else { 0.03 }
    }

    /// The shorter side, by which things are sized.
    pub(super) fn least(&self) -> f32 {
        self.width.min(self.height)
    }
}

/// Opens an SVG of the canvas's size.
pub(super) fn open(stage: &Stage) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">",
        stage.width, stage.height
    )
}

/// Everything behind the figures.
pub(super) fn svg(stage: &Stage, rng: &mut Rng) -> String {
    let mut out = open(stage);
    sky(&mut out, stage, rng);
    if stage.setting != Setting::Indoor {
        light(&mut out, stage);
        clouds(&mut out, stage, rng);
    }
    ground::draw(&mut out, stage, rng);
    dusk(&mut out, stage);
    out.push_str("</svg>");
    out
}

/// Colours of the sky from its top to the horizon.
fn sky_colours(stage: &Stage) -> [&'static str; 3] {
    match (stage.setting, stage.time, stage.weather) {
        (Setting::Space, ..) => ["#070b1f", "#121a3d", "#1d2a5b"],
        (Setting::Indoor, ..) => ["#f6ead6", "#f3e3c8", "#efdcbc"],
        (_, TimeOfDay::Night, Weather::Clear) => ["#0b1738", "#1a2b5e", "#33508a"],
        (_, TimeOfDay::Night, _) => ["#0d1428", "#1b2743", "#32415f"],
        (_, _, Weather::Storm) => ["#39434f", "#56626f", "#8a97a3"],
        (_, TimeOfDay::Sunrise, _) => ["#6d9fdb", "#f3b79a", "#ffe3ae"],
        (_, TimeOfDay::Sunset, _) => ["#43418f", "#e0685f", "#ffc470"],
        (_, TimeOfDay::Day, Weather::Clear) => ["#5fb0ee", "#9ed3f6", "#dff2fc"],
        (_, TimeOfDay::Day, Weather::Fog) => ["#a9b6be", "#c3cdd3", "#dde3e6"],
        (_, TimeOfDay::Day, Weather::Snow) => ["#9fb4c7", "#c0cfdb", "#e4ecf2"],
        (_, TimeOfDay::Day, Weather::Cloudy | Weather::Rain) => ["#7f95a8", "#a5b6c3", "#ccd7de"],
    }
}

fn sky(out: &mut String, stage: &Stage, rng: &mut Rng) {
    let [top, middle, low] = sky_colours(stage);
    let (w, h, hz) = (stage.width, stage.height, stage.horizon());
    let _ = write!(
        out,
        "<defs><linearGradient id=\"s\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"{hz:.0}\" gradientUnits=\"userSpaceOnUse\"><stop offset=\"0\" stop-color=\"{top}\"/>\
         <stop offset=\".6\" stop-color=\"{middle}\"/><stop offset=\"1\" stop-color=\"{low}\"/></linearGradient></defs><path fill=\"url(#s)\" d=\"M0 0h{w}v{h}H0z\"/>"
    );
    let starry = stage.setting == Setting::Space || (stage.time == TimeOfDay::Night && stage.weather == Weather::Clear);
    if starry && stage.setting != Setting::Indoor {
        for _ in 0..90 {
            let (x, y) = (rng.between(0.0, w), rng.between(0.0, hz));
            let radius = rng.between(0.0009, 0.0028) * stage.least();
            let _ = write!(out, "<circle cx=\"{x:.0}\" cy=\"{y:.0}\" r=\"{radius:.1}\" fill=\"#fff6d6\"/>");
        }
    }
}

/// The sun or the moon, where no figure is one.
fn light(out: &mut String, stage: &Stage) {
    if !stage.draws_light || stage.setting == Setting::Space {
        return;
    }
    let (w, h, m, hz) = (stage.width, stage.height, stage.least(), stage.horizon());
    let disc = |out: &mut String, x: f32, y: f32, r: f32, fill: &str, opacity: f32| {
        let _ = write!(out, "<circle cx=\"{x:.0}\" cy=\"{y:.0}\" r=\"{r:.0}\" fill=\"{fill}\" opacity=\"{opacity}\"/>");
    };
    match (stage.time, stage.weather) {
        (TimeOfDay::Sunrise | TimeOfDay::Sunset, Weather::Clear | Weather::Cloudy | Weather::Fog) => {
            let fill = if stage.time == TimeOfDay::Sunset { "#ff8a3c" } else { "#ffd257" };
            disc(out, w * 0.5, hz - 0.01 * h, m * 0.19, fill, 0.3);
            disc(out, w * 0.5, hz - 0.01 * h, m * 0.13, fill, 1.0);
        }
        (TimeOfDay::Night, Weather::Clear) => {
            let (x, y, r) = (w * 0.84, h * 0.15, m * 0.06);
            let _ = write!(
                out,
                "<path fill=\"#ffeeb0\" d=\"M{x:.1} {:.1}a{r:.1} {r:.1} 0 1 0 {r:.1} {:.1}a{:.1} {:.1} 0 0 1 {:.1} {:.1}z\"/>",
                y - r,
                r * 1.3,
                r * 0.85,
                r * 0.85,
                -r,
                -r * 1.3
            );
        }
        (TimeOfDay::Day, Weather::Clear) => {
            disc(out, w * 0.86, h * 0.13, m * 0.10, "#fff3b8", 0.45);
            disc(out, w * 0.86, h * 0.13, m * 0.065, "#ffd84a", 1.0);
        }
        _ => {}
    }
}

fn clouds(out: &mut String, stage: &Stage, rng: &mut Rng) {
    let (count, opacity) = match stage.weather {
        _ if stage.setting == Setting::Space => return,
        Weather::Clear if stage.time == TimeOfDay::Night => return,
        Weather::Clear => (2, 0.75),
        Weather::Fog => (4, 0.5),
        Weather::Cloudy | Weather::Rain | Weather::Snow | Weather::Storm => (7, 0.95),
    };
    let fill = match (stage.time, stage.weather) {
        (TimeOfDay::Night, _) => "#5b6a88",
        (_, Weather::Storm) => "#4a545f",
        (_, Weather::Rain) => "#8796a3",
        (_, Weather::Cloudy | Weather::Snow) => "#eef2f5",
        (TimeOfDay::Sunrise | TimeOfDay::Sunset, _) => "#ffd9c2",
        _ => "#ffffff",
    };
    // Few clouds leave the sun free, which stands on the right.
    let share = if stage.weather == Weather::Clear { 0.72 } else { 1.0 };
    for index in 0..count {
        let slot = stage.width * share / count as f32;
        let x = slot * (index as f32 + rng.between(0.2, 0.8));
        let y = stage.height * rng.between(0.07, 0.27);
        let r = stage.least() * rng.between(0.035, 0.055);
        let _ = write!(out, "<g fill=\"{fill}\" opacity=\"{opacity}\">");
        for (dx, dy, size) in
            [(-1.5, 0.25, 0.75), (-0.5, -0.3, 1.05), (0.6, -0.1, 0.9), (1.6, 0.3, 0.7), (0.1, 0.35, 0.8)]
        {
            let _ = write!(out, "<circle cx=\"{:.0}\" cy=\"{:.0}\" r=\"{:.0}\"/>", x + dx * r, y + dy * r, size * r);
        }
        out.push_str("</g>");
    }
}

/// Darkens the ground by night and in storms, tints it at sunset.
fn dusk(out: &mut String, stage: &Stage) {
    let (fill, opacity) = match (stage.setting, stage.time, stage.weather) {
        (Setting::Space, ..) => return,
        (Setting::Indoor, TimeOfDay::Night, _) => ("#1a1c40", 0.30),
        (Setting::Indoor, ..) => return,
        (_, TimeOfDay::Night, _) => ("#0a1534", 0.52),
        (_, TimeOfDay::Sunset, _) => ("#5c2348", 0.22),
        (_, TimeOfDay::Sunrise, _) => ("#ffb066", 0.10),
        (_, _, Weather::Storm) => ("#1b2430", 0.32),
        (_, _, Weather::Rain) => ("#2b3a4a", 0.14),
        _ => return,
    };
    let top = if stage.setting == Setting::Indoor { 0.0 } else { stage.horizon() };
    let _ = write!(
        out,
        "<path fill=\"{fill}\" opacity=\"{opacity}\" d=\"M0 {top:.0}h{}V{}H0z\"/>",
        stage.width, stage.height
    );
}
