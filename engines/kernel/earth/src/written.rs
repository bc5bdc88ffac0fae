//! Positions as people write them: decimal degrees, degrees and minutes, UTM, UPS and MGRS.

use crate::{Grid, LatLon, parse_mgrs, ungrid};

/// How a position was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// Decimal degrees.
    Degrees,
    /// Degrees and minutes.
    DegreesMinutes,
    /// Degrees, minutes and seconds.
    DegreesMinutesSeconds,
    /// Zone, easting and northing.
    Utm,
    /// Easting and northing around a pole.
    Ups,
    /// Military grid reference.
    Mgrs,
}

/// Longest text that is read, in bytes.
const MAX_BYTES: usize = 200;

/// Reads a position.
///
/// # Errors
/// Says what is wrong with the text.
pub fn parse(text: &str) -> Result<(LatLon, Notation), String> {
    let text = text.trim();
    if text.len() > MAX_BYTES {
        return Err(format!("is longer than {MAX_BYTES} bytes"));
    }
    let text = match text.strip_prefix("geo:") {
        Some(uri) => uri.split([';', '?']).next().unwrap_or_default(),
        None => text,
    };
    if let Some((position, notation)) = parse_grid(text)? {
        return Ok((position, notation));
    }
    if let Some((position, _)) = parse_mgrs(text) {
        return Ok((position, Notation::Mgrs));
    }
    parse_degrees(text)
}

/// Reads zone, easting and northing; `None` if the text has another form.
fn parse_grid(text: &str) -> Result<Option<(LatLon, Notation)>, String> {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()).collect();
    let words = match words.as_slice() {
        [zone, rest @ ..] if zone.eq_ignore_ascii_case("zone") => rest,
        all => all,
    };
    let (zone, letter, easting, northing) = match *words {
        [zone, letter, easting, northing] if letter.len() == 1 && zone.bytes().all(|byte| byte.is_ascii_digit()) => {
            (zone, letter, easting, northing)
        }
        [zone, easting, northing] if zone.is_ascii() && !zone.is_empty() => {
            let (zone, letter) = zone.split_at(zone.len() - 1);
            (zone, letter, easting, northing)
        }
        _ => return Ok(None),
    };
    let Some(letter) = letter.chars().next().map(|letter| letter.to_ascii_uppercase()).filter(char::is_ascii_uppercase)
    else {
        return Ok(None);
    };
    let metres = |word: &str| {
        let word = word.trim_end_matches(['m', 'E', 'N', 'e', 'n']);
        let plain = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        word.parse::<f64>().ok().filter(|_| plain)
    };
    let (Some(easting), Some(northing)) = (metres(easting), metres(northing)) else { return Ok(None) };
    if easting < 1_000.0 && northing < 1_000.0 {
        // Degrees and minutes after a letter.
        return Ok(None);
    }
    let (zone, north) = match (zone, letter) {
        ("", 'N' | 'Y' | 'Z') => (0, true),
        ("", 'S' | 'A' | 'B') => (0, false),
        (zone, letter) => {
            let zone: u8 = zone.parse().map_err(|_| "has no zone of UTM, such as 31N".to_owned())?;
            if !(1..=60).contains(&zone) {
                return Err(format!("has the zone {zone}: zones of UTM are 1 to 60"));
            }
            // N and S are hemispheres, as most programs write them; other letters are latitude bands.
            (zone, letter >= 'N' && letter != 'S')
        }
    };
    let range = if zone == 0 { 0.0..=4_000_000.0 } else { 0.0..=1_000_000.0 };
    if !range.contains(&easting) || !(0.0..=10_000_000.0).contains(&northing) {
        return Err("has an easting or northing outside of its zone".to_owned());
    }
    let position = ungrid(Grid { zone, north, easting, northing });
    Ok(Some((position, if zone == 0 { Notation::Ups } else { Notation::Utm })))
}

