//! Tokens of the language.

use crate::error::PolicyError;

/// A token, and the line on which it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) line: usize,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or a reserved word.
    Word(String),
    /// A text, without its escapes.
    Text(String),
    /// A number, which fits an integer or is the smallest one without its sign.
    Number(u64),
    /// An operator or a bracket.
    Sign(&'static str),
}

/// The longer ones stand before those that they begin with.
const SIGNS: [&str; 26] = [
    "::", "==", "!=", "<=", ">=", "&&", "||", "(", ")", "[", "]", "{", "}", ",", ";", ":", "@", "?", ".", "<", ">",
    "!", "+", "-", "*", "=",
];
/// The magnitude of the smallest integer.
const MOST: u64 = 1 << 63;

/// Reads all tokens.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, PolicyError> {
    let (mut rest, mut line, mut found) = (text, 1, Vec::new());
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    while let Some(first) = rest.chars().next() {
        let wrong = |why: String| PolicyError::Syntax { line, why };
        let (kind, length) = if first.is_whitespace() {
            line += usize::from(first == '\n');
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        } else if rest.starts_with("//") {
            rest = rest.find('\n').and_then(|end| rest.get(end..)).unwrap_or_default();
            continue;
        } else if first.is_ascii_digit() {
            let end = rest.find(|c: char| !word(c)).unwrap_or(rest.len());
            let digits = rest.get(..end).unwrap_or_default();
            let number = digits.parse().ok().filter(|number| *number <= MOST);
            let number = number.ok_or_else(|| wrong(format!("`{digits}` is no integer of 64 bits")))?;
            (TokenKind::Number(number), end)
        } else if word(first) {
            let end = rest.find(|c: char| !word(c)).unwrap_or(rest.len());
            (TokenKind::Word(rest.get(..end).unwrap_or_default().to_owned()), end)
        } else if first == '"' {
            let (content, length) = string(rest).map_err(wrong)?;
            (TokenKind::Text(content), length)
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
            let sign = sign.ok_or_else(|| wrong(format!("unexpected `{first}`")))?;
            (TokenKind::Sign(sign), sign.len())
        };
        found.push(Token { kind, line });
        let taken = rest.get(..length).unwrap_or_default();
        line += taken.matches('\n').count();
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(found)
}

/// Reads a text in quotation marks; returns its content and its length with the marks.
fn string(source: &str) -> Result<(String, usize), String> {
    let mut characters = source.char_indices().skip(1);
    let mut content = String::new();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Ok((content, at + 1)),
            '\\' => content.push(escape(&mut characters)?),
            other => content.push(other),
        }
    }
    Err("a text has no end".to_owned())
}

fn escape(characters: &mut impl Iterator<Item = (usize, char)>) -> Result<char, String> {
    let mut next = || characters.next().map(|(_, character)| character).ok_or("a text has no end");
    let code = match next()? {
        'n' => return Ok('\n'),
        'r' => return Ok('\r'),
        't' => return Ok('\t'),
        '0' => return Ok('\0'),
        same @ ('\\' | '\'' | '"') => return Ok(same),
        'x' => {
            let code = String::from_iter([next()?, next()?]);
            u32::from_str_radix(&code, 16).ok().filter(|code| *code < 0x80)
        }
        'u' => {
            let (mut code, open) = (String::new(), next()?);
            let mut character = next()?;
            while character != '}' && code.len() < 7 {
                code.push(character);
                character = next()?;
            }
            let digits = code.chars().all(|c| c.is_ascii_hexdigit());
            u32::from_str_radix(&code, 16).ok().filter(|_| open == '{' && character == '}' && digits)
        }
        other => return Err(format!("unknown escape `\\{other}` in a text")),
    };
    code.and_then(char::from_u32).ok_or_else(|| "an escape in a text names no character".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokens(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn texts_have_the_escapes_of_cedar() {
        let read = kinds(r#""a\"b\\c\n\t\r\0\'\x41\u{e4}\u{1F600}""#);
        assert_eq!(read, [TokenKind::Text("a\"b\\c\n\t\r\0'Aä😀".to_owned())]);
        for wrong in [r#""\q""#, r#""\x80""#, r#""\u{d800}""#, r#""\u{}""#, r#""\u41""#, "\"open", r#""\"#] {
            assert!(tokens(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn signs_numbers_and_lines_are_distinguished() {
        let sign = TokenKind::Sign;
        assert_eq!(kinds("<=< ::!=!"), [sign("<="), sign("<"), sign("::"), sign("!="), sign("!")]);
        assert_eq!(kinds("9223372036854775808"), [TokenKind::Number(1 << 63)]);
        assert!(tokens("9223372036854775809").is_err() && tokens("1x").is_err() && tokens("&").is_err());
        let lines: Vec<usize> = tokens("a // x\n\"\n\" b").unwrap().iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 2, 3]);
    }
}
