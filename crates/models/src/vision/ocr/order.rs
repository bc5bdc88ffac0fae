//! Reading order: rows from top to bottom after the page is deskewed, and within a row from left to right.

use crate::vision::geometry::LineBox;

/// A line of text that was read.
#[derive(Debug, Clone)]
pub(super) struct ReadLine {
    pub(super) place: LineBox,
    pub(super) text: String,
    pub(super) score: f32,
}

/// Share of the lower of two heights by which the middles of lines in a row may differ.
const ROW_TOLERANCE: f32 = 0.5;

/// Groups lines into rows, in reading order.
pub(super) fn rows<'a>(lines: &[&'a ReadLine]) -> Vec<Vec<&'a ReadLine>> {
    let angle = skew(lines);
    let (sine, cosine) = angle.sin_cos();
    let deskewed = |line: &'a ReadLine| {
        let [x, y] = line.place.center;
        (x * cosine + y * sine, y * cosine - x * sine, line)
    };
    let mut places: Vec<(f32, f32, &ReadLine)> = lines.iter().map(|line| deskewed(line)).collect();
    places.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut rows: Vec<Vec<(f32, f32, &ReadLine)>> = Vec::new();
    for place in places {
        let row = rows.last_mut().filter(|row| row.iter().all(|other| is_same_row(other, &place)));
        match row {
            Some(row) => row.push(place),
            None => rows.push(vec![place]),
        }
    }
    let ordered = |mut row: Vec<(f32, f32, &'a ReadLine)>| {
        row.sort_by(|a, b| a.0.total_cmp(&b.0));
        row.into_iter().map(|(_, _, line)| line).collect()
    };
    rows.into_iter().map(ordered).collect()
}

fn is_same_row(a: &(f32, f32, &ReadLine), b: &(f32, f32, &ReadLine)) -> bool {
    let height = |line: &ReadLine| line.place.height.min(line.place.length);
    (a.1 - b.1).abs() < ROW_TOLERANCE * height(a.2).min(height(b.2))
}

/// The text of a row.
pub(super) fn joined(row: &[&ReadLine]) -> String {
    row.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// Median angle of the lines in radians, each weighted by its length. Columns do not count.
fn skew(lines: &[&ReadLine]) -> f32 {
    let mut angles: Vec<(f32, f32)> = lines
        .iter()
        .map(|line| &line.place)
        .filter(|place| place.angle().abs() < 45.0 && place.length > place.height)
        .map(|place| (place.angle().to_radians(), place.length))
        .collect();
    angles.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = angles.iter().map(|(_, length)| length).sum::<f32>() / 2.0;
    let mut sum = 0.0;
    let median = angles.iter().find(|(_, length)| {
        sum += length;
        sum >= half
    });
    median.map_or(0.0, |(angle, _)| *angle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, x: f32, y: f32, degrees: f32) -> ReadLine {
        let (sine, cosine) = degrees.to_radians().sin_cos();
        // The page turns around its origin, so that places and directions agree.
        let center = [x * cosine - y * sine, x * sine + y * cosine];
        let place = LineBox { center, along: [cosine, sine], length: 100.0, height: 20.0 };
        ReadLine { place, text: text.to_owned(), score: 1.0 }
    }

    fn text_of(lines: &[ReadLine]) -> String {
        let lines: Vec<&ReadLine> = lines.iter().collect();
        rows(&lines).iter().map(|row| joined(row)).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn rows_go_down_and_pieces_of_a_row_from_left_to_right() {
        let lines = [line("three", 50.0, 80.0, 0.0), line("two", 900.0, 13.0, 0.0), line("one", 50.0, 10.0, 0.0)];
        assert_eq!(text_of(&lines), "one two\nthree");
    }

    #[test]
    fn a_skewed_page_is_deskewed_first() {
        // Five degrees over 800 pixels are 70 pixels: more than two lines.
        for degrees in [-5.0, 5.0] {
            let places = [("a", 50.0, 10.0), ("b", 850.0, 10.0), ("c", 50.0, 40.0), ("d", 850.0, 40.0)];
            let lines = places.map(|(text, x, y)| line(text, x, y, degrees));
            assert_eq!(text_of(&lines), "a b\nc d");
        }
    }

    #[test]
    fn nothing_is_ordered_into_nothing() {
        assert_eq!(text_of(&[]), "");
    }
}
