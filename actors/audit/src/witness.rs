//! Witnesses: other servers that cosign checkpoints, and refuse to where a log has two histories (C2SP tlog-witness).

use futures::future::BoxFuture;
use muster_tlog::{Hash, VerifierKey};

/// Why a witness did not cosign.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WitnessError {
    /// The witness knows another size: the proof must begin there.
    #[error("it has seen {0} entries")]
    Size(u64),
    /// Any other reason.
    #[error("{0}")]
    Refused(String),
}

/// A witness.
pub trait Witness: Send + Sync + std::fmt::Debug {
    /// Returns the key of its cosignatures.
    fn key(&self) -> &VerifierKey;

    /// Submits a checkpoint with the proof that it continues the tree of `old` entries. Returns the lines of its
    /// cosignatures.
    fn add_checkpoint(
        &self,
        old: u64,
        proof: Vec<Hash>,
        note: String,
    ) -> BoxFuture<'static, Result<String, WitnessError>>;
}

/// Returns the body of a request: the old size, the proof, and the note.
#[must_use]
pub fn request_body(old: u64, proof: &[Hash], note: &str) -> String {
    let path: String = proof.iter().map(|hash| format!("{hash}\n")).collect();
    format!("old {old}\n{path}\n{note}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_old_size_the_proof_and_the_note() {
        // The form of C2SP tlog-witness, "add-checkpoint".
        let proof = [Hash::of_leaf(b"a"), Hash::of_leaf(b"b")];
        let body = request_body(20_852_014, &proof, "origin\n1\nroot\n\n— x y\n");
        let expected = format!("old 20852014\n{}\n{}\n\norigin\n1\nroot\n\n— x y\n", proof[0], proof[1]);
        assert_eq!(body, expected);
        assert_eq!(request_body(0, &[], "n\n"), "old 0\n\nn\n");
    }
}
