//! Positions in a text, in degrees of WGS 84.

/// A position that stands in a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coordinate {
    /// First byte.
    pub start: usize,
    /// End.
    pub end: usize,
    /// Latitude in degrees, north positive.
    pub lat: f64,
    /// Longitude in degrees, east positive.
    pub lon: f64,
}

/// An angle: degrees, and whether a hemisphere, a label or decimals show what it is.
#[derive(Debug, Clone, Copy)]
struct Angle {
    start: usize,
    end: usize,
    value: f64,
    axis: Option<Axis>,
    /// Number of decimals of a plain number.
    decimals: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Axis {
    Lat,
    Lon,
}

/// Most angles that are looked at.
const MAX_ANGLES: usize = 20_000;

/// Returns the positions of a text, in order: a latitude followed by a longitude. Both have a hemisphere ("47.38 N,
/// 8.54 E", also in minutes and seconds), both a label ("lat 47.38, lon 8.54"), or both three decimals or more
/// ("47.3769, 8.5417", latitude first).
pub fn coordinates(text: &str) -> Vec<Coordinate> {
    let angles = angles(text);
    let mut found = Vec::new();
    let mut at = 0;
    while let (Some(first), Some(second)) = (angles.get(at), angles.get(at + 1)) {
        let between = text.get(first.end..second.start).unwrap_or_default();
        let near = between.len() <= 24 && separates(between);
        let pair = match (first.axis, second.axis) {
            (Some(Axis::Lat), Some(Axis::Lon)) => Some((first.value, second.value)),
            (Some(Axis::Lon), Some(Axis::Lat)) => Some((second.value, first.value)),
            (None, None) if first.decimals >= 3 && second.decimals >= 3 && between.trim() == "," => {
                Some((first.value, second.value))
            }
            _ => None,
        };
        match pair.filter(|(lat, lon)| near && lat.abs() <= 90.0 && lon.abs() <= 180.0) {
            Some((lat, lon)) => {
                found.push(Coordinate { start: first.start, end: second.end, lat, lon });
                at += 2;
            }
            None => at += 1,
        }
    }
    found
}

/// Whether only punctuation and words for the axes stand between the two angles.
fn separates(between: &str) -> bool {
    let words = between.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    let axes = ["lat", "lon", "long", "lng", "latitude", "longitude", "and", "n", "s", "e", "w"];
    words.into_iter().all(|word| axes.contains(&word.to_lowercase().as_str())) && !between.contains('\n')
}

fn angles(text: &str) -> Vec<Angle> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() && found.len() < MAX_ANGLES {
        if !bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
            continue;
        }
        let (end, angle) = angle(text, at);
        found.extend(angle);
        at = end.max(at + 1);
    }
    found
}

/// Reads a number; its end and value.
fn number(text: &str, start: usize) -> Option<(usize, f64, usize)> {
    let rest = text.get(start..)?;
    let whole = rest.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = whole;
    let mut decimals = 0;
    if rest.as_bytes().get(whole) == Some(&b'.') {
        decimals = rest.bytes().skip(whole + 1).take_while(u8::is_ascii_digit).count();
        length += if decimals > 0 { decimals + 1 } else { 0 };
    }
    if whole == 0 || length > 24 {
        return None;
    }
    Some((start + length, rest.get(..length)?.parse().ok()?, decimals))
}

