//! Military grid references (NGA.SIG.0012), of UTM and UPS.

use crate::{Grid, LatLon, grid, ungrid};

/// Letters of a grid square: I and O are left out.
const LETTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZ";
/// Rows of UTM squares.
const ROWS: usize = 20;
/// Bands of 8 degrees from 80 S, the last one of 12.
const BANDS: &[u8] = b"CDEFGHJKLMNPQRSTUVWX";
/// Smallest northing of each band, in units of 100 km, rounded down; false northing included in the south.
const BAND_NORTHING: [u32; 20] = [11, 20, 28, 37, 46, 55, 64, 73, 82, 91, 0, 8, 17, 26, 35, 44, 53, 62, 70, 79];
/// Columns of UPS squares.
const POLAR_COLUMNS: &[u8] = b"ABCFGHJKLPQRSTUXYZ";
const SQUARE_M: f64 = 100_000.0;
const CYCLE_M: f64 = 2_000_000.0;

/// Returns the letter of the latitude band.
fn band(lat: f64) -> u8 {
    let index = ((lat + 80.0) / 8.0).floor().clamp(0.0, 19.0) as usize;
    letter(BANDS, index)
}

fn letter(letters: &[u8], index: usize) -> u8 {
    letters.get(index).copied().unwrap_or(b'?')
}

fn place(letters: &[u8], letter: u8) -> Option<usize> {
    letters.iter().position(|each| *each == letter)
}

/// Returns the grid reference of a position, with `digits` (0 to 11) digits each of easting and northing. Digits are cut
/// off, not rounded.
pub fn mgrs(position: LatLon, digits: u8) -> String {
    let Grid { zone, north, easting, northing } = grid(position).grid;
    let (column, row) = ((easting / SQUARE_M).floor(), (northing / SQUARE_M).floor());
    let prefix = if zone == 0 {
        let east = easting >= CYCLE_M;
        let first = match (north, east) {
            (true, true) => b'Z',
            (true, false) => b'Y',
            (false, true) => b'B',
            (false, false) => b'A',
        };
        // Columns of the western half end with Z at 2,000 km.
        let column = if east { column as usize - 20 } else { (column as usize).saturating_sub(2) };
        let row = (row as usize).saturating_sub(if north { 13 } else { 8 });
        let letters = [first, letter(POLAR_COLUMNS, column), letter(LETTERS, row)];
        letters.map(char::from).iter().collect::<String>()
    } else {
        let set = usize::from(zone - 1) % 3 * 8;
        let column = letter(LETTERS, set + (column as usize).saturating_sub(1));
        let shift = if zone.is_multiple_of(2) { 5 } else { 0 };
        let row = letter(LETTERS, (row as usize + shift) % ROWS);
        format!("{zone:02}{}{}{}", char::from(band(position.lat)), char::from(column), char::from(row))
    };
    let digits = usize::from(digits.min(11));
    if digits == 0 {
        return prefix;
    }
    let part = |metres: f64| {
        // Micrometres, so that the cut is made in whole numbers.
        let micrometres = ((metres % SQUARE_M) * 1e6).floor() as u64;
        let text = format!("{micrometres:011}");
        text.get(..digits).unwrap_or_default().to_owned()
    };
    format!("{prefix}{}{}", part(easting), part(northing))
}

/// Returns the centre of the square that a grid reference names, and the length of its side in metres. Blanks are
/// ignored. `None` if it is no grid reference.
pub fn parse_mgrs(text: &str) -> Option<(LatLon, f64)> {
    let text: Vec<u8> =
        text.bytes().filter(|byte| !byte.is_ascii_whitespace()).map(|byte| byte.to_ascii_uppercase()).collect();
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at_checked(count)?;
    let [first, column, row, digits @ ..] = rest else { return None };
    let half = digits.len() / 2;
    if !digits.len().is_multiple_of(2) || half > 11 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let side = SQUARE_M / 10_f64.powi(half as i32);
    let offset = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits).ok()?;
        let value: f64 = if digits.is_empty() { 0.0 } else { digits.parse().ok()? };
        Some(value * side + side / 2.0)
    };
    let (east, north) = digits.split_at_checked(half)?;
    let (east, north) = (offset(east)?, offset(north)?);
    let grid = if number.is_empty() {
        polar_square(*first, *column, *row)?
    } else {
        let zone: u8 = std::str::from_utf8(number).ok()?.parse().ok().filter(|zone| (1..=60).contains(zone))?;
        utm_square(zone, *first, *column, *row)?
    };
    let grid = Grid { easting: grid.easting + east, northing: grid.northing + north, ..grid };
    let position = ungrid(grid);
    (position.lat.abs() <= 90.0).then_some((position, side))
}

