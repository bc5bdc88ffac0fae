//! q7: coordinate formats.

use muster_engine::prelude::*;
use muster_kernel_earth as earth;

use crate::bounds::to_wire;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    text: String,
    precision: u8,
}

/// A position in the grid of a zone; zone 0 is UPS.
#[derive(Output)]
pub struct Utm {
    zone: u8,
    hemisphere: &'static str,
    easting_m: f64,
    northing_m: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    position: LatLon,
    dms: String,
    ddm: String,
    utm: Utm,
    mgrs: String,
    convergence_deg: f64,
    scale: f64,
}

/// Reads a position and writes it in all formats. `precision` is the digits of easting and northing in MGRS; seconds
/// have three decimals less, minutes one less. A grid reference stands for the centre of its square.
///
/// # Errors
/// What is no position.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let (position, notation) = earth::parse(&input.text).map_err(|message| Failure::invalid(&["text"], message))?;
    if notation == earth::Notation::Utm && is_ambiguous(&input.text) {
        cx.warn("ambiguous: S after the zone is read as the southern hemisphere, not as the latitude band S");
    }
    let projected = earth::grid(position);
    let grid = projected.grid;
    let digits = usize::from(input.precision);
    Ok(Output {
        position: to_wire(position),
        dms: earth::dms(position, digits.saturating_sub(3)),
        ddm: earth::ddm(position, digits.saturating_sub(1)),
        utm: Utm {
            zone: grid.zone,
            hemisphere: if grid.north { "N" } else { "S" },
            easting_m: grid.easting,
            northing_m: grid.northing,
        },
        mgrs: earth::mgrs(position, input.precision),
        convergence_deg: projected.convergence,
        scale: projected.scale,
    })
}

/// Whether the letter after the zone is an S.
fn is_ambiguous(text: &str) -> bool {
    let letter = text.chars().find(char::is_ascii_alphabetic);
    letter.is_some_and(|letter| letter.eq_ignore_ascii_case(&'s'))
        && text.trim_start().starts_with(|c: char| c.is_ascii_digit())
}
