//! Numbers as they are written: in digits with separators, and in English words.

use super::lexer::Token;

/// Value of a decimal digit of any script that the 84 languages use; `None` of other characters.
pub(super) fn digit(letter: char) -> Option<u32> {
    const ZEROS: [u32; 17] = [
        0x30, 0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50, 0xed0, 0x1040,
        0x17e0, 0xff10,
    ];
    let code = u32::from(letter);
    ZEROS.iter().find_map(|zero| code.checked_sub(*zero).filter(|value| *value < 10))
}

/// Groups of digits of the longest number.
const MAX_GROUPS: usize = 12;
/// Digits that are kept of a number, which no measurement exceeds.
const MAX_DIGITS: usize = 30;

/// Reads a number that begins with a digit: bytes and value. Groups of three may be separated by comma, point,
/// apostrophe or a narrow space; the last of two different separators is that of the decimals. One comma or point before
/// three digits: a comma separates thousands, a point decimals.
pub(super) fn read(text: &str) -> (usize, f64) {
    // Runs of digits, each with the separator before it.
    let mut groups: Vec<(char, String)> = vec![(' ', String::new())];
    let mut end = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        if let Some(value) = digit(letter) {
            if let (Some((_, group)), Some(value)) = (groups.last_mut(), char::from_digit(value, 10)) {
                group.push(value);
            }
            end = at + letter.len_utf8();
        } else if matches!(letter, ',' | '.' | '\'' | '’' | '\u{202f}' | '\u{a0}' | '٬' | '٫')
            && letters.peek().is_some_and(|(_, next)| digit(*next).is_some())
        {
            groups.push((letter, String::new()));
            // A list, such as 1,2,3, of which the first number is read.
            if groups.len() > MAX_GROUPS {
                groups.truncate(1);
                end = length_of(text, 1);
                break;
            }
        } else {
            break;
        }
    }
    // The groups of one number; a list such as 1,2,3 ends at its first number.
    let separator = |at: usize| groups.get(at).map(|(separator, _)| *separator);
    let size = |at: usize| groups.get(at).map_or(0, |(_, digits)| digits.len());
    let decimal = |letter: char| matches!(letter, '.' | ',' | '٫');
    let mut whole = 1;
    if (1..=3).contains(&size(0)) {
        let first = separator(1).unwrap_or(' ');
        while whole < groups.len() && separator(whole) == Some(first) && size(whole) == 3 {
            whole += 1;
        }
        // One point before three digits is that of decimals.
        let single = whole == 2 && matches!(first, '.' | '٫') && separator(2).is_none();
        // Nothing comes after the thousands but decimals with another separator.
        let broken = separator(whole).is_some_and(|next| next == first);
        if single || broken {
            whole = 1;
        }
        // "0,125" has no thousands.
        if groups.first().is_some_and(|(_, digits)| digits.starts_with('0')) {
            whole = 1;
        }
    }
    let fraction = separator(whole).is_some_and(decimal)
        && (whole + 1 == groups.len() || separator(whole + 1) != separator(whole));
    let used = whole + usize::from(fraction);
    let mut written: String = groups.iter().take(whole).map(|(_, digits)| digits.as_str()).collect();
    if fraction && let Some((_, digits)) = groups.get(whole) {
        written.push('.');
        written.extend(digits.chars().take(MAX_DIGITS));
    }
    let length = if used == groups.len() { end } else { length_of(text, used) };
    (length, written.parse().ok().filter(|value: &f64| value.is_finite()).unwrap_or(f64::MAX))
}

/// Bytes of the first `count` groups.
fn length_of(text: &str, count: usize) -> usize {
    let mut seen = 0;
    for (at, letter) in text.char_indices() {
        if digit(letter).is_none() {
            seen += 1;
            if seen == count {
                return at;
            }
        }
    }
    text.len()
}

/// Value of a number word up to 90; folded.
fn small(word: &str) -> Option<f64> {
    const WORDS: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let unit = WORDS.iter().position(|known| *known == word).map(|at| at as f64);
    unit.or_else(|| TENS.iter().position(|known| *known == word).map(|at| (at + 2) as f64 * 10.0))
}

/// Value of a word that multiplies.
fn scale(word: &str) -> Option<f64> {
    Some(match word {
        "hundred" => 1e2,
        "thousand" | "thousands" | "tausend" | "mil" | "mille" => 1e3,
        "million" | "millions" | "mio" | "millionen" | "millones" | "mn" => 1e6,
        "billion" | "billions" | "bn" => 1e9,
        _ => return None,
    })
}

/// Reads a number at the begin of the tokens, in digits or words: its value, the tokens it takes, and whether it was
/// written in words.
pub(super) fn at(tokens: &[Token<'_>]) -> Option<(f64, usize, bool)> {
    let first = tokens.first()?;
    if let Some(value) = first.number {
        let next = tokens.get(1).filter(|next| !next.apart);
        return Some(match next {
            // "12k people", "2.5M"; a K after a space is a unit or a letter.
            Some(next) if !next.spaced && matches!(next.text, "k" | "K") => (value * 1e3, 2, false),
            Some(next) if scale(&next.folded).is_some_and(|scale| scale > 100.0) => {
                (value * scale(&next.folded).unwrap_or(1.0), 2, false)
            }
            _ => (value, 1, false),
        });
    }
    words(tokens)
}

/// "two hundred and five", "twenty-one", "a dozen", "half a million".
fn words(tokens: &[Token<'_>]) -> Option<(f64, usize, bool)> {
    let word = |at: usize| tokens.get(at).filter(|token| at == 0 || !token.apart).map(|token| token.folded.as_str());
    match (word(0)?, word(1), word(2)) {
        ("a", Some("dozen"), _) => return Some((12.0, 2, true)),
        ("dozen", ..) => return Some((12.0, 1, true)),
        ("half", Some("a"), Some("million")) => return Some((5e5, 3, true)),
        ("a", Some(scaled), _) if scale(scaled).is_some() => return Some((scale(scaled)?, 2, true)),
        _ => {}
    }
    small(word(0)?)?;
    let (mut total, mut current, mut at, mut last) = (0.0, 0.0, 0, f64::INFINITY);
    while let Some(text) = word(at) {
        if let Some(value) = small(text) {
            // "twenty one", but not "one two" or "twenty thirty".
            let joins = last.is_infinite() || (last >= 20.0 && value < 10.0 && value > 0.0) || last == 100.0;
            if !joins {
                break;
            }
            current += value;
            last = value;
            at += 1;
        } else if let Some(value) = scale(text) {
            if value == 100.0 {
                current *= value;
                last = 100.0;
            } else {
                total += current * value;
                current = 0.0;
                last = f64::INFINITY;
            }
            at += 1;
        } else if joins(tokens, at, last) && word(at + 1).is_some_and(|next| small(next).is_some()) {
            at += 1;
        } else {
            break;
        }
        if at > 20 {
            break;
        }
    }
    (at > 0).then_some((total + current, at, true))
}

/// Whether "and" after hundreds and thousands, or a hyphen after tens, continues a number in words.
fn joins(tokens: &[Token<'_>], at: usize, last: f64) -> bool {
    let Some(token) = tokens.get(at).filter(|_| at > 0) else { return false };
    (token.folded == "and" && (last == 100.0 || last.is_infinite()))
        || (token.is("-") && !token.spaced && (20.0..100.0).contains(&last))
}
