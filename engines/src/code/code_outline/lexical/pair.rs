//! Which bracket closes which.

use super::lex::{Kind, Lexed};

/// Finds the partner of each bracket.
pub(super) fn pair(lexed: &mut Lexed<'_>) {
    lexed.partners = vec![None; lexed.tokens.len()];
    // Of the braces among them, where they stand in `open`.
    let (mut open, mut braces): (Vec<(usize, &str)>, Vec<usize>) = (Vec::new(), Vec::new());
    for (at, token) in lexed.tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Sign) {
        let opening = match token.text {
            "(" | "[" | "{" => {
                braces.extend((token.text == "{").then_some(open.len()));
                open.push((at, token.text));
                continue;
            }
            // A brace closes what was left open within it.
            "}" => braces.pop(),
            ")" => open.len().checked_sub(1).filter(|&last| open.get(last).is_some_and(|it| it.1 == "(")),
            "]" => open.len().checked_sub(1).filter(|&last| open.get(last).is_some_and(|it| it.1 == "[")),
            _ => continue,
        };
        let Some((found, partner)) = opening.and_then(|found| Some((found, open.get(found)?.0))) else {
            lexed.errors += 1;
            continue;
        };
        lexed.errors += open.len() - found - 1;
        open.truncate(found);
        for (one, other) in [(at, partner), (partner, at)] {
            lexed.partners.get_mut(one).into_iter().for_each(|it| *it = Some(other));
        }
    }
    lexed.errors += open.len();
}
