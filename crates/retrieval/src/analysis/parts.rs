/// Calls `each` for the words in a name: `snake_case`, `camelCase`, `HTTPServer`, `john.doe`. Does nothing for a single
/// word, or if a dot or colon is between digits.
pub(super) fn each_part<'a>(name: &'a str, each: &mut impl FnMut(&'a str)) {
    let mut from = 0;
    let mut before = [None::<char>; 2];
    for (at, c) in name.char_indices() {
        let [older, last] = before;
        let next = name.get(at + c.len_utf8()..).and_then(|rest| rest.chars().next());
        let cut = match last {
            Some(last) if is_sign(c, Some(last), next) || is_sign(last, older, Some(c)) => true,
            Some(last) if last.is_lowercase() && c.is_uppercase() => true,
            // The S of HTTPServer.
            Some(last) => last.is_uppercase() && c.is_uppercase() && next.is_some_and(char::is_lowercase),
            None => false,
        };
        if cut {
            part(name, from, at, each);
            from = at;
        }
        before = [last, Some(c)];
    }
    if from > 0 {
        part(name, from, name.len(), each);
    }
}

fn is_sign(c: char, before: Option<char>, after: Option<char>) -> bool {
    let figures = || before.is_some_and(char::is_numeric) && after.is_some_and(char::is_numeric);
    c == '_' || (matches!(c, '.' | ':' | '·') && !figures())
}

/// A single letter or digit is not a word of a name.
fn part<'a>(name: &'a str, from: usize, to: usize, each: &mut impl FnMut(&'a str)) {
    let text = name.get(from..to).unwrap_or_default();
    if text.chars().nth(1).is_some() && text.chars().any(char::is_alphanumeric) {
        each(text);
    }
}

/// `U.S.A.` as `usa`.
pub(super) fn abbreviation(name: &str) -> Option<String> {
    let letters: Vec<&str> = name.split('.').collect();
    let one = |part: &&str| part.chars().count() == 1 && part.chars().all(char::is_alphabetic);
    (letters.len() > 1 && letters.iter().all(one)).then(|| letters.concat())
}
