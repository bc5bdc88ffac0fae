//! Parts of SVG texts.

/// Most characters of a text in a drawing.
pub(crate) const MAX_TEXT: usize = 120;
/// Viridis (matplotlib, CC0) at five places; it is legible without colour.
const VIRIDIS: [[f64; 3]; 5] =
    [[68.0, 1.0, 84.0], [59.0, 82.0, 139.0], [33.0, 145.0, 140.0], [94.0, 201.0, 98.0], [253.0, 231.0, 37.0]];

/// Returns a text for the content of an element or an attribute, at most `most` characters long. Characters that XML does
/// not permit are left out.
pub(crate) fn escaped(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len().min(most));
    let mut chars = text.chars().filter(|c| is_permitted(*c));
    for c in chars.by_ref().take(most) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

/// XML 1.0, production 2, without the marks that reverse the direction of a text.
fn is_permitted(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
        && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        && !('\u{7f}'..='\u{9f}').contains(&c)
}

/// Writes a coordinate with at most two decimals, the same everywhere.
pub(crate) fn number(value: f64) -> String {
    let rounded = (value * 100.0).round() / 100.0;
    // No negative zero.
    let rounded = if rounded == 0.0 { 0.0 } else { rounded };
    format!("{rounded}")
}

/// Returns a colour for a share of 0 (dark) to 1 (light).
pub(crate) fn viridis(share: f64) -> String {
    let place = share.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let from = (place.floor() as usize).min(VIRIDIS.len() - 2);
    let (a, b) = (VIRIDIS.get(from).copied().unwrap_or_default(), VIRIDIS.get(from + 1).copied().unwrap_or_default());
    let mixed = |at: usize| {
        let (a, b) = (a.get(at).copied().unwrap_or(0.0), b.get(at).copied().unwrap_or(0.0));
        (a + (b - a) * (place - from as f64)).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", mixed(0), mixed(1), mixed(2))
}
