//! What deciders sign, and the nonces that make each signature good for one decision. Pure.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_auth::PublicKey;
use muster_core::guard::{QuorumRole, Risk};
use muster_core::{Error, Kind, Millis};
use serde_json::{Value, json};

/// Time for which a nonce is good.
pub const NONCE_TIME: Duration = Duration::from_secs(600);
/// Bytes of the authentication code in a nonce.
const MAC_BYTES: usize = 16;
/// Longest nonce, in bytes.
const MAX_NONCE: usize = 256;

/// The server's secret by which it knows its nonces again, and its name in signed bytes.
pub trait NonceKey: Send + Sync + std::fmt::Debug {
    /// Returns the identifier of this server, `ins_…`.
    fn instance(&self) -> String;

    /// Computes the authentication code of a message.
    fn mac(&self, message: &[u8]) -> [u8; 32];
}

/// What a nonce is good for: an approval, or an act such as a delegation.
#[derive(Debug, Clone, Copy)]
pub struct NonceSubject<'a> {
    /// Identifier of the approval, or name of the act.
    pub of: &'a str,
    /// The person who signs.
    pub person: &'a str,
    /// Number of what the person has signed about it.
    pub turn: u32,
}

/// A nonce that a client signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// `1.<server>.<person>.<unix end>.<turn>.<MAC>`.
    pub nonce: String,
    /// Time from which it is stale.
    pub expires_at: Millis,
}

fn code(key: &dyn NonceKey, server: &str, subject: NonceSubject<'_>, end: u64) -> String {
    // No part contains a zero byte, so that no two lists of parts have the same message.
    let (end, turn) = (end.to_string(), subject.turn.to_string());
    let parts = ["muster.nonce.v1", server, subject.of, subject.person, &end, &turn];
    let mac = key.mac(parts.join("\0").as_bytes());
    URL_SAFE_NO_PAD.encode(mac.get(..MAC_BYTES).unwrap_or_default())
}

/// Makes the nonce of a person's next signature about something.
pub fn challenge(key: &dyn NonceKey, subject: NonceSubject<'_>, now: Millis) -> Challenge {
    let (server, end) = (key.instance(), now.plus(NONCE_TIME).seconds());
    let mac = code(key, &server, subject, end);
    let nonce = format!("1.{server}.{}.{end}.{}.{mac}", subject.person, subject.turn);
    Challenge { nonce, expires_at: Millis(end.saturating_mul(1000)) }
}

/// Checks that a nonce was made by this server for this person's next signature, and is not stale.
///
/// # Errors
/// `Conflict` (`nonce_stale`).
pub fn check_nonce(key: &dyn NonceKey, nonce: &str, subject: NonceSubject<'_>, now: Millis) -> Result<(), Error> {
    let stale = || {
        let message = "the nonce is not for this signature, was used, or is older than 10 minutes: read the approval again \
                       and sign the nonce of its `challenge`";
        Error::new(Kind::Conflict, message).coded("nonce_stale")
    };
    let parts: Vec<&str> = nonce.split('.').collect();
    let ["1", server, person, end, turn, mac] = parts[..] else { return Err(stale()) };
    let known = nonce.len() <= MAX_NONCE && server == key.instance() && person == subject.person;
    let end_at = end.parse::<u64>().ok().filter(|at| at.to_string() == *end).ok_or_else(stale)?;
    if !known || turn != subject.turn.to_string() || now.seconds() >= end_at {
        return Err(stale());
    }
    if mac == code(key, server, subject, end_at) { Ok(()) } else { Err(stale()) }
}

/// What a decider signs of a decision: exactly these eight members.
#[derive(Debug, Clone, Copy)]
pub struct SignedDecision<'a> {
    /// Identifier of the approval.
    pub approval_id: &'a str,
    /// Action.
    pub action: &'a str,
    /// Resource.
    pub resource: &'a str,
    /// Risk.
    pub risk: Risk,
    /// Hash of the payload.
    pub payload_sha256: &'a str,
    /// `approve`, `reject` or `break_glass`.
    pub decision: &'a str,
    /// Name of the role.
    pub role: &'a str,
    /// The nonce.
    pub nonce: &'a str,
}

impl SignedDecision<'_> {
    /// Returns the bytes to sign: the RFC 8785 form.
    ///
    /// # Errors
    /// `Invalid` for a text without a canonical form.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        canonical(&json!({
            "approval_id": self.approval_id, "action": self.action, "resource": self.resource, "risk": self.risk,
            "payload_sha256": self.payload_sha256, "decision": self.decision, "role": self.role, "nonce": self.nonce,
        }))
    }
}

