//! q133: JWT inspection and verification.

mod checks;
mod keys;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, JwkSet};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use muster_engine::prelude::*;

/// Maximum length of a token and of a key, in bytes.
const MAX: usize = 65_536;

/// Input of the engine. Without `Debug`, which would write the key.
#[derive(Input)]
pub struct Input {
    token: String,
    key: Option<String>,
    jwks: Option<Value>,
    audience: Option<String>,
    issuer: Option<String>,
    now: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
enum Signature {
    Valid,
    Invalid,
    Unchecked,
}

#[derive(Debug, Output)]
pub struct Output {
    header: Value,
    claims: Value,
    signature: Signature,
    problems: Vec<Problem>,
    expires_in_s: Option<f64>,
}

#[derive(Debug, Output)]
struct Problem {
    code: &'static str,
    severity: Severity,
    message: String,
}

/// Problems that were found so far.
#[derive(Default)]
struct Problems(Vec<Problem>);

impl Problems {
    fn add(&mut self, severity: Severity, code: &'static str, message: impl Into<String>) {
        self.0.push(Problem { code, severity, message: message.into() });
    }
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.token.len() > MAX || input.key.as_ref().is_some_and(|key| key.len() > MAX) {
        return Err(Failure::too_large(format!("token and key may have {MAX} bytes each")));
    }
    let token = input.token.trim();
    let parts: Vec<&str> = token.split('.').collect();
    let [head, body, signature] = parts.as_slice() else {
        let why = match parts.len() {
            5 => "is encrypted (JWE): only signed tokens (JWS) can be read",
            _ => "must have three parts with dots between them: header.payload.signature",
        };
        return Err(Failure::invalid(&["token"], why));
    };
    let header =
        object(head).ok_or_else(|| Failure::invalid(&["token"], "the header must be a JSON object in base64url"))?;
    let claims =
        object(body).ok_or_else(|| Failure::invalid(&["token"], "the payload must be a JSON object in base64url"))?;
    let mut problems = Problems::default();
    checks::header(&header, &mut problems);
    let algorithm = algorithm(&header, &mut problems);
    let message = token.rsplit_once('.').map_or("", |(message, _)| message);
    let check = Check { algorithm, message, signature, header: &header };
    let verified = check.verify(&input, &mut problems)?;
    match verified {
        Signature::Valid => {}
        Signature::Invalid => problems.add(
            Severity::Critical,
            "signature-invalid",
            "the signature is not that of the key: reject the token",
        ),
        Signature::Unchecked => problems.add(
            Severity::Info,
            "signature-unchecked",
            "the signature was not checked: the claims prove nothing",
        ),
    }
    let expires_in_s = checks::claims(&claims, &input, &mut problems);
    if input.now.is_none() {
        cx.warn("clock: without `now` the times of the token are not checked");
    }
    problems.0.sort_by_key(|problem| std::cmp::Reverse(problem.severity));
    Ok(Output {
        header: Value::Object(header),
        claims: Value::Object(claims),
        signature: verified,
        problems: problems.0,
        expires_in_s,
    })
}

fn object(part: &str) -> Option<Map<String, Value>> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

/// Reads `alg`; `None` for those that must not or cannot be checked.
fn algorithm(header: &Map<String, Value>, problems: &mut Problems) -> Option<Algorithm> {
    let Some(name) = header.get("alg").and_then(Value::as_str) else {
        problems.add(Severity::Critical, "alg-missing", "the header has no `alg`: reject the token (RFC 7515, 4.1.1)");
        return None;
    };
    if name.eq_ignore_ascii_case("none") {
        problems.add(
            Severity::Critical,
            "alg-none",
            "`alg` is none, the token is not signed: reject it (RFC 8725, 3.2)",
        );
        return None;
    }
    let known = name.parse().ok();
    if known.is_none() {
        problems.add(
            Severity::High,
            "alg-unsupported",
            "`alg` is none of the HS, RS, PS, ES256, ES384 and EdDSA algorithms",
        );
    }
    known
}

/// What is verified.
struct Check<'a> {
    algorithm: Option<Algorithm>,
    message: &'a str,
    signature: &'a str,
    header: &'a Map<String, Value>,
}

