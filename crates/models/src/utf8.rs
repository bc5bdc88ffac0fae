//! Joins the bytes of tokens to whole characters: a token may end in the middle of one.

/// Holds back the bytes of an incomplete character (at most 3).
#[derive(Debug, Default)]
pub(crate) struct Utf8Buffer {
    pending: Vec<u8>,
}

impl Utf8Buffer {
    /// Appends bytes and returns the completed characters; invalid bytes become U+FFFD.
    ///
    /// An incomplete character at the end of the text is dropped with the buffer.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::new();
        let mut unfinished = 0;
        let mut chunks = self.pending.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            if chunk.invalid().is_empty() {
                continue;
            }
            if chunks.peek().is_none() && is_prefix(chunk.invalid()) {
                unfinished = chunk.invalid().len();
            } else {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.pending.drain(..self.pending.len() - unfinished);
        text
    }
}

/// Returns whether more bytes could complete a character.
fn is_prefix(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Utf8Buffer;

    #[test]
    fn incomplete_characters_are_held_back() {
        let mut buffer = Utf8Buffer::default();
        let euro = "€".as_bytes();
        assert_eq!(buffer.push(&euro[..1]), "");
        assert_eq!(buffer.push(&euro[1..2]), "");
        assert_eq!(buffer.push(&euro[2..]), "€");
    }

    #[test]
    fn invalid_bytes_become_replacement_characters() {
        let mut buffer = Utf8Buffer::default();
        assert_eq!(buffer.push(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(buffer.push(b"\xe2\x82"), "");
        assert_eq!(buffer.push(b"x"), "\u{fffd}x");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn any_cut_of_a_text_gives_the_text(text in "\\PC{0,40}", cuts in prop::collection::vec(0_usize..160, 0..8)) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.push(bytes.len());
            cuts.sort_unstable();
            let (mut buffer, mut got, mut from) = (Utf8Buffer::default(), String::new(), 0);
            for to in cuts {
                got.push_str(&buffer.push(&bytes[from..to]));
                from = to;
            }
            prop_assert_eq!(got, text);
        }

        #[test]
        fn any_bytes_in_any_pieces_give_what_the_standard_library_makes_of_them(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..8),
        ) {
            let mut buffer = Utf8Buffer::default();
            let mut got: String = pieces.iter().map(|piece| buffer.push(piece)).collect();
            // A character that ends the text flushes the held bytes.
            got.push_str(&buffer.push(b"."));
            let mut whole = pieces.concat();
            whole.push(b'.');
            prop_assert_eq!(got, String::from_utf8_lossy(&whole).into_owned());
        }
    }
}
