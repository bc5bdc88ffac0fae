//! Bounds of a text, checked before the recursive reader sees it.

use crate::error::PolicyError;

/// Largest text in bytes.
pub const MAX_TEXT: usize = 8 * 1024;
/// Largest number of rules.
pub const MAX_RULES: usize = 64;
/// Deepest nesting of brackets, and most words `if` in one rule.
pub const MAX_DEPTH: usize = 32;

/// Checks length and nesting.
pub(crate) fn check(text: &str) -> Result<(), PolicyError> {
    if text.len() > MAX_TEXT {
        return Err(PolicyError::TooLong(text.len()));
    }
    let (mut line, mut depth, mut ifs, mut word) = (1, 0_usize, 0_usize, String::new());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character.is_alphanumeric() || character == '_' {
            word.push(character);
            continue;
        }
        ifs += usize::from(std::mem::take(&mut word) == "if");
        match character {
            '\n' => line += 1,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ';' => ifs = 0,
            // Brackets in strings and comments are no nesting.
            '"' => line += skip_string(&mut characters),
            '/' if characters.peek() == Some(&'/') => while characters.next_if(|next| *next != '\n').is_some() {},
            _ => {}
        }
        if depth > MAX_DEPTH || ifs > MAX_DEPTH {
            return Err(PolicyError::TooDeep { line });
        }
    }
    Ok(())
}

/// Reads to the end of a string and returns the number of lines in it.
fn skip_string(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> usize {
    let (mut lines, mut escaped) = (0, false);
    for character in characters.by_ref() {
        lines += usize::from(character == '\n');
        match character {
            '"' if !escaped => break,
            _ => escaped = character == '\\' && !escaped,
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_counts_outside_strings_and_comments_only() {
        let deep = |depth| format!("permit(principal, action, resource) when {{ {} }};", "(".repeat(depth));
        assert_eq!(check(&deep(MAX_DEPTH - 1)), Ok(()));
        assert_eq!(check(&deep(MAX_DEPTH)), Err(PolicyError::TooDeep { line: 1 }));
        assert_eq!(check(&format!("// {}\n\"{}\\\"(\"", "(".repeat(99), "{".repeat(99))), Ok(()));
        assert_eq!(check(&format!("\n\n{}", "if ".repeat(MAX_DEPTH + 1))), Err(PolicyError::TooDeep { line: 3 }));
        assert_eq!(check(&"if;".repeat(MAX_DEPTH + 1)), Ok(()));
        assert_eq!(check(&" ".repeat(MAX_TEXT + 1)), Err(PolicyError::TooLong(MAX_TEXT + 1)));
    }
}