fn angle(text: &str, first: usize) -> (usize, Option<Angle>) {
    let Some((mut end, mut value, decimals)) = number(text, first) else {
        let digits =
            text.get(first..).map_or(0, |rest| rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count());
        return (first + digits, None);
    };
    let before = text.get(..first).unwrap_or_default();
    let mut start = first;
    let mut negative = false;
    if let Some(sign) = before.chars().next_back().filter(|c| matches!(c, '-' | '−')) {
        start -= sign.len_utf8();
        negative = true;
    }
    // Minutes and seconds: 47°22'36.8"
    let mut rest = text.get(end..).unwrap_or_default();
    let mut sexagesimal = false;
    if let Some(after) = rest.strip_prefix(['°', 'º']) {
        end = text.len() - after.len();
        sexagesimal = true;
        for (marks, divisor) in [(&['\'', '′', '’'][..], 60.0), (&['"', '″', '”'][..], 3600.0)] {
            let skipped = end + text.get(end..).map_or(0, |rest| rest.len() - rest.trim_start_matches(' ').len());
            let Some((stop, part, _)) = number(text, skipped) else { break };
            let Some(after) = text.get(stop..).and_then(|rest| rest.strip_prefix(marks)) else { break };
            if part >= 60.0 {
                return (stop, None);
            }
            value += part / divisor;
            end = text.len() - after.len();
        }
        rest = text.get(end..).unwrap_or_default();
    }
    let trimmed = rest.trim_start_matches(' ');
    let hemisphere = trimmed.chars().next().filter(|_| rest.len() - trimmed.len() <= 1);
    let alone = trimmed.chars().nth(1).is_none_or(|c| !c.is_alphanumeric());
    let mut axis = None;
    if let Some((of, south)) = hemisphere.filter(|_| alone).and_then(of_hemisphere) {
        axis = Some(of);
        negative |= south;
        end = text.len() - trimmed.len() + 1;
    } else if let Some((of, from, south)) = before_angle(text, start) {
        axis = Some(of);
        negative |= south;
        start = from;
    }
    if axis.is_none() && sexagesimal {
        return (end, None);
    }
    let attached = text.get(..start).and_then(|before| before.chars().next_back());
    if attached.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '/' | ':' | '-')) {
        return (end, None);
    }
    let value = if negative { -value } else { value };
    (end, Some(Angle { start, end, value, axis, decimals }))
}

fn of_hemisphere(letter: char) -> Option<(Axis, bool)> {
    match letter {
        'N' => Some((Axis::Lat, false)),
        'S' => Some((Axis::Lat, true)),
        'E' => Some((Axis::Lon, false)),
        'W' => Some((Axis::Lon, true)),
        _ => None,
    }
}

/// Reads the label or hemisphere before an angle: "N 47.3", "lat: 47.3", "\"lon\": 8.5".
fn before_angle(text: &str, start: usize) -> Option<(Axis, usize, bool)> {
    let before = text.get(..start)?;
    let trimmed = before.trim_end_matches([' ', ':', '=', '"', '\'']);
    let word = trimmed.chars().rev().take_while(|c| c.is_alphabetic()).take(10).map(char::len_utf8).sum::<usize>();
    let from = trimmed.len() - word;
    let word = trimmed.get(from..)?;
    let axis = match word.to_lowercase().as_str() {
        "lat" | "latitude" => (Axis::Lat, from, false),
        "lon" | "lng" | "long" | "longitude" => (Axis::Lon, from, false),
        _ if word.len() == 1 && before.len() - trimmed.len() <= 1 => {
            let (axis, south) = of_hemisphere(word.chars().next()?)?;
            (axis, from, south)
        }
        _ => return None,
    };
    Some(axis)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(f64, f64)> {
        let round = |value: f64| (value * 1e6).round() / 1e6;
        coordinates(text).iter().map(|place| (round(place.lat), round(place.lon))).collect()
    }

    #[test]
    fn positions_are_read_in_the_usual_forms() {
        for (text, lat, lon) in [
            ("at 47.3769, 8.5417 now", 47.3769, 8.5417),
            ("site 47.38 N, 8.54 E", 47.38, 8.54),
            ("47.38N 8.54E", 47.38, 8.54),
            ("N47.38 E8.54", 47.38, 8.54),
            ("33.5° S, 151.25° E", -33.5, 151.25),
            ("47°22'36\"N 8°32'30\"E", 47.376667, 8.541667),
            ("lat 47.4, lon -8.5", 47.4, -8.5),
            ("latitude: 47, longitude: 8", 47.0, 8.0),
            ("{\"lat\": 1.5, \"lon\": 2.5}", 1.5, 2.5),
            ("(-33.8688, 151.2093)", -33.8688, 151.2093),
            ("8.5417 E, 47.3769 N", 47.3769, 8.5417),
        ] {
            assert_eq!(found(text), [(lat, lon)], "{text}");
        }
        assert_eq!(found("from 47.3769, 8.5417 to 46.9480, 7.4474").len(), 2);
    }

    #[test]
    fn other_pairs_of_numbers_are_no_positions() {
        for text in
            ["12, 15", "1.5, 2.5", "3 m, 4 m", "95.0000, 8.0000", "2026-11-21", "10.0.0.1, 10.0.0.2", "5 E", "x 1.234"]
        {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn hostile_texts_end_soon() {
        for text in [
            "1.2345,".repeat(50_000),
            "1°".repeat(100_000),
            "N".repeat(200_000),
            "1".repeat(200_000),
            "é1°1'".repeat(20_000),
        ] {
            let _ = coordinates(&text);
        }
    }
}
