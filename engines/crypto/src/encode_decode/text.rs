//! Encodings that no library of ours has: Base58, Ascii85, HTML entities, Punycode, quoted-printable.

const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// Base58 with the alphabet of Bitcoin.
pub fn base58_encode(bytes: &[u8]) -> String {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let mut digits: Vec<u8> = Vec::new();
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += u32::from(*digit) << 8;
            *digit = (carry % 58) as u8;
            carry /= 58;
        }
        while carry > 0 {
            digits.push((carry % 58) as u8);
            carry /= 58;
        }
    }
    let letter = |digit: &u8| char::from(BASE58.get(usize::from(*digit)).copied().unwrap_or_default());
    "1".repeat(zeros) + &digits.iter().rev().skip_while(|digit| **digit == 0).map(letter).collect::<String>()
}

/// Reads Base58.
pub fn base58_decode(text: &str) -> Option<Vec<u8>> {
    let zeros = text.bytes().take_while(|letter| *letter == b'1').count();
    let mut bytes: Vec<u8> = Vec::new();
    for letter in text.bytes() {
        let mut carry = BASE58.iter().position(|known| *known == letter)? as u32;
        for byte in &mut bytes {
            carry += u32::from(*byte) * 58;
            *byte = carry as u8;
            carry >>= 8;
        }
        while carry > 0 {
            bytes.push(carry as u8);
            carry >>= 8;
        }
    }
    let value: Vec<u8> = bytes.into_iter().rev().skip_while(|byte| *byte == 0).collect();
    Some([vec![0; zeros], value].concat())
}

/// Ascii85 as Adobe writes it, without frame; four zeros are `z`.
pub fn ascii85_encode(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(4) {
        let mut group = [0; 4];
        group.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        let value = u32::from_be_bytes(group);
        if value == 0 && chunk.len() == 4 {
            text.push('z');
            continue;
        }
        let letters = [52_200_625, 614_125, 7225, 85, 1].map(|power| char::from((value / power % 85) as u8 + b'!'));
        text.extend(letters.iter().take(chunk.len() + 1));
    }
    text
}

/// Reads Ascii85, with or without `<~` and `~>`.
pub fn ascii85_decode(text: &str) -> Option<Vec<u8>> {
    let text = text.strip_prefix("<~").unwrap_or(text);
    let text = text.strip_suffix("~>").unwrap_or(text);
    let (mut bytes, mut group) = (Vec::new(), Vec::new());
    for letter in text.bytes() {
        match letter {
            b'z' if group.is_empty() => bytes.extend([0; 4]),
            b'!'..=b'u' => group.push(u32::from(letter - b'!')),
            _ => return None,
        }
        if group.len() == 5 {
            bytes.extend(value85(&group)?.to_be_bytes());
            group.clear();
        }
    }
    match group.len() {
        0 => Some(bytes),
        1 => None,
        length => {
            group.resize(5, 84);
            bytes.extend(value85(&group)?.to_be_bytes().iter().take(length - 1));
            Some(bytes)
        }
    }
}

fn value85(group: &[u32]) -> Option<u32> {
    group.iter().try_fold(0_u32, |value, digit| value.checked_mul(85)?.checked_add(*digit))
}

const ENTITIES: [(&str, char); 12] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", '\u{a0}'),
    ("copy", '©'),
    ("reg", '®'),
    ("euro", '€'),
    ("hellip", '…'),
    ("ndash", '–'),
    ("mdash", '—'),
];