/// A written angle.
#[derive(Debug, Default)]
struct Angle {
    negative: bool,
    parts: Vec<f64>,
    hemisphere: Option<char>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Token {
    Number(f64),
    Sign(bool),
    Degree,
    Mark,
    Letter(char),
    Separator,
}

fn parse_degrees(text: &str) -> Result<(LatLon, Notation), String> {
    let tokens = tokens(text)?;
    let mut angles = angles(&tokens);
    if angles.len() == 1 {
        let parts = angles.first().map(|angle| angle.parts.clone()).unwrap_or_default();
        if parts.len().is_multiple_of(2) && parts.len() <= 6 && !parts.is_empty() {
            let (one, other) = parts.split_at(parts.len() / 2);
            let negative = angles.first().is_some_and(|angle| angle.negative);
            angles = vec![
                Angle { negative, parts: one.to_vec(), hemisphere: None },
                Angle { parts: other.to_vec(), ..Angle::default() },
            ];
        }
    }
    let [one, other] = angles.as_slice() else {
        return Err("is no position: write it as 48.8582, 2.2945 or 48°51'29.6\"N 2°17'40.2\"E or 31N 448252 5411935 or 31U DQ 48251 11935".to_owned());
    };
    let (lat, lon) = match (one.hemisphere, other.hemisphere) {
        (None, None) | (Some('N' | 'S'), Some('E' | 'W')) | (Some('N' | 'S'), None) | (None, Some('E' | 'W')) => {
            (one, other)
        }
        (Some('E' | 'W'), Some('N' | 'S')) => (other, one),
        _ => return Err("has two letters of the same axis: one must be N or S, the other E or W".to_owned()),
    };
    let notation = match one.parts.len().max(other.parts.len()) {
        1 => Notation::Degrees,
        2 => Notation::DegreesMinutes,
        _ => Notation::DegreesMinutesSeconds,
    };
    Ok((LatLon::new(degrees(lat, 90.0, "latitude")?, degrees(lon, 180.0, "longitude")?), notation))
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    // In 48d51m29s the s is a unit, else it is the south.
    let units = text.contains('d') && text.contains('m');
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        if digits > 0 {
            let (number, after) = rest.split_at(digits);
            tokens.push(Token::Number(number.parse().map_err(|_| format!("has {number}, which is no number"))?));
            rest = after;
            continue;
        }
        match next {
            c if c.is_whitespace() => {}
            '-' | '\u{2212}' | '\u{2013}' => tokens.push(Token::Sign(true)),
            '+' => tokens.push(Token::Sign(false)),
            '°' | 'º' | '˚' | 'd' => tokens.push(Token::Degree),
            's' if units => tokens.push(Token::Mark),
            '\'' | '"' | '′' | '″' | '’' | '”' | 'm' | ':' => tokens.push(Token::Mark),
            'N' | 'n' | 'S' | 's' | 'E' | 'e' | 'W' | 'w' => tokens.push(Token::Letter(next.to_ascii_uppercase())),
            ',' | ';' | '/' => tokens.push(Token::Separator),
            _ => return Err(format!("has {next:?}, which belongs to no notation of positions")),
        }
        rest = rest.get(next.len_utf8()..).unwrap_or_default();
    }
    Ok(tokens)
}

/// Divides the tokens into angles: at letters if there are any, else at a separator, a sign or a degree mark.
fn angles(tokens: &[Token]) -> Vec<Angle> {
    let lettered = tokens.iter().any(|token| matches!(token, Token::Letter(_)));
    let prefixed = matches!(tokens.first(), Some(Token::Letter(_)));
    let mut angles: Vec<Angle> = Vec::new();
    let mut current = Angle::default();
    let close = |current: &mut Angle, angles: &mut Vec<Angle>| {
        if !current.parts.is_empty() {
            angles.push(std::mem::take(current));
        }
    };
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Number(number) => {
                let opens = matches!(tokens.get(at + 1), Some(Token::Degree));
                if opens {
                    close(&mut current, &mut angles);
                }
                current.parts.push(*number);
            }
            Token::Sign(negative) => {
                close(&mut current, &mut angles);
                current.negative = *negative;
            }
            Token::Letter(letter) if prefixed => {
                close(&mut current, &mut angles);
                current.hemisphere = Some(*letter);
            }
            Token::Letter(letter) => {
                current.hemisphere = Some(*letter);
                close(&mut current, &mut angles);
            }
            Token::Separator if !lettered => close(&mut current, &mut angles),
            Token::Separator | Token::Degree | Token::Mark => {}
        }
    }
    close(&mut current, &mut angles);
    angles
}

fn degrees(angle: &Angle, limit: f64, name: &str) -> Result<f64, String> {
    let [whole, rest @ ..] = angle.parts.as_slice() else { return Err(format!("has no {name}")) };
    if rest.len() > 2 || rest.iter().any(|part| *part >= 60.0) {
        return Err(format!("has a {name} whose minutes or seconds are not below 60"));
    }
    let fractional = angle.parts.iter().rev().skip(1).any(|part| part.fract() != 0.0);
    if fractional {
        return Err(format!("has a {name} with a fraction before its last part"));
    }
    if angle.negative && angle.hemisphere.is_some() {
        return Err(format!("has a {name} with both a sign and a letter"));
    }
    let value = rest.iter().rev().fold(0.0, |sum, part| (sum + part) / 60.0) + whole;
    let value = if angle.negative || matches!(angle.hemisphere, Some('S' | 'W')) { -value } else { value };
    if value.abs() > limit {
        return Err(format!("has the {name} {value}, which is not within -{limit} and {limit}"));
    }
    Ok(value)
}

