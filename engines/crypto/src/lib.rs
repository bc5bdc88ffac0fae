//! Engines of the family crypto. Cryptography & encoding: q203 to q213.

#![warn(missing_docs)]

mod aead_seal;
mod base32;
mod compress;
mod digest;
mod encode_decode;
mod firmware_delta;
mod hex;
mod hmac_sign;
mod key_derive;
mod merkle_proof;
mod one_time_code;
mod percent;
mod secret_share;
mod signature_verify;

muster_engine::family!("crypto";
    203 digest,
    204 hmac_sign,
    205 aead_seal,
    206 signature_verify,
    207 key_derive,
    208 one_time_code,
    209 secret_share,
    210 merkle_proof,
    211 encode_decode,
    212 compress,
    213 firmware_delta,
);
