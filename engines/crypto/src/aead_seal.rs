//! q205: authenticated encryption.

use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{Aead, KeyInit, Nonce, Payload};
use argon2::{Algorithm as Argon2Algorithm, Argon2, Params, Version};
use chacha20poly1305::ChaCha20Poly1305;
use muster_engine::prelude::*;

/// Input of the engine; defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    operation: Operation,
    data: Bytes,
    key: Option<Bytes>,
    passphrase: Option<String>,
    algorithm: Algorithm,
    nonce: Option<Bytes>,
    aad: Option<Bytes>,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Operation {
    Seal,
    Open,
}

/// Ciphers, both with a key of 32 bytes, a nonce of 12 and a tag of 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Algorithm {
    #[wire(name = "aes-256-gcm")]
    Aes256Gcm,
    #[wire(name = "chacha20-poly1305")]
    ChaCha20Poly1305,
}

/// Output of the engine. What is opened is the sealed data followed by the tag.
#[derive(Debug, Output)]
pub struct Output {
    data: Bytes,
    nonce: Bytes,
    tag: Option<Bytes>,
    header: Option<String>,
}

const NONCE: usize = 12;
const TAG: usize = 16;
/// Memory in KiB, passes and lanes of Argon2id (RFC 9106 recommends more memory than a call may use).
const DERIVATION: (u32, u32, u32) = (19_456, 2, 1);
const MAX_BYTES: usize = 32 << 20;

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.data.0.len() > MAX_BYTES {
        return Err(Failure::too_large(format!("at most {MAX_BYTES} bytes at a time")));
    }
    let nonce = match (&input.nonce, input.operation) {
        (Some(nonce), _) if nonce.0.len() == NONCE => nonce.0.clone(),
        (Some(_), _) => return Err(Failure::invalid(&["nonce"], "must have 12 bytes")),
        (None, Operation::Open) => {
            return Err(Failure::invalid(&["nonce"], "is needed to open: it is in the output of seal"));
        }
        (None, Operation::Seal) => {
            let mut nonce = vec![0; NONCE];
            getrandom::fill(&mut nonce).map_err(Failure::internal)?;
            nonce
        }
    };
    let (key, header) = key(&input, &nonce)?;
    if input.nonce.is_some() && input.operation == Operation::Seal {
        cx.warn("nonce: never seal two messages with one key and nonce, both would be exposed");
    }
    let aad = input.aad.as_ref().map(|aad| aad.0.as_slice()).unwrap_or_default();
    let payload = Payload { msg: &input.data.0, aad };
    let done = match input.algorithm {
        Algorithm::Aes256Gcm => cipher::<Aes256Gcm>(&key, &nonce, payload, input.operation),
        Algorithm::ChaCha20Poly1305 => cipher::<ChaCha20Poly1305>(&key, &nonce, payload, input.operation),
    };
    let mut data = done.ok_or_else(|| match input.operation {
        Operation::Seal => Failure::internal("the cipher failed"),
        Operation::Open => {
            Failure::invalid(&["data"], "was not sealed with this key, nonce and associated data, or was changed")
        }
    })?;
    let tag = match input.operation {
        Operation::Seal => Some(Bytes(data.split_off(data.len().saturating_sub(TAG)))),
        Operation::Open => None,
    };
    Ok(Output { data: Bytes(data), nonce: Bytes(nonce), tag, header })
}

/// Key of the call, and the text that says how a passphrase made it.
fn key(input: &Input, nonce: &[u8]) -> Result<(Vec<u8>, Option<String>), Failure> {
    match (&input.key, &input.passphrase) {
        (Some(key), None) if key.0.len() == 32 => Ok((key.0.clone(), None)),
        (Some(_), None) => Err(Failure::invalid(&["key"], "must have 32 bytes")),
        (None, Some(passphrase)) if !passphrase.is_empty() => {
            let (memory, passes, lanes) = DERIVATION;
            let params = Params::new(memory, passes, lanes, Some(32)).map_err(Failure::internal)?;
            let mut key = vec![0; 32];
            // The nonce is fresh for each message, so it is a salt too.
            Argon2::new(Argon2Algorithm::Argon2id, Version::V0x13, params)
                .hash_password_into(passphrase.as_bytes(), nonce, &mut key)
                .map_err(Failure::internal)?;
            Ok((key, Some(format!("argon2id,v=19,m={memory},t={passes},p={lanes},salt=nonce"))))
        }
        _ => Err(Failure::invalid(&["key"], "give either key or passphrase")),
    }
}

fn cipher<C: Aead + KeyInit>(
    key: &[u8],
    nonce: &[u8],
    payload: Payload<'_, '_>,
    operation: Operation,
) -> Option<Vec<u8>> {
    let cipher = C::new_from_slice(key).ok()?;
    let nonce = Nonce::<C>::try_from(nonce).ok()?;
    match operation {
        Operation::Seal => cipher.encrypt(&nonce, payload).ok(),
        Operation::Open => cipher.decrypt(&nonce, payload).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(operation: Operation, data: Vec<u8>, algorithm: Algorithm, aad: &[u8]) -> Result<Output, Failure> {
        let input = Input {
            operation,
            data: Bytes(data),
            key: Some(Bytes(vec![7; 32])),
            passphrase: None,
            algorithm,
            nonce: Some(Bytes(vec![1; 12])),
            aad: Some(Bytes(aad.to_vec())),
        };
        run(input, &Context::default())
    }

    #[test]
    fn what_is_sealed_opens_and_each_flipped_bit_does_not() {
        for algorithm in [Algorithm::Aes256Gcm, Algorithm::ChaCha20Poly1305] {
            let sealed = call(Operation::Seal, b"order 66".to_vec(), algorithm, b"to: all").unwrap();
            let mut data = sealed.data.0;
            data.extend(sealed.tag.unwrap().0);
            assert_eq!(call(Operation::Open, data.clone(), algorithm, b"to: all").unwrap().data.0, b"order 66");
            assert!(call(Operation::Open, data.clone(), algorithm, b"to: one").is_err());
            for bit in 0..data.len() * 8 {
                let mut flipped = data.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(call(Operation::Open, flipped, algorithm, b"to: all").is_err());
            }
        }
    }

    #[test]
    fn a_passphrase_opens_what_it_sealed() {
        let call = |operation, data: Vec<u8>, nonce, passphrase: &str| {
            let passphrase = Some(passphrase.to_owned());
            let algorithm = Algorithm::ChaCha20Poly1305;
            run(
                Input { operation, data: Bytes(data), key: None, passphrase, algorithm, nonce, aad: None },
                &Context::default(),
            )
        };
        let sealed = call(Operation::Seal, b"x".to_vec(), None, "correct horse").unwrap();
        let data = [sealed.data.0, sealed.tag.unwrap().0].concat();
        assert_eq!(
            call(Operation::Open, data.clone(), Some(sealed.nonce.clone()), "correct horse").unwrap().data.0,
            b"x"
        );
        assert!(call(Operation::Open, data, Some(sealed.nonce), "wrong horse").is_err());
    }
}
