//! Codes of rectangles of degrees: geohash, Open Location Code, Maidenhead.

use muster_kernel_earth::LatLon;

/// A rectangle of degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cell {
    pub(crate) south: f64,
    pub(crate) west: f64,
    pub(crate) north: f64,
    pub(crate) east: f64,
}

impl Cell {
    pub(crate) fn centre(&self) -> LatLon {
        LatLon::new((self.south + self.north) / 2.0, (self.west + self.east) / 2.0)
    }
}

pub(crate) mod geohash {
    //! Bits of longitude and latitude in turn, five to a character.

    use super::{Cell, LatLon};

    const ALPHABET: &[u8] = b"0123456789bcdefghjkmnpqrstuvwxyz";

    pub(crate) fn encode(position: LatLon, length: usize) -> String {
        let mut cell = Cell { south: -90.0, west: -180.0, north: 90.0, east: 180.0 };
        let mut even = true;
        let mut text = String::with_capacity(length);
        for _ in 0..length {
            let mut index = 0;
            for _ in 0..5 {
                let (low, high, value) = axis(&mut cell, even, position);
                let middle = f64::midpoint(*low, *high);
                index <<= 1;
                if value >= middle {
                    index |= 1;
                    *low = middle;
                } else {
                    *high = middle;
                }
                even = !even;
            }
            text.push(ALPHABET.get(index).copied().map_or('0', char::from));
        }
        text
    }

    pub(crate) fn decode(code: &str) -> Option<Cell> {
        if code.is_empty() || code.len() > 12 {
            return None;
        }
        let mut cell = Cell { south: -90.0, west: -180.0, north: 90.0, east: 180.0 };
        let mut even = true;
        for letter in code.bytes() {
            let index = ALPHABET.iter().position(|each| *each == letter.to_ascii_lowercase())?;
            for bit in (0..5).rev() {
                let (low, high, _) = axis(&mut cell, even, LatLon::new(0.0, 0.0));
                let middle = f64::midpoint(*low, *high);
                if index >> bit & 1 == 1 {
                    *low = middle;
                } else {
                    *high = middle;
                }
                even = !even;
            }
        }
        Some(cell)
    }

    fn axis(cell: &mut Cell, even: bool, position: LatLon) -> (&mut f64, &mut f64, f64) {
        if even {
            (&mut cell.west, &mut cell.east, position.lon)
        } else {
            (&mut cell.south, &mut cell.north, position.lat)
        }
    }
}

pub(crate) mod pluscode {
    //! Open Location Code: five pairs of base-20 digits, then cells of a grid of 4 by 5.

    use muster_kernel_earth::wrap_longitude;

    use super::{Cell, LatLon};

    const ALPHABET: &[u8] = b"23456789CFGHJMPQRVWX";
    const SEPARATOR_AT: usize = 8;
    const PAIRS: usize = 10;
    const LONGEST: usize = 15;
    /// Smallest units of a code with 15 digits in a degree: 8000 · 5⁵ and 8000 · 4⁵.
    const LAT_UNITS: i64 = 25_000_000;
    const LON_UNITS: i64 = 8_192_000;

    /// Encodes to `length` digits: 2, 4, 6, 8 or 10 to 15.
    pub(crate) fn encode(position: LatLon, length: usize) -> String {
        // As the reference implementation, in whole numbers from the south-west corner.
        let mut lat = ((position.lat + 90.0) * LAT_UNITS as f64).floor() as i64;
        let mut lon = ((wrap_longitude(position.lon) + 180.0) * LON_UNITS as f64).floor() as i64;
        lat = lat.clamp(0, 180 * LAT_UNITS - 1);
        lon = lon.clamp(0, 360 * LON_UNITS - 1);
        let mut digits = Vec::with_capacity(LONGEST);
        for _ in PAIRS..LONGEST {
            digits.push(digit(lat % 5 * 4 + lon % 4));
            lat /= 5;
            lon /= 4;
        }
        for _ in 0..PAIRS / 2 {
            digits.extend([digit(lon % 20), digit(lat % 20)]);
            lat /= 20;
            lon /= 20;
        }
        digits.reverse();
        let mut text = String::with_capacity(length + 2);
        for (at, digit) in digits.into_iter().enumerate().take(length.max(SEPARATOR_AT)) {
            if at == SEPARATOR_AT {
                text.push('+');
            }
            text.push(if at < length { digit } else { '0' });
        }
        if length <= SEPARATOR_AT {
            text.push('+');
        }
        text
    }

