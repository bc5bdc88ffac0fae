//! Tokens, proofs of possession and passwords: pure functions over bytes and times. Knows nobody.
