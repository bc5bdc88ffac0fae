//! The WHO's growth standards: L, M and S by age and by length.

use std::sync::LazyLock;

use crate::support::Sex;

static WEIGHT_FOR_AGE: LazyLock<Table> = LazyLock::new(|| read(include_str!("../../data/who_weight_for_age.csv")));
static HEIGHT_FOR_AGE: LazyLock<Table> = LazyLock::new(|| read(include_str!("../../data/who_height_for_age.csv")));
static WEIGHT_FOR_LENGTH: LazyLock<Table> =
    LazyLock::new(|| read(include_str!("../../data/who_weight_for_length.csv")));
static WEIGHT_FOR_HEIGHT: LazyLock<Table> =
    LazyLock::new(|| read(include_str!("../../data/who_weight_for_height.csv")));

/// Rows of a key and L, M and S of boys and of girls, by key.
type Table = Vec<[f64; 7]>;

/// Power, median and variation at a place of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lms {
    l: f64,
    m: f64,
    s: f64,
}

fn read(text: &str) -> Table {
    let row = |line: &str| -> Option<[f64; 7]> {
        let cells: Vec<f64> = line.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
        cells.try_into().ok()
    };
    text.lines().skip(2).filter_map(row).collect()
}

/// L, M and S at a key, straight between two rows; none outside of the table.
fn at(table: &Table, sex: Sex, key: f64) -> Option<Lms> {
    let after = table.partition_point(|[row, ..]| *row <= key);
    let before = table.get(after.checked_sub(1)?)?;
    let of = |row: &[f64; 7]| match sex {
        Sex::Male => [row[1], row[2], row[3]],
        Sex::Female => [row[4], row[5], row[6]],
    };
    let [l, m, s] = match table.get(after) {
        Some(next) => {
            let part = (key - before[0]) / (next[0] - before[0]);
            let ([l, m, s], [next_l, next_m, next_s]) = (of(before), of(next));
            [l + part * (next_l - l), m + part * (next_m - m), s + part * (next_s - s)]
        }
        None if key == before[0] => of(before),
        None => return None,
    };
    Some(Lms { l, m, s })
}

impl Lms {
    /// Value at a number of deviations.
    fn value(self, z: f64) -> f64 {
        if self.l == 0.0 {
            self.m * (self.s * z).exp()
        } else {
            self.m * (1.0 + self.l * self.s * z).powf(1.0 / self.l)
        }
    }

    /// Deviations of a value: beyond 3 in steps of the distance from 2 to 3 (WHO 2006, chapter 7).
    pub(crate) fn z(self, value: f64) -> f64 {
        let ratio = value / self.m;
        let z = if self.l == 0.0 { ratio.ln() / self.s } else { (ratio.powf(self.l) - 1.0) / (self.l * self.s) };
        if z > 3.0 {
            3.0 + (value - self.value(3.0)) / (self.value(3.0) - self.value(2.0))
        } else if z < -3.0 {
            -3.0 + (value - self.value(-3.0)) / (self.value(-2.0) - self.value(-3.0))
        } else {
            z
        }
    }
}

pub(crate) fn weight_for_age(sex: Sex, days: f64) -> Option<Lms> {
    at(&WEIGHT_FOR_AGE, sex, days)
}

pub(crate) fn height_for_age(sex: Sex, days: f64) -> Option<Lms> {
    at(&HEIGHT_FOR_AGE, sex, days)
}

/// By length below two years, by height from then on.
pub(crate) fn weight_for_size(sex: Sex, cm: f64, lying: bool) -> Option<Lms> {
    at(if lying { &WEIGHT_FOR_LENGTH } else { &WEIGHT_FOR_HEIGHT }, sex, cm)
}

/// Mean of the medians of boys and girls in kg, by length to 86 cm and by height above.
pub(crate) fn median_weight(cm: f64) -> Option<f64> {
    let lying = cm < 86.0;
    let median = |sex| weight_for_size(sex, cm, lying).map(|lms| lms.m);
    Some((median(Sex::Male)? + median(Sex::Female)?) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_complete() {
        for (table, rows) in
            [(&*WEIGHT_FOR_AGE, 1827), (&HEIGHT_FOR_AGE, 1857), (&WEIGHT_FOR_LENGTH, 651), (&WEIGHT_FOR_HEIGHT, 551)]
        {
            assert_eq!(table.len(), rows);
            assert!(table.is_sorted_by(|a, b| a[0] < b[0]));
        }
    }

    #[test]
    fn the_deviations_are_continuous_and_rise() {
        for sex in [Sex::Female, Sex::Male] {
            let lms = weight_for_age(sex, 365.0).unwrap_or(Lms { l: 0.0, m: 0.0, s: 0.0 });
            let mut before = lms.z(0.45);
            for step in 10..400 {
                let z = lms.z(f64::from(step) * 0.05);
                assert!(z > before && z - before < 1.0, "{step}");
                before = z;
            }
        }
    }
}
