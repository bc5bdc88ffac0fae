//! Ids of tool calls: generated if a server sends none, shortened if one accepts no others.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::Call;

/// Generates ids for the calls of one answer. Two answers of one conversation get different ones, because each later
/// one follows more messages.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ids {
    seed: u64,
}

impl Ids {
    pub(super) fn of(call: &Call) -> Self {
        Self { seed: hash((&call.request_id, call.request.messages.len())) }
    }

    pub(super) fn make(self, choice: u32, call: u32) -> String {
        format!("call_{:016x}", hash((self.seed, choice, call)))
    }
}

fn hash(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

const SHORT: usize = 9;
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Converts an id to Mistral's form: nine letters or digits. Equal ids stay equal, so that a call and its result still
/// match.
pub(super) fn nine_letters(id: &str) -> Cow<'_, str> {
    if id.len() == SHORT && id.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return Cow::Borrowed(id);
    }
    let mut rest = hash(id);
    let letter = |_| {
        let (high, low) = (rest / 62, rest % 62);
        rest = high;
        usize::try_from(low).ok().and_then(|at| LETTERS.get(at)).map_or('0', |b| char::from(*b))
    };
    Cow::Owned((0..SHORT).map(letter).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_of_nine_letters_are_kept_and_others_mapped() {
        assert_eq!(nine_letters("D681PevKs"), "D681PevKs");
        for id in ["call_abc123", "", "D681PevK-", "toolu_01A09q90qw90lq917835lq9"] {
            let short = nine_letters(id);
            assert!(short.len() == 9 && short.bytes().all(|b| b.is_ascii_alphanumeric()), "{short}");
            assert_eq!(short, nine_letters(id));
        }
        assert_ne!(nine_letters("call_1"), nine_letters("call_2"));
    }

    #[test]
    fn each_call_of_each_choice_has_its_own_identifier() {
        let made: std::collections::HashSet<String> =
            (0..4).flat_map(|choice| (0..8).map(move |call| Ids { seed: 1 }.make(choice, call))).collect();
        assert_eq!(made.len(), 32);
        assert_ne!(Ids { seed: 1 }.make(0, 0), Ids { seed: 2 }.make(0, 0));
    }
}