impl Check<'_> {
    fn verify(&self, input: &Input, problems: &mut Problems) -> Result<Signature, Failure> {
        let Some(algorithm) = self.algorithm else {
            // A key was given, and nothing that it could verify.
            let wanted = input.key.is_some() || input.jwks.is_some();
            return Ok(if wanted { Signature::Invalid } else { Signature::Unchecked });
        };
        let key = match (&input.key, &input.jwks) {
            (Some(key), _) => self.of_text(key, algorithm, problems)?,
            (None, Some(set)) => self.of_set(set, algorithm, problems)?,
            (None, None) => return Ok(Signature::Unchecked),
        };
        let Some(key) = key else { return Ok(Signature::Invalid) };
        let verified = jsonwebtoken::crypto::verify(self.signature, self.message.as_bytes(), &key, algorithm);
        Ok(if verified.unwrap_or(false) { Signature::Valid } else { Signature::Invalid })
    }

    /// A public key in PEM, or a secret. A public key is never taken as a secret: that is how an attacker signs with what
    /// everybody has.
    fn of_text(
        &self,
        key: &str,
        algorithm: Algorithm,
        problems: &mut Problems,
    ) -> Result<Option<DecodingKey>, Failure> {
        let is_pem = key.contains("-----BEGIN");
        if is_pem && key.contains("PRIVATE KEY-----") {
            return Err(Failure::invalid(
                &["key"],
                "is a private key: give the public key, and replace the private one if it was shared",
            ));
        }
        let family = of_algorithm(algorithm);
        if is_pem != (family != AlgorithmFamily::Hmac) {
            let message =
                "`alg` and the kind of key do not belong together: fix the algorithm beside the key (RFC 8725, 3.1)";
            problems.add(Severity::Critical, "key-confusion", message);
            return Ok(None);
        }
        let bytes = key.as_bytes();
        let read = match family {
            AlgorithmFamily::Hmac => {
                checks::secret(bytes, algorithm, problems);
                return Ok(Some(DecodingKey::from_secret(bytes)));
            }
            AlgorithmFamily::Rsa => keys::public(key, keys::RSA).map(|key| DecodingKey::from_rsa_der(&key)),
            AlgorithmFamily::Ec => keys::public(key, keys::EC).map(|key| DecodingKey::from_ec_der(&key)),
            AlgorithmFamily::Ed => keys::public(key, keys::ED25519).map(|key| DecodingKey::from_ed_der(&key)),
        };
        if read.is_none() {
            problems.add(
                Severity::High,
                "key-unreadable",
                "the key is no public key in PEM of the kind that `alg` asks for",
            );
        }
        Ok(read)
    }

    /// The key of a set with the token's `kid`; without one the only key of the algorithm's kind.
    fn of_set(
        &self,
        set: &Value,
        algorithm: Algorithm,
        problems: &mut Problems,
    ) -> Result<Option<DecodingKey>, Failure> {
        let keys = match set.get("keys") {
            Some(_) => serde_json::from_value::<JwkSet>(set.clone()).map(|set| set.keys),
            None => serde_json::from_value::<Jwk>(set.clone()).map(|key| vec![key]),
        };
        let keys =
            keys.map_err(|error| Failure::invalid(&["jwks"], format!("is no JSON Web Key Set (RFC 7517): {error}")))?;
        let kid = self.header.get("kid").and_then(Value::as_str);
        let fits = |key: &&Jwk| {
            let of_kind = family(key) == Some(of_algorithm(algorithm));
            of_kind && kid.is_none_or(|kid| key.common.key_id.as_deref().is_none_or(|id| id == kid))
        };
        let mut fitting: Vec<&Jwk> = keys.iter().filter(fits).collect();
        fitting.sort_by_key(|key| key.common.key_id.is_none());
        let Some(key) = fitting.first() else {
            problems.add(Severity::High, "key-not-found", "the set has no key of this `kid` and kind");
            return Ok(None);
        };
        let named = key.common.key_algorithm.map(|algorithm| algorithm.to_string());
        if named.is_some_and(|named| named != format!("{algorithm:?}")) {
            problems.add(
                Severity::Critical,
                "key-confusion",
                "the key is for another `alg` than the token names (RFC 8725, 3.1)",
            );
            return Ok(None);
        }
        match DecodingKey::from_jwk(key) {
            Ok(key) => Ok(Some(key)),
            Err(_) => {
                problems.add(Severity::High, "key-unreadable", "the key of the set has missing or damaged members");
                Ok(None)
            }
        }
    }
}

fn family(key: &Jwk) -> Option<AlgorithmFamily> {
    Some(match &key.algorithm {
        AlgorithmParameters::EllipticCurve(_) => AlgorithmFamily::Ec,
        AlgorithmParameters::RSA(_) => AlgorithmFamily::Rsa,
        AlgorithmParameters::OctetKey(_) => AlgorithmFamily::Hmac,
        AlgorithmParameters::OctetKeyPair(_) => AlgorithmFamily::Ed,
        _ => return None,
    })
}

fn of_algorithm(algorithm: Algorithm) -> AlgorithmFamily {
    match algorithm {
        Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 => AlgorithmFamily::Hmac,
        Algorithm::ES256 | Algorithm::ES384 => AlgorithmFamily::Ec,
        Algorithm::EdDSA => AlgorithmFamily::Ed,
        _ => AlgorithmFamily::Rsa,
    }
}