/// Returns the bytes by which a person proves to hold the key of a decider. `purpose` is `muster.decider` or
/// `muster.resume`.
///
/// # Errors
/// `Invalid`.
pub fn proof_bytes(purpose: &str, jkt: &str, roles: &[QuorumRole], server: &str, user: &str) -> Result<Vec<u8>, Error> {
    canonical(&json!({ "jkt": jkt, "purpose": purpose, "roles": roles, "server": server, "user": user }))
}

/// Returns the bytes that delegate a role.
///
/// # Errors
/// `Invalid`.
pub fn delegation_bytes(from: &str, to: &str, role: QuorumRole, until: Millis, nonce: &str) -> Result<Vec<u8>, Error> {
    canonical(&json!({ "from": from, "nonce": nonce, "role": role, "to": to, "until": until }))
}

/// Returns the RFC 8785 form of a value.
///
/// # Errors
/// `Invalid` for a value without one, such as one with an integer beyond 2^53 − 1.
pub fn canonical(value: &Value) -> Result<Vec<u8>, Error> {
    let text = muster_tlog::canonical::to_canonical(value);
    text.map(String::into_bytes).map_err(|error| Error::new(Kind::Invalid, format!("the payload: {error}")))
}

/// Verifies a signature in base64url, strictly.
///
/// # Errors
/// `Forbidden` (`signature_invalid`).
pub fn verify(key: &PublicKey, bytes: &[u8], signature: &str) -> Result<(), Error> {
    let decoded = URL_SAFE_NO_PAD.decode(signature).ok().and_then(|bytes| <[u8; 64]>::try_from(bytes).ok());
    if decoded.is_some_and(|signature| key.verifies(bytes, &signature)) {
        return Ok(());
    }
    let message = "the signature does not verify: sign the RFC 8785 form of exactly the members of this record, with a key \
                   that was enrolled before it was opened";
    Err(Error::new(Kind::Forbidden, message).coded("signature_invalid"))
}

#[cfg(test)]
pub(crate) mod tests {
    use muster_auth::PrivateKey;
    use sha2::{Digest, Sha256};

    use super::*;