    fn digit(value: i64) -> char {
        usize::try_from(value).ok().and_then(|value| ALPHABET.get(value)).copied().map_or('2', char::from)
    }

    fn value(letter: u8) -> Option<i64> {
        ALPHABET.iter().position(|each| *each == letter).and_then(|at| i64::try_from(at).ok())
    }

    pub(crate) fn decode(code: &str) -> Option<Cell> {
        let code = code.to_ascii_uppercase();
        let (front, back) = code.split_once('+')?;
        let padded = front.trim_end_matches('0');
        let padding = front.len() - padded.len();
        if front.len() != SEPARATOR_AT || !padding.is_multiple_of(2) || padded.is_empty() || back.len() == 1 {
            return None;
        }
        if (padding > 0 && !back.is_empty()) || padded.len() + back.len() > LONGEST {
            return None;
        }
        let digits: Option<Vec<i64>> = padded.bytes().chain(back.bytes()).map(value).collect();
        let digits = digits?;
        let (mut lat, mut lon) = (0, 0);
        let (mut lat_unit, mut lon_unit) = (20 * 20 * LAT_UNITS, 20 * 20 * LON_UNITS);
        for (at, digit) in digits.into_iter().enumerate() {
            if at < PAIRS {
                if at.is_multiple_of(2) {
                    lat_unit /= 20;
                    lat += digit * lat_unit;
                } else {
                    lon_unit /= 20;
                    lon += digit * lon_unit;
                }
            } else {
                lat_unit /= 5;
                lon_unit /= 4;
                lat += digit / 4 * lat_unit;
                lon += digit % 4 * lon_unit;
            }
        }
        if lat >= 180 * LAT_UNITS || lon >= 360 * LON_UNITS {
            return None;
        }
        let (lat_of, lon_of) =
            (|units: i64| units as f64 / LAT_UNITS as f64 - 90.0, |units: i64| units as f64 / LON_UNITS as f64 - 180.0);
        Some(Cell {
            south: lat_of(lat),
            west: lon_of(lon),
            north: lat_of(lat + lat_unit),
            east: lon_of(lon + lon_unit),
        })
    }

    /// Returns the full code; a short one is completed by the nearest match around a position.
    pub(crate) fn completed(code: &str, near: Option<LatLon>) -> Option<String> {
        let code = code.to_ascii_uppercase();
        let at = code.find('+')?;
        if at == SEPARATOR_AT {
            return decode(&code).map(|_| code);
        }
        let near = near.filter(|_| at < SEPARATOR_AT && at.is_multiple_of(2))?;
        let missing = SEPARATOR_AT - at;
        // Side of the area that the missing digits name.
        let side = 20_f64.powi(2 - i32::try_from(missing / 2).ok()?);
        let prefix = encode(near, PAIRS);
        let full = format!("{}{code}", prefix.get(..missing)?);
        let centre = decode(&full)?.centre();
        let mut lat = centre.lat;
        let mut lon = centre.lon;
        if near.lat + side / 2.0 < lat && lat - side >= -90.0 {
            lat -= side;
        } else if near.lat - side / 2.0 > lat && lat + side <= 90.0 {
            lat += side;
        }
        if near.lon + side / 2.0 < lon {
            lon -= side;
        } else if near.lon - side / 2.0 > lon {
            lon += side;
        }
        Some(encode(LatLon::new(lat, lon), code.len() - 1 + missing))
    }
}

pub(crate) mod maidenhead {
    //! Locators: letters of fields, digits of squares, letters of subsquares, and so on in turn.

    use super::{Cell, LatLon};

    /// Divisions of each pair, and the first character.
    const PAIRS: [(f64, u8); 5] = [(18.0, b'A'), (10.0, b'0'), (24.0, b'a'), (10.0, b'0'), (24.0, b'a')];

    pub(crate) fn encode(position: LatLon, length: usize) -> String {
        let mut lon = ((position.lon + 180.0) / 360.0).clamp(0.0, 1.0 - 1e-15);
        let mut lat = ((position.lat + 90.0) / 180.0).clamp(0.0, 1.0 - 1e-15);
        let mut text = String::with_capacity(length);
        for (divisions, first) in PAIRS.into_iter().take(length / 2) {
            for share in [&mut lon, &mut lat] {
                let scaled = *share * divisions;
                let index = scaled.floor().min(divisions - 1.0);
                text.push(char::from(first + index as u8));
                *share = scaled - index;
            }
        }
        text
    }