fn polar_square(first: u8, column: u8, row: u8) -> Option<Grid> {
    let (north, east) = match first {
        b'A' => (false, false),
        b'B' => (false, true),
        b'Y' => (true, false),
        b'Z' => (true, true),
        _ => return None,
    };
    let (column, row) = (place(POLAR_COLUMNS, column)?, place(LETTERS, row)?);
    let column = if east { column + 20 } else { column.checked_add(2).filter(|column| (8..20).contains(column))? };
    let row = row + if north { 13 } else { 8 };
    Some(Grid { zone: 0, north, easting: column as f64 * SQUARE_M, northing: row as f64 * SQUARE_M })
}

fn utm_square(zone: u8, band: u8, column: u8, row: u8) -> Option<Grid> {
    let index = place(BANDS, band)?;
    let set = usize::from(zone - 1) % 3 * 8;
    let column = place(LETTERS, column)?.checked_sub(set).filter(|column| *column < 8)? + 1;
    let shift = if zone.is_multiple_of(2) { 5 } else { 0 };
    let row = (place(LETTERS, row).filter(|row| *row < ROWS)? + ROWS - shift) % ROWS;
    let lowest = f64::from(*BAND_NORTHING.get(index)?) * SQUARE_M;
    let mut northing = row as f64 * SQUARE_M;
    while northing < lowest {
        northing += CYCLE_M;
    }
    Some(Grid { zone, north: index >= 10, easting: column as f64 * SQUARE_M, northing })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::inverse;

    /// mgrs 1.6.0 (GEOTRANS), `MGRS().toMGRS(lat, lon)`.
    #[test]
    fn references_agree_with_geotrans() {
        for (lat, lon, expected) in GEOTRANS {
            assert_eq!(mgrs(LatLon::new(lat, lon), 5), expected, "{lat} {lon}");
        }
    }

    const GEOTRANS: [(f64, f64, &str); 17] = [
        (48.858222, 2.2945, "31UDQ4825111935"),
        (0.0, 0.0, "31NAA6602100000"),
        (-0.001, -0.001, "30MZE3386799889"),
        (60.1, 5.2, "32VKM8876268623"),
        (78.2, 15.6, "33XWG1369680760"),
        (-54.8, -68.3, "19FEV4500027239"),
        (83.9, -40.0, "24XVU8813617033"),
        (89.0, 10.0, "ZAF1927990660"),
        (87.0, -100.0, "YUH7191657849"),
        (-88.0, 45.0, "BBP5702657026"),
        (-82.0, -170.0, "AYD4552623936"),
        (71.9, 179.9, "60WXE0052480197"),
        (-33.86, 151.21, "56HLH3441651925"),
        (8.0, 3.1, "31PEJ1101984299"),
        (-79.9, 100.0, "47CNM1957629407"),
        (90.0, 0.0, "ZAH0000000000"),
        (-90.0, 0.0, "BAN0000000000"),
    ];

    #[test]
    fn what_is_no_reference_is_refused() {
        for text in
            ["", "31", "31U", "31UDQ1", "61UDQ11", "0UDQ11", "31IDQ11", "31UJQ11", "31UDZ11", "CAA11", "AAA", "31UDQ1a"]
        {
            assert_eq!(parse_mgrs(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn references_are_read_back(lat in -90.0..=90.0, lon in -180.0..180.0) {
            let position = LatLon::new(lat, lon);
            let text = mgrs(position, 5);
            let (found, side) = parse_mgrs(&text).unwrap();
            prop_assert_eq!(side, 1.0);
            prop_assert!(inverse(found, position).distance < 0.75, "{:?} {} {:?}", position, text, found);
        }
    }
}