    /// A nonce key of tests: the code is a hash with a secret prefix.
    #[derive(Debug)]
    pub(crate) struct TestKey(pub &'static str);

    impl NonceKey for TestKey {
        fn instance(&self) -> String {
            self.0.to_owned()
        }

        fn mac(&self, message: &[u8]) -> [u8; 32] {
            Sha256::new().chain_update(b"a secret").chain_update(message).finalize().into()
        }
    }

    const NOW: Millis = Millis(1_795_299_500_000);
    const SERVER: TestKey = TestKey("ins_01M7YDTJE1MZAKGMBTXXHWSY3W");

    /// The example of contract 6, section 4, with the seed `000102…1f`: its payload and bytes were made by rfc8785 and
    /// jcs, its signature by PyNaCl.
    #[test]
    fn the_example_of_the_contract_is_reproduced() {
        let payload = json!({
            "method": "POST", "path": "/api/v1/keys", "query": {}, "body": { "name": "ci", "scopes": ["admin"] },
        });
        let canonical = canonical(&payload).unwrap();
        let text = r#"{"body":{"name":"ci","scopes":["admin"]},"method":"POST","path":"/api/v1/keys","query":{}}"#;
        assert_eq!(canonical, text.as_bytes());
        let hash = "79129117d7c0deb8d20086dfe3eae67a995b3004e6ba1891c47af05d61f0a3b4";
        assert_eq!(format!("{:x}", Sha256::digest(&canonical)), hash);
        let nonce =
            "1.ins_01M7YDTJE1MZAKGMBTXXHWSY3W.usr_01M7ZC2GXH0005F7FKJW5QGHJ6.1795300000.0.DIpKxQVMTAj3ms0QfPOOuw";
        let signed = SignedDecision {
            approval_id: "apr_01M80CK5DR000F9XJ3699Z53V0",
            action: "key.grant",
            resource: "ci",
            risk: Risk::High,
            payload_sha256: hash,
            decision: "approve",
            role: "security",
            nonce,
        };
        let bytes = signed.bytes().unwrap();
        let expected = r#"{"action":"key.grant","approval_id":"apr_01M80CK5DR000F9XJ3699Z53V0","decision":"approve","nonce":"1.ins_01M7YDTJE1MZAKGMBTXXHWSY3W.usr_01M7ZC2GXH0005F7FKJW5QGHJ6.1795300000.0.DIpKxQVMTAj3ms0QfPOOuw","payload_sha256":"79129117d7c0deb8d20086dfe3eae67a995b3004e6ba1891c47af05d61f0a3b4","resource":"ci","risk":"high","role":"security"}"#;
        assert_eq!(String::from_utf8(bytes.clone()).unwrap(), expected);
        let seed: [u8; 32] = std::array::from_fn(|index| u8::try_from(index).unwrap());
        let key = PrivateKey::from_seed(&seed);
        let signature = "bi4ejBenJul3X--G8i9hx2mCpGN8FnV9uCe9cYtUFfHhBD0Gk4xxSiak6VA-Zb5O-qjgG91QifQcI15SyKLnAQ";
        assert_eq!(URL_SAFE_NO_PAD.encode(key.sign(&bytes)), signature, "Ed25519 is deterministic");
        verify(&key.public(), &bytes, signature).unwrap();
        for other in [
            SignedDecision { approval_id: "apr_01M80CK5DR000F9XJ3699Z53V1", ..signed },
            SignedDecision { role: "operations", ..signed },
            SignedDecision { risk: Risk::Critical, ..signed },
            SignedDecision { decision: "reject", ..signed },
            SignedDecision { resource: "cd", ..signed },
            SignedDecision { nonce: "1.ins_2", ..signed },
        ] {
            let error = verify(&key.public(), &other.bytes().unwrap(), signature).unwrap_err();
            assert_eq!(error.code, Some("signature_invalid"), "{other:?}");
        }
    }

    /// S + L is the same scalar, which a lax verifier accepts (RFC 8032, section 5.1.7 rejects it). The order of the group
    /// is 2^252 + 27742317777372353535851937790883648493.
    #[test]
    fn a_malleated_signature_and_a_key_of_small_order_are_rejected() {
        const L: [u8; 32] = [
            0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
        ];
        let key = PrivateKey::from_seed(&[7; 32]);
        let mut signature = key.sign(b"message");
        verify(&key.public(), b"message", &URL_SAFE_NO_PAD.encode(signature)).unwrap();
        let mut carry = 0_u16;
        for (byte, add) in signature[32..].iter_mut().zip(L) {
            let sum = u16::from(*byte) + u16::from(add) + carry;
            (*byte, carry) = ((sum & 0xff) as u8, sum >> 8);
        }
        assert_eq!(
            verify(&key.public(), b"message", &URL_SAFE_NO_PAD.encode(signature)).unwrap_err().code,
            Some("signature_invalid")
        );
        // The neutral element as key and R, S = 0: valid for every message without the check of the order.
        let mut neutral = [0; 32];
        neutral[0] = 1;
        let forged = [neutral, [0; 32]].concat();
        if let Ok(key) = PublicKey::from_bytes(&neutral) {
            assert!(verify(&key, b"message", &URL_SAFE_NO_PAD.encode(forged)).is_err());
        }
    }

    #[test]
    fn a_nonce_is_good_for_one_server_approval_person_and_turn_and_for_ten_minutes() {
        let subject = NonceSubject { of: "apr_1", person: "usr_1", turn: 0 };
        let Challenge { nonce, expires_at } = challenge(&SERVER, subject, NOW);
        assert_eq!(nonce.split('.').next_back().map(str::len), Some(22), "16 bytes");
        assert_eq!(expires_at, Millis(NOW.0 + 600_000));
        let code = |key: &TestKey, nonce: &str, subject, now| {
            check_nonce(key, nonce, subject, now).map_or_else(|error| error.code.unwrap(), |()| "good")
        };
        assert_eq!(code(&SERVER, &nonce, subject, NOW), "good");
        assert_eq!(code(&SERVER, &nonce, subject, Millis(NOW.0 + 599_999)), "good");
        assert_eq!(code(&SERVER, &nonce, subject, expires_at), "nonce_stale");
        assert_eq!(code(&TestKey("ins_2"), &nonce, subject, NOW), "nonce_stale");
        for other in [
            NonceSubject { of: "apr_2", ..subject },
            NonceSubject { person: "usr_2", ..subject },
            NonceSubject { turn: 1, ..subject },
        ] {
            assert_eq!(code(&SERVER, &nonce, other, NOW), "nonce_stale", "{other:?}");
        }
        let end = expires_at.seconds().to_string();
        for altered in
            [nonce.replace(&end, "9999999999"), nonce.replace(".0.", ".00."), format!("{nonce}A"), String::new()]
        {
            assert_eq!(code(&SERVER, &altered, subject, NOW), "nonce_stale", "{altered}");
        }
    }
}
