//! Decodes the output of the recognizer (Graves et al. 2006, "Connectionist temporal classification"): best path.

/// The text of a line.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Reading {
    pub(super) text: String,
    /// Mean probability of the characters, 0 without any.
    pub(super) score: f32,
}

/// The characters of the model by class. Class 0 is the blank.
#[derive(Debug)]
pub(super) struct Characters(Vec<String>);

impl Characters {
    /// Reads the table: one character a line, the first line is the blank.
    pub(super) fn parse(text: &str) -> Self {
        Self(
            text.split('\n')
                .map(|line| line.trim_end_matches('\r').to_owned())
                .filter(|line| !line.is_empty())
                .collect(),
        )
    }

    /// Number of classes.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Decodes the probabilities of a line: all classes of the first time step, then of the next.
    pub(super) fn decode(&self, probabilities: &[f32]) -> Reading {
        let mut reading = Reading::default();
        let (mut sum, mut count, mut previous) = (0.0, 0_u16, 0);
        for step in probabilities.chunks_exact(self.len().max(1)) {
            let (class, probability) = greatest(step);
            if class != 0 && class != previous {
                reading.text.push_str(self.0.get(class).map_or("", |character| character));
                sum += probability;
                count = count.saturating_add(1);
            }
            previous = class;
        }
        if count > 0 {
            reading.score = sum / f32::from(count);
        }
        reading
    }
}

fn greatest(step: &[f32]) -> (usize, f32) {
    let mut best = (0, f32::NEG_INFINITY);
    for (class, probability) in step.iter().enumerate() {
        if *probability > best.1 {
            best = (class, *probability);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLANK: [f32; 4] = [0.7, 0.1, 0.1, 0.1];
    const A: [f32; 4] = [0.1, 0.8, 0.05, 0.05];
    const B: [f32; 4] = [0.0, 0.1, 0.6, 0.3];
    const SPACE: [f32; 4] = [0.0, 0.0, 0.0, 1.0];

    #[test]
    fn repeats_collapse_unless_a_blank_stands_between() {
        let characters = Characters::parse("blank\na\nb\n \n");
        assert_eq!(characters.len(), 4);
        let reading = characters.decode(&[BLANK, A, A, BLANK, A, SPACE, B, B, BLANK].concat());
        assert_eq!(reading.text, "aa b");
        assert!((reading.score - (0.8 + 0.8 + 1.0 + 0.6) / 4.0).abs() < 1e-6);
    }

    #[test]
    fn blanks_alone_are_an_empty_line() {
        let characters = Characters::parse("blank\na\nb\n ");
        assert_eq!(characters.decode(&[BLANK, BLANK].concat()), Reading::default());
        assert_eq!(characters.decode(&[]), Reading::default());
    }
}
