//! Mondrian (LeFevre, DeWitt, Ramakrishnan 2006): cuts along the widest column while every part keeps k rows.

use super::column::{Class, Column};

pub(super) struct Parted {
    pub(super) classes: Vec<Class>,
    pub(super) suppressed: usize,
}

/// At most `budget` rows are suppressed: all of them if there are fewer than k, and those of the smallest children if a
/// class could not be cut otherwise.
pub(super) fn part(columns: &[Column], rows: usize, k: usize, budget: usize) -> Parted {
    if rows < k {
        return Parted { classes: vec![], suppressed: rows };
    }
    let mut parted = Parted { classes: vec![], suppressed: 0 };
    let mut open: Vec<Class> = vec![(0..rows).collect()];
    while let Some(class) = open.pop() {
        let spare = budget.saturating_sub(parted.suppressed);
        match cut(columns, &class, k, spare) {
            Some(parts) => {
                let kept: usize = parts.iter().map(Vec::len).sum();
                parted.suppressed = parted.suppressed.saturating_add(class.len().saturating_sub(kept));
                open.extend(parts);
            }
            None => parted.classes.push(class),
        }
    }
    parted.classes.sort();
    parted
}

/// Returns the parts with at least k rows; `None` if no column can be cut.
fn cut(columns: &[Column], class: &[usize], k: usize, spare: usize) -> Option<Vec<Class>> {
    if class.len() < k.saturating_mul(2) && spare == 0 {
        return None;
    }
    let mut widest: Vec<(f64, &Column)> = columns.iter().map(|column| (column.width(class), column)).collect();
    // Stable: of equally wide columns the first.
    widest.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let splits: Vec<Vec<Class>> = widest.iter().map(|(_, column)| column.split(class)).collect();
    let whole = splits.iter().find(|parts| parts.len() > 1 && parts.iter().all(|part| part.len() >= k));
    if let Some(parts) = whole {
        return Some(parts.clone());
    }
    splits.into_iter().find_map(|parts| {
        let (kept, small): (Vec<Class>, Vec<Class>) = parts.into_iter().partition(|part| part.len() >= k);
        let lost: usize = small.iter().map(Vec::len).sum();
        (!kept.is_empty() && lost > 0 && lost <= spare).then_some(kept)
    })
}
