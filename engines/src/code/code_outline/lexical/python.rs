//! Python: what stands deeper belongs to what stands before it.

use super::super::{MAX_SYMBOLS, Symbol, doc, one_line};
use super::Found;
use super::lex::{Kind, Lexed, Token};

/// A definition whose lines go on.
struct Open<'s> {
    column: usize,
    name: &'s str,
    is_class: bool,
    symbol: usize,
    /// Its next line may be its docstring.
    fresh: bool,
}

pub(super) fn read(source: &str, lexed: &Lexed<'_>) -> Found {
    let (mut found, mut open) = (Found::default(), Vec::<Open<'_>>::new());
    for line in lines(lexed) {
        let (Some(first), Some(last)) = (line.first(), line.last()) else { continue };
        if found.symbols.len() > MAX_SYMBOLS {
            break;
        }
        let column = column(source, first);
        open.retain(|around| around.column < column);
        if let Some(around) = open.last_mut()
            && std::mem::take(&mut around.fresh)
            && first.kind == Kind::Text
            && let Some(symbol) = found.symbols.get_mut(around.symbol)
        {
            symbol.doc = doc::docstring_of(first.text).unwrap_or_default();
        }
        for around in &open {
            found.symbols.get_mut(around.symbol).into_iter().for_each(|symbol| symbol.end = last.last_row + 1);
        }
        imports(line, &mut found.imports);
        let Some((kind, name, head)) = definition(line, column) else { continue };
        let around = open.last();
        let is_method = kind == "function" && around.is_some_and(|around| around.is_class);
        let text = source.get(first.start..head.start).unwrap_or_default();
        found.symbols.push(Symbol {
            name: name.to_owned(),
            kind: if is_method { "method" } else { kind },
            start: first.row + 1,
            end: last.last_row + 1,
            signature: one_line(text),
            doc: String::new(),
            parent: around.map_or("", |around| around.name).to_owned(),
        });
        if matches!(kind, "class" | "function") {
            let (is_class, symbol) = (kind == "class", found.symbols.len() - 1);
            open.push(Open { column, name, is_class, symbol, fresh: true });
        }
    }
    found
}

/// The tokens of each logical line: brackets join lines, and so does a backslash.
fn lines<'l, 's>(lexed: &'l Lexed<'s>) -> impl Iterator<Item = &'l [Token<'s>]> {
    let (mut from, tokens) = (0, lexed.tokens.as_slice());
    std::iter::from_fn(move || {
        let mut at = from;
        while at < tokens.len() {
            // To the closing bracket at once.
            at = lexed.partner(at).filter(|&closing| closing > at).unwrap_or(at) + 1;
            let (Some(last), Some(next)) = (tokens.get(at - 1), tokens.get(at)) else { break };
            if next.row > last.last_row && last.text != "\\" {
                break;
            }
        }
        let line = tokens.get(from..at).filter(|line| !line.is_empty())?;
        from = at;
        Some(line)
    })
}

/// The width of what stands before a token on its line; a tab goes to the next multiple of 8 (the Python Reference, 2.1.8).
fn column(source: &str, token: &Token<'_>) -> usize {
    let before = source.get(..token.start).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.chars().fold(0, |column, letter| if letter == '\t' { (column / 8 + 1) * 8 } else { column + 1 })
}

/// The kind and name that a line defines, and the token that ends its head.
fn definition<'l, 's>(line: &'l [Token<'s>], column: usize) -> Option<(&'static str, &'s str, &'l Token<'s>)> {
    let words: Vec<&str> = line.iter().take(3).map(|token| token.text).collect();
    let named = |kind, at: usize| {
        let name = line.get(at).filter(|token| token.kind == Kind::Word)?;
        Some((kind, name.text, colon(line)?))
    };
    match words.as_slice() {
        ["class", ..] => named("class", 1),
        ["def", ..] => named("function", 1),
        ["async", "def", ..] => named("function", 2),
        [name, "=", ..] if column == 0 && line.first().is_some_and(|token| token.kind == Kind::Word) => {
            let body = name.trim_start_matches('_');
            let capital = body.starts_with(|first: char| first.is_ascii_uppercase())
                && body.chars().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_');
            Some((if capital { "constant" } else { "variable" }, name, line.last()?))
        }
        _ => None,
    }
}

/// The colon before the body: the first outside of brackets.
fn colon<'l, 's>(line: &'l [Token<'s>]) -> Option<&'l Token<'s>> {
    let mut depth = 0_usize;
    line.iter().find(|token| {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.text == ":"
    })
}

/// The Python Reference, 7.11.
fn imports(line: &[Token<'_>], into: &mut Vec<String>) {
    let words: Vec<&str> =
        line.iter().map(|token| token.text).filter(|text| !["(", ")", "\\"].contains(text)).collect();
    let (from, names) = match words.as_slice() {
        ["import", names @ ..] => (String::new(), names),
        ["from", rest @ ..] => {
            let Some(at) = rest.iter().position(|word| *word == "import") else { return };
            let (from, names) = rest.split_at(at);
            (from.concat(), names.get(1..).unwrap_or_default())
        }
        _ => return,
    };
    for name in names.split(|word| *word == ",").filter(|name| !name.is_empty()) {
        let path: String = name.iter().take_while(|word| **word != "as").copied().collect();
        into.push(match from.as_str() {
            "" | "__future__" => path,
            relative if relative.ends_with('.') => format!("{relative}{path}"),
            from => format!("{from}.{path}"),
        });
    }
}
