//! q206: Ed25519 signatures.

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use muster_engine::prelude::*;
use sha2_11::{Digest as _, Sha256};

use crate::hex;

/// Input of the engine.
#[derive(Debug, Input)]
pub struct Input {
    operation: Operation,
    data: Option<Bytes>,
    secret_key: Option<Bytes>,
    public_key: Option<Bytes>,
    signature: Option<Bytes>,
    seed: Option<Bytes>,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Operation {
    Sign,
    Verify,
    Keygen,
}

/// Output of the engine. A new secret key is only made from a seed, which the caller has: it is the secret key.
#[derive(Debug, Output)]
pub struct Output {
    signature: Option<Bytes>,
    public_key: Bytes,
    valid: Option<bool>,
    fingerprint: String,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    match input.operation {
        Operation::Sign => {
            let key = SigningKey::from_bytes(&bytes("secret_key", input.secret_key)?);
            let data = input.data.ok_or_else(|| Failure::invalid(&["data"], "is needed to sign"))?;
            let public = input.public_key.filter(|public| public.0 != key.verifying_key().to_bytes());
            if public.is_some() {
                return Err(Failure::invalid(&["public_key"], "is not that of the secret key"));
            }
            Ok(output(&key.verifying_key(), Some(key.sign(&data.0)), None))
        }
        Operation::Verify => {
            let key = VerifyingKey::from_bytes(&bytes("public_key", input.public_key)?)
                .map_err(|_| Failure::invalid(&["public_key"], "is no point of the curve"))?;
            let data = input.data.ok_or_else(|| Failure::invalid(&["data"], "is needed to verify"))?;
            let signature = Signature::from_bytes(&bytes("signature", input.signature)?);
            Ok(output(&key, None, Some(key.verify_strict(&data.0, &signature).is_ok())))
        }
        Operation::Keygen => {
            let seed = input.seed.ok_or_else(|| {
                Failure::invalid(
                    &["seed"],
                    "is needed: 32 random bytes, which are the secret key; the output never holds one",
                )
            })?;
            cx.warn("secret: the seed is the secret key; keep it as one");
            Ok(output(&SigningKey::from_bytes(&bytes("seed", Some(seed))?).verifying_key(), None, None))
        }
    }
}

fn bytes<const N: usize>(name: &str, value: Option<Bytes>) -> Result<[u8; N], Failure> {
    let value = value.ok_or_else(|| Failure::invalid(&[name], "is needed for this operation"))?;
    value.0.try_into().map_err(|_| Failure::invalid(&[name], format!("must have {N} bytes")))
}

fn output(key: &VerifyingKey, signature: Option<Signature>, valid: Option<bool>) -> Output {
    let public = key.to_bytes();
    Output {
        signature: signature.map(|signature| Bytes(signature.to_bytes().to_vec())),
        fingerprint: format!("SHA256:{}", hex::encode(&Sha256::digest(public))),
        public_key: Bytes(public.to_vec()),
        valid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty(operation: Operation) -> Input {
        Input { operation, data: None, secret_key: None, public_key: None, signature: None, seed: None }
    }

    #[test]
    fn a_signature_verifies_and_each_flipped_bit_does_not() {
        let data = || Some(Bytes(b"firmware 1.2.3".to_vec()));
        let sign = Input { data: data(), secret_key: Some(Bytes(vec![9; 32])), ..empty(Operation::Sign) };
        let signed = run(sign, &Context::default()).unwrap();
        let verify = |signature: Vec<u8>| {
            let public_key = Some(signed.public_key.clone());
            let input =
                Input { data: data(), public_key, signature: Some(Bytes(signature)), ..empty(Operation::Verify) };
            run(input, &Context::default()).unwrap().valid
        };
        let signature = signed.signature.unwrap().0;
        assert_eq!(verify(signature.clone()), Some(true));
        for bit in 0..signature.len() * 8 {
            let mut flipped = signature.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(verify(flipped), Some(false));
        }
    }
}
