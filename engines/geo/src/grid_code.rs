//! q8: grid codes.

use h3o::{CellIndex, LatLng, Resolution};
use muster_engine::prelude::*;
use muster_kernel_earth as earth;

use crate::bounds::{of_wire, to_wire};
use crate::codes::{Cell, geohash, maidenhead, pluscode};

/// A kind of code.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Found out from the code; geohash where a position is given.
    Auto,
    /// Geohash.
    Geohash,
    /// Open Location Code.
    Pluscode,
    /// Locator of radio amateurs.
    Maidenhead,
    /// Hexagon.
    H3,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    position: Option<LatLon>,
    code: Option<String>,
    scheme: Scheme,
    precision: u8,
}

/// The position in all schemes.
#[derive(Output)]
pub struct Codes {
    geohash: String,
    pluscode: String,
    maidenhead: String,
    h3: String,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    position: LatLon,
    codes: Codes,
    bounds: Bbox,
    cell_area_m2: f64,
}

/// Encodes a position, or decodes a code and encodes its centre. Bounds and area are those of the scheme's cell.
///
/// # Errors
/// Neither a position nor a code, what is no code of the scheme.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    let (position, scheme, given) = match (&input.code, input.position) {
        (Some(code), position) => {
            let code = code.trim();
            let scheme = if input.scheme == Scheme::Auto { recognised(code) } else { input.scheme };
            let (centre, code) = decode(code, scheme, position.map(of_wire))?;
            (centre, scheme, Some(code))
        }
        (None, Some(position)) => {
            (of_wire(position), if input.scheme == Scheme::Auto { Scheme::Geohash } else { input.scheme }, None)
        }
        (None, None) => return Err(Failure::invalid(&["position"], "is missing: give a position or a code")),
    };
    let mut codes = encode(position, input.precision)?;
    if let Some(code) = given {
        match scheme {
            Scheme::Geohash | Scheme::Auto => codes.geohash = code,
            Scheme::Pluscode => codes.pluscode = code,
            Scheme::Maidenhead => codes.maidenhead = code,
            Scheme::H3 => codes.h3 = code,
        }
    }
    let (bounds, area) = match scheme {
        Scheme::H3 => hexagon(&codes.h3)?,
        Scheme::Geohash | Scheme::Auto => rectangle(geohash::decode(&codes.geohash))?,
        Scheme::Pluscode => rectangle(pluscode::decode(&codes.pluscode))?,
        Scheme::Maidenhead => rectangle(maidenhead::decode(&codes.maidenhead))?,
    };
    Ok(Output { position: to_wire(position), codes, bounds, cell_area_m2: area })
}

/// Recognises a scheme. Locators begin with two capitals, which geohashes seldom have.
fn recognised(code: &str) -> Scheme {
    let capital = code.chars().take(2).all(|letter| letter.is_ascii_uppercase());
    if code.contains('+') {
        Scheme::Pluscode
    } else if code.len() == 15 && code.parse::<CellIndex>().is_ok() {
        Scheme::H3
    } else if capital && maidenhead::decode(code).is_some() {
        Scheme::Maidenhead
    } else {
        Scheme::Geohash
    }
}

/// Returns the centre of a code, and the code as it is usually written.
fn decode(code: &str, scheme: Scheme, near: Option<earth::LatLon>) -> Result<(earth::LatLon, String), Failure> {
    let refused = |message: &str| Failure::invalid(&["code"], message);
    let (cell, code) = match scheme {
        Scheme::H3 => {
            let cell: CellIndex = code.parse().map_err(|_| refused("is no cell of H3"))?;
            let centre = LatLng::from(cell);
            return Ok((earth::LatLon::new(centre.lat(), centre.lng()), cell.to_string()));
        }
        Scheme::Geohash | Scheme::Auto => (geohash::decode(code), code.to_ascii_lowercase()),
        Scheme::Maidenhead => (maidenhead::decode(code), maidenhead::written(code)),
        Scheme::Pluscode => {
            let full = pluscode::completed(code, near)
                .ok_or_else(|| refused("is no full Open Location Code; a short one needs a position near it"))?;
            (pluscode::decode(&full), full)
        }
    };
    let cell = cell.ok_or_else(|| refused("is no code of this scheme"))?;
    Ok((cell.centre(), code))
}

fn encode(position: earth::LatLon, precision: u8) -> Result<Codes, Failure> {
    let length = usize::from(precision);
    let resolution = Resolution::try_from(precision).map_err(Failure::internal)?;
    let centre = LatLng::new(position.lat, position.lon).map_err(Failure::internal)?;
    // These two schemes have an even number of characters up to ten.
    let even = (length + length % 2).max(2);
    Ok(Codes {
        geohash: geohash::encode(position, length.clamp(1, 12)),
        pluscode: pluscode::encode(position, if length > 10 { length } else { even }),
        maidenhead: maidenhead::encode(position, even.min(10)),
        h3: centre.to_cell(resolution).to_string(),
    })
}

fn rectangle(cell: Option<Cell>) -> Result<(Bbox, f64), Failure> {
    let cell = cell.ok_or_else(|| Failure::internal("a code of ours cannot be read"))?;
    let bounds = Bbox { west: cell.west, south: cell.south, east: cell.east, north: cell.north };
    Ok((bounds, earth::box_area(cell.south, cell.north, cell.east - cell.west)))
}

/// Bounds of a cell of H3; west is greater than east if it crosses the antimeridian. The area is H3's own, on a sphere.
fn hexagon(code: &str) -> Result<(Bbox, f64), Failure> {
    let cell: CellIndex = code.parse().map_err(Failure::internal)?;
    let boundary = cell.boundary();
    let centre = LatLng::from(cell).lng();
    let (mut south, mut north) = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut west, mut east) = (f64::INFINITY, f64::NEG_INFINITY);
    for vertex in boundary.iter() {
        let lon = centre + earth::wrap_longitude(vertex.lng() - centre);
        (south, north) = (south.min(vertex.lat()), north.max(vertex.lat()));
        (west, east) = (west.min(lon), east.max(lon));
    }
    let wrap = |lon: f64| if lon.abs() <= 180.0 { lon } else { earth::wrap_longitude(lon) };
    Ok((Bbox { west: wrap(west), south, east: wrap(east), north }, cell.area_m2()))
}