    pub(crate) fn decode(code: &str) -> Option<Cell> {
        let code = code.as_bytes();
        if code.is_empty() || !code.len().is_multiple_of(2) || code.len() > 10 {
            return None;
        }
        let (mut west, mut south, mut width, mut height) = (-180.0, -90.0, 360.0, 180.0);
        for (pair, (divisions, first)) in code.chunks(2).zip(PAIRS) {
            let [lon, lat] = pair else { return None };
            let index = |letter: u8| {
                let letter = if first.is_ascii_digit() { letter } else { letter.to_ascii_lowercase() };
                let index = letter.checked_sub(first.to_ascii_lowercase())?;
                Some(f64::from(index)).filter(|index| *index < divisions)
            };
            (width, height) = (width / divisions, height / divisions);
            west += index(*lon)? * width;
            south += index(*lat)? * height;
        }
        Some(Cell { south, west, north: south + height, east: west + width })
    }

    /// Writes a locator with capitals first and small letters then.
    pub(crate) fn written(code: &str) -> String {
        let (field, rest) = code.split_at_checked(2).unwrap_or((code, ""));
        format!("{}{}", field.to_ascii_uppercase(), rest.to_ascii_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// google/open-location-code, test_data/encoding.csv and shortCodeTests.csv (as the package openlocationcode 1.0.1
    /// reproduces them).
    #[test]
    fn plus_codes_are_those_of_the_reference_implementation() {
        for (lat, lon, length, code) in [
            (20.375, 2.775, 6, "7FG49Q00+"),
            (20.370_062_5, 2.782_187_5, 10, "7FG49QCJ+2V"),
            (20.370_112_5, 2.782_234_375, 11, "7FG49QCJ+2VX"),
            (20.370_113_5, 2.782_234_375, 13, "7FG49QCJ+2VXGJ"),
            (47.000_062_5, 8.000_062_5, 10, "8FVC2222+22"),
            (-41.273_062_5, 174.785_937_5, 10, "4VCPPQGP+Q9"),
            (0.5, -179.5, 4, "62G20000+"),
            (-89.5, -179.5, 4, "22220000+"),
            (90.0, 1.0, 4, "CFX30000+"),
        ] {
            assert_eq!(pluscode::encode(LatLon::new(lat, lon), length), code);
        }
        assert_eq!(pluscode::completed("9QCJ+2VX", Some(LatLon::new(20.37, 2.78))).as_deref(), Some("7FG49QCJ+2VX"));
        assert_eq!(pluscode::completed("CJ+2VX", Some(LatLon::new(20.3701, 2.7822))).as_deref(), Some("7FG49QCJ+2VX"));
    }

    #[test]
    fn known_geohashes_and_locators() {
        assert_eq!(geohash::encode(LatLon::new(42.605, -5.603), 5), "ezs42");
        assert_eq!(geohash::encode(LatLon::new(57.649_11, 10.407_44), 11), "u4pruydqqvj");
        assert_eq!(maidenhead::encode(LatLon::new(48.146_66, 11.608_33), 6), "JN58td");
        assert_eq!(maidenhead::encode(LatLon::new(-34.91, -56.211_66), 6), "GF15vc");
        for code in ["", "a", "é", "u4pruydqqvjjj"] {
            assert_eq!(geohash::decode(code), None, "{code}");
        }
    }

    proptest! {
        #[test]
        fn a_position_lies_in_its_cells(lat in -90.0..90.0, lon in -180.0..180.0, length in 1_usize..12) {
            let position = LatLon::new(lat, lon);
            let even = (length + length % 2).clamp(2, 10);
            for cell in [
                geohash::decode(&geohash::encode(position, length)),
                pluscode::decode(&pluscode::encode(position, even)),
                maidenhead::decode(&maidenhead::encode(position, even)),
            ] {
                let cell = cell.unwrap();
                prop_assert!(cell.south - 1e-9 <= lat && lat <= cell.north + 1e-9, "{cell:?} {lat}");
                prop_assert!(cell.west - 1e-9 <= lon && lon <= cell.east + 1e-9, "{cell:?} {lon}");
            }
        }

        #[test]
        fn any_text_is_decoded_or_refused(code in "\\PC{0,16}", lat in -90.0..90.0, lon in -180.0..180.0) {
            drop((geohash::decode(&code), pluscode::decode(&code), maidenhead::decode(&code), maidenhead::written(&code)));
            drop(pluscode::completed(&code, Some(LatLon::new(lat, lon))));
        }
    }
}
