//! Changes the review of a record in a TOML text and leaves every other byte as it is.

use serde::Serialize;

/// The review of a record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Review {
    pub(super) status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) on: Option<String>,
    pub(super) due: String,
}

impl std::fmt::Display for Review {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.status)?;
        if let (Some(by), Some(on)) = (&self.by, &self.on) {
            write!(f, " by {by} on {on}")?;
        }
        write!(f, ", due {}", self.due)
    }
}

/// What becomes of a review.
#[derive(Debug)]
pub(super) enum ReviewChange<'a> {
    Reviewed { by: &'a str, on: &'a str, due: Option<&'a str> },
    Withdrawn { due: Option<&'a str> },
}

impl ReviewChange<'_> {
    fn apply(&self, before: &Review) -> Review {
        let due = |due: &Option<&str>| due.map_or_else(|| before.due.clone(), str::to_owned);
        match self {
            Self::Reviewed { by, on, due: next } => Review {
                status: "reviewed".to_owned(),
                by: Some((*by).to_owned()),
                on: Some((*on).to_owned()),
                due: due(next),
            },
            Self::Withdrawn { due: next } => {
                Review { status: "unreviewed".to_owned(), due: due(next), ..Review::default() }
            }
        }
    }
}

/// A changed text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edited {
    pub(super) text: String,
    pub(super) before: Review,
    pub(super) after: Review,
}

/// Changes the review of the record that begins at a line: the table `[review]` or the key `review` of the file for line 0,
/// else the key of the entry.
pub(super) fn change(text: &str, line: usize, change: &ReviewChange<'_>) -> Result<Edited, String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = lines.iter().enumerate().skip(line).position(|(number, text)| {
        let text = text.trim_start();
        let other = line > 0 && number > line && text.starts_with('[');
        !other && (text.starts_with("review = {") || (line == 0 && text.trim_end() == "[review]"))
    });
    let at = at.map(|nth| nth + line).ok_or("has no review: add `[review]` with `status` and `due`")?;
    let found = lines.get(at).copied().unwrap_or_default();
    if found.trim_start().starts_with("review = {") {
        return inline(&lines, at, change);
    }
    table(&lines, at, change)
}

/// `review = { status = "…", due = "…" }`.
fn inline(lines: &[&str], at: usize, change: &ReviewChange<'_>) -> Result<Edited, String> {
    let line = lines.get(at).copied().unwrap_or_default();
    let (open, close) = (line.find('{'), line.rfind('}'));
    let (Some(open), Some(close)) = (open, close) else { return Err("the review must be on one line".to_owned()) };
    let inside = line.get(open + 1..close).unwrap_or_default();
    let before = parse(&inside.split(',').map(str::trim).collect::<Vec<_>>())?;
    let after = change.apply(&before);
    let members: Vec<String> =
        members(&after).into_iter().map(|(name, value)| format!("{name} = \"{value}\"")).collect();
    let (head, tail) = (line.get(..open).unwrap_or_default(), line.get(close + 1..).unwrap_or_default());
    let new = format!("{head}{{ {} }}{tail}", members.join(", "));
    let text = lines.iter().enumerate().map(|(number, line)| if number == at { new.as_str() } else { line }).collect();
    Ok(Edited { text, before, after })
}

/// The lines below `[review]`, up to the next table. Comments and other keys stay where they are.
fn table(lines: &[&str], at: usize, change: &ReviewChange<'_>) -> Result<Edited, String> {
    let body = lines.iter().skip(at + 1).take_while(|line| !line.trim_start().starts_with('['));
    let end = at + 1 + body.count();
    let inside: Vec<&str> = lines.get(at + 1..end).unwrap_or_default().iter().map(|line| line.trim()).collect();
    let before = parse(&inside)?;
    let after = change.apply(&before);
    let mut wanted = members(&after);
    let mut text: String = lines.get(..=at).unwrap_or_default().concat();
    for line in lines.get(at + 1..end).unwrap_or_default() {
        let Some(name) = key(line) else {
            text.push_str(line);
            continue;
        };
        if let Some(nth) = wanted.iter().position(|(wanted, _)| *wanted == name) {
            // What is missing so far comes before what follows it in the order of the members.
            for (name, value) in wanted.drain(..=nth) {
                text.push_str(&format!("{name} = \"{value}\"\n"));
            }
        } else if !NAMES.contains(&name) {
            text.push_str(line);
        }
    }
    if !wanted.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for (name, value) in wanted {
        text.push_str(&format!("{name} = \"{value}\"\n"));
    }
    text.push_str(&lines.get(end..).unwrap_or_default().concat());
    Ok(Edited { text, before, after })
}

