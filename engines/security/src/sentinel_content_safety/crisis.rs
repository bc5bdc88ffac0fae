//! Where people in a crisis find help, by the language of the text.

/// Lines of the table.
static LINES: &str = include_str!("../../data/crisis_lines.csv");

/// Advice with its sources. A number of another country would not help, so each names where it is valid.
pub(super) fn advice(language: &str) -> String {
    let lines = LINES.lines().skip_while(|line| line.starts_with('#')).skip(1);
    let known: Vec<String> = lines
        .filter_map(|line| {
            let cells: Vec<&str> = line.split(';').collect();
            let [of, place, name, contact, source, _] = cells.as_slice() else { return None };
            (*of == language).then(|| format!("{place}: {name}, {contact} (source: {source})"))
        })
        .collect();
    let emergency = "In immediate danger call the local emergency number, 112 in the European Union (source: Directive (EU) 2018/1972, article 109)";
    if known.is_empty() {
        format!("somebody may be about to hurt themselves. {emergency}. No crisis line is listed for this language")
    } else {
        format!("somebody may be about to hurt themselves. {emergency}. Crisis lines: {}", known.join("; "))
    }
}