/// Writes a position in degrees, minutes and seconds, rounded to `decimals` of a second.
pub fn dms(position: LatLon, decimals: usize) -> String {
    let part = |value: f64, letters: (char, char)| {
        let unit = 10_f64.powi(i32::try_from(decimals).unwrap_or(0));
        let total = (value.abs() * 3_600.0 * unit).round();
        let seconds = total / unit;
        let (degrees, minutes) = ((seconds / 3_600.0).floor(), (seconds / 60.0).floor() % 60.0);
        let seconds = (total - (degrees * 60.0 + minutes) * 60.0 * unit) / unit;
        let width = if decimals == 0 { 2 } else { 3 + decimals };
        format!(
            "{degrees}°{minutes:02}'{seconds:0width$.decimals$}\"{}",
            if value < 0.0 { letters.1 } else { letters.0 }
        )
    };
    format!("{} {}", part(position.lat, ('N', 'S')), part(position.lon, ('E', 'W')))
}

/// Writes a position in degrees and minutes, rounded to `decimals` of a minute.
pub fn ddm(position: LatLon, decimals: usize) -> String {
    let part = |value: f64, letters: (char, char)| {
        let unit = 10_f64.powi(i32::try_from(decimals).unwrap_or(0));
        let total = (value.abs() * 60.0 * unit).round();
        let degrees = (total / unit / 60.0).floor();
        let minutes = (total - degrees * 60.0 * unit) / unit;
        let width = if decimals == 0 { 2 } else { 3 + decimals };
        format!("{degrees}°{minutes:0width$.decimals$}'{}", if value < 0.0 { letters.1 } else { letters.0 })
    };
    format!("{} {}", part(position.lat, ('N', 'S')), part(position.lon, ('E', 'W')))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn all_notations_of_one_position_are_read() {
        for text in [
            "48.858222, 2.2945",
            "48.858222 2.2945",
            "+48.858222 +2.2945",
            "N48.858222 E2.2945",
            "2.2945E 48.858222N",
            "geo:48.858222,2.2945;u=10",
            "48°51'29.6\"N 2°17'40.2\"E",
            "48 51 29.6 N, 2 17 40.2 E",
            "N 48 51 29.6 E 002 17 40.2",
            "48°51'29.6\" 2°17'40.2\"",
            "48 51.49332 2 17.67",
            "48d51m29.6s 2d17m40.2s",
            "31N 448251.8 5411935.1",
            "31 N 448251.8 5411935.1",
            "31U 448251.8 5411935.1",
            "31U DQ 48251 11935",
            "31UDQ4825111935",
            "48:51:29.6N 2:17:40.2E",
        ] {
            let (found, _) = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!((found.lat - 48.858_222).abs() < 2e-5 && (found.lon - 2.2945).abs() < 2e-5, "{text}: {found:?}");
        }
    }

    #[test]
    fn southern_and_western_positions_keep_their_signs() {
        for text in ["33°51'36\"S 151°12'36\"W", "-33.86, -151.21", "-33 51.6 -151 12.6", "S33.86 W151.21"] {
            let (found, _) = parse(text).unwrap();
            assert!((found.lat + 33.86).abs() < 1e-9 && (found.lon + 151.21).abs() < 1e-9, "{text}: {found:?}");
        }
        let (found, _) = parse("0°30'S 0°15'W").unwrap();
        assert_eq!((found.lat, found.lon), (-0.5, -0.25));
    }

    #[test]
    fn what_is_no_position_is_refused() {
        for text in [
            "",
            "48",
            "91, 0",
            "0, 181",
            "48 60 0 N 2 0 0 E",
            "48.5 30 N 2 0 E",
            "-48N 2E",
            "48N 2N",
            "1 2 3",
            "1 2 3 4 5",
            "abc",
            "61N 448251 5411935",
            "31N 4482510 5411935",
            "48.1.1, 2",
            "x",
            "°'\"",
        ] {
            assert!(parse(text).is_err(), "{text}: {:?}", parse(text));
        }
    }

    #[test]
    fn rounding_carries() {
        let position = LatLon::new(-0.999_999_99, 179.999_999_99);
        assert_eq!(dms(position, 0), "1°00'00\"S 180°00'00\"E");
        assert_eq!(ddm(position, 3), "1°00.000'S 180°00.000'E");
    }

    proptest! {
        #[test]
        fn written_positions_are_read_back(lat in -90.0..=90.0, lon in -180.0..=180.0) {
            let position = LatLon::new(lat, lon);
            for text in [dms(position, 6), ddm(position, 8)] {
                let (found, _) = parse(&text).unwrap();
                prop_assert!((found.lat - lat).abs() < 1e-8 && (found.lon - lon).abs() < 1e-8, "{}", text);
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,60}") {
            drop(parse(&text));
        }
    }
}