/// The members of a review, in the order in which they are written.
const NAMES: [&str; 4] = ["status", "by", "on", "due"];

fn members(review: &Review) -> Vec<(&'static str, String)> {
    let values = [Some(review.status.clone()), review.by.clone(), review.on.clone(), Some(review.due.clone())];
    NAMES.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))).collect()
}

fn key(line: &str) -> Option<&str> {
    let (name, _) = line.split_once('=')?;
    Some(name.trim()).filter(|name| !name.starts_with('#'))
}

fn parse(members: &[&str]) -> Result<Review, String> {
    let value = |name: &str| {
        let line = members.iter().find(|line| key(line) == Some(name))?;
        let (_, value) = line.split_once('=')?;
        value.trim().strip_prefix('"')?.split('"').next().map(str::to_owned)
    };
    let need = |name: &str| value(name).ok_or_else(|| format!("the review has no `{name}`"));
    Ok(Review { status: need("status")?, by: value("by"), on: value("on"), due: need("due")? })
}

/// Whether a text is a day, such as `2027-01-31`.
pub(super) fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let number = |text: &str, length: usize| {
        (text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| text.parse::<u32>().ok())
            .flatten()
    };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2)) else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    };
    (2000..=2200).contains(&year) && (1..=days).contains(&day)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REVIEWED: ReviewChange<'_> = ReviewChange::Reviewed { by: "Dr A", on: "2027-01-15", due: None };

    #[test]
    fn a_table_is_changed_and_every_other_byte_stays() {
        let head = "id = \"dvt\"  # two blanks\n\n[triggers]\na =   5\n\n[review]\n";
        let text = format!("{head}status = \"unreviewed\"\n# who\ndue = \"2027-11-30\"\n\n[examples]\npositive = []\n");
        let edited = change(&text, 0, &REVIEWED).unwrap();
        let expected = format!(
            "{head}status = \"reviewed\"\n# who\nby = \"Dr A\"\non = \"2027-01-15\"\ndue = \"2027-11-30\"\n\n[examples]\npositive = []\n"
        );
        assert_eq!(edited.text, expected);
        assert_eq!((edited.before.status.as_str(), edited.after.by.as_deref()), ("unreviewed", Some("Dr A")));
        let withdrawn = change(&edited.text, 0, &ReviewChange::Withdrawn { due: None }).unwrap();
        assert_eq!(withdrawn.text, text, "withdrawn again, nothing is left of it");
    }

    #[test]
    fn a_key_is_changed_in_its_line() {
        let text =
            "language = \"en\"\nreview = { status = \"unreviewed\", due = \"2027-11-30\" } # x\nlimits = \"a\"\n";
        let due = ReviewChange::Reviewed { by: "Dr A", on: "2027-01-15", due: Some("2028-01-15") };
        let edited = change(text, 0, &due).unwrap();
        assert_eq!(
            edited.text,
            "language = \"en\"\nreview = { status = \"reviewed\", by = \"Dr A\", on = \"2027-01-15\", due = \"2028-01-15\" } # x\nlimits = \"a\"\n"
        );
    }

    #[test]
    fn the_entry_of_a_list_is_changed_and_no_other() {
        let rule = "[[rules]]\nid = \"b\"\nreview = { status = \"unreviewed\", due = \"2027-11-30\" }\n";
        let text = format!("{}{rule}", rule.replace("\"b\"", "\"a\""));
        let edited = change(&text, 3, &REVIEWED).unwrap();
        assert!(edited.text.starts_with("[[rules]]\nid = \"a\"\nreview = { status = \"unreviewed\""));
        assert!(edited.text.ends_with("by = \"Dr A\", on = \"2027-01-15\", due = \"2027-11-30\" }\n"));
    }

    #[test]
    fn a_record_without_a_review_is_refused() {
        assert!(change("id = \"a\"\n", 0, &REVIEWED).unwrap_err().contains("has no review"));
        assert!(change("[review]\nstatus = \"x\"\n", 0, &REVIEWED).unwrap_err().contains("`due`"));
    }

    #[test]
    fn days_are_days() {
        for day in ["2027-01-31", "2028-02-29", "2027-11-30"] {
            assert!(is_date(day), "{day}");
        }
        for wrong in ["2027-02-29", "2027-13-01", "2027-1-1", "31.01.2027", "", "2027-04-31", "1999-01-01"] {
            assert!(!is_date(wrong), "{wrong}");
        }
    }
}