/// Writes the letters that HTML gives a meaning as entities.
pub fn html_encode(text: &str) -> String {
    let write = |letter: char| match letter {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#39;".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(write).collect()
}

/// Reads entities; unknown ones stay as they are.
pub fn html_decode(text: &str) -> String {
    let (mut decoded, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('&') {
        decoded.push_str(before);
        let entity = after.split_once(';').filter(|(name, _)| name.len() <= 10);
        match entity.and_then(|(name, tail)| Some((named(name)?, tail))) {
            Some((letter, tail)) => {
                decoded.push(letter);
                rest = tail;
            }
            None => {
                decoded.push('&');
                rest = after;
            }
        }
    }
    decoded + rest
}

fn named(name: &str) -> Option<char> {
    let code = match name.strip_prefix('#') {
        Some(number) => match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => number.parse().ok(),
        },
        None => return ENTITIES.iter().find(|(known, _)| *known == name).map(|(_, letter)| *letter),
    };
    code.and_then(char::from_u32)
}

/// Parameters of Bootstring for Punycode (RFC 3492, section 5).
const BASE: u32 = 36;
const T_MIN: u32 = 1;
const T_MAX: u32 = 26;
const SKEW: u32 = 38;
const DAMP: u32 = 700;
const BIAS: u32 = 72;
const FIRST: u32 = 128;

fn adapt(delta: u32, points: u32, first: bool) -> u32 {
    let mut delta = if first { delta / DAMP } else { delta / 2 };
    delta += delta / points;
    let mut k = 0;
    while delta > (BASE - T_MIN) * T_MAX / 2 {
        delta /= BASE - T_MIN;
        k += BASE;
    }
    k + (BASE - T_MIN + 1) * delta / (delta + SKEW)
}

fn threshold(k: u32, bias: u32) -> u32 {
    k.saturating_sub(bias).clamp(T_MIN, T_MAX)
}

/// Punycode of one label, without `xn--`.
pub fn punycode_encode(text: &str) -> Option<String> {
    let points: Vec<u32> = text.chars().map(u32::from).collect();
    let mut encoded: String = text.chars().filter(char::is_ascii).collect();
    let basic = encoded.len() as u32;
    if basic > 0 {
        encoded.push('-');
    }
    let (mut n, mut delta, mut bias, mut handled) = (FIRST, 0_u32, BIAS, basic);
    while (handled as usize) < points.len() {
        let next = points.iter().copied().filter(|point| *point >= n).min()?;
        delta = delta.checked_add((next - n).checked_mul(handled + 1)?)?;
        n = next;
        for point in &points {
            if *point < n {
                delta = delta.checked_add(1)?;
            }
            if *point == n {
                let (mut q, mut k) = (delta, BASE);
                loop {
                    let t = threshold(k, bias);
                    if q < t {
                        break;
                    }
                    encoded.push(digit(t + (q - t) % (BASE - t)));
                    q = (q - t) / (BASE - t);
                    k += BASE;
                }
                encoded.push(digit(q));
                bias = adapt(delta, handled + 1, handled == basic);
                delta = 0;
                handled += 1;
            }
        }
        delta = delta.checked_add(1)?;
        n += 1;
    }
    Some(encoded)
}

fn digit(value: u32) -> char {
    char::from(if value < 26 { b'a' + value as u8 } else { b'0' + (value - 26) as u8 })
}

/// Reads Punycode of one label, with or without `xn--`.
pub fn punycode_decode(text: &str) -> Option<String> {
    let text = text.strip_prefix("xn--").unwrap_or(text);
    let (basic, extended) = text.rsplit_once('-').unwrap_or(("", text));
    if !text.is_ascii() {
        return None;
    }
    let mut points: Vec<char> = basic.chars().collect();
    let (mut n, mut i, mut bias) = (FIRST, 0_u32, BIAS);
    let mut letters = extended.bytes();
    while let Some(mut letter) = letters.next() {
        let (old, mut weight, mut k) = (i, 1_u32, BASE);
        loop {
            let value = match letter {
                b'a'..=b'z' => letter - b'a',
                b'A'..=b'Z' => letter - b'A',
                b'0'..=b'9' => letter - b'0' + 26,
                _ => return None,
            };
            i = i.checked_add(u32::from(value).checked_mul(weight)?)?;
            let t = threshold(k, bias);
            if u32::from(value) < t {
                break;
            }
            weight = weight.checked_mul(BASE - t)?;
            k += BASE;
            letter = letters.next()?;
        }
        let count = points.len() as u32 + 1;
        bias = adapt(i - old, count, old == 0);
        n = n.checked_add(i / count)?;
        i %= count;
        points.insert(i as usize, char::from_u32(n)?);
        i += 1;
    }
    Some(points.into_iter().collect())
}

/// Quoted-printable of RFC 2045; line ends are written as data, so that all bytes survive.
pub fn quoted_encode(bytes: &[u8]) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for byte in bytes {
        let plain = matches!(byte, b'!'..=b'<' | b'>'..=b'~' | b' ');
        let written = if plain { char::from(*byte).to_string() } else { format!("={byte:02X}") };
        // A line has at most 76 letters, the sign of the soft break among them.
        if column + written.len() > 75 {
            text.push_str("=\r\n");
            column = 0;
        }
        column += written.len();
        text.push_str(&written);
    }
    // A space at the end of a line may get lost on the way.
    match text.strip_suffix(' ') {
        Some(rest) => format!("{rest}=20"),
        None => text,
    }
}

/// Reads quoted-printable; `None` where `=` is followed by neither two digits nor a line end.
pub fn quoted_decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'=' {
            bytes.push(*first);
        } else if let Some(tail) = tail.strip_prefix(b"\r\n").or_else(|| tail.strip_prefix(b"\n")) {
            rest = tail;
        } else {
            bytes.extend(crate::hex::decode(std::str::from_utf8(tail.get(..2)?).ok()?)?);
            rest = tail.get(2..)?;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3492, section 7.1: (A) Arabic and (L).
    #[test]
    fn punycode_is_that_of_the_standard() {
        for (text, code) in
            [("ليهمابتكلموشعربي؟", "egbpdaj6bu4bxfgehfvwxn"), ("3年B組金八先生", "3B-ww4c5e180e575a65lsy2b")]
        {
            assert_eq!(punycode_encode(text).as_deref(), Some(code));
            assert_eq!(punycode_decode(code).as_deref(), Some(text));
        }
    }

    #[test]
    fn damaged_text_is_refused() {
        assert_eq!(base58_decode("0OIl"), None);
        assert_eq!(ascii85_decode("zz~"), None);
        assert_eq!(ascii85_decode("!"), None);
        assert_eq!(punycode_decode("99999999"), None);
        assert_eq!(quoted_decode("=4"), None);
    }
}
