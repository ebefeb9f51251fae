//! The key that tokens of service accounts are signed with: ES256 (RFC 7518, 3.4).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
};
use serde_json::{Value, json};
use thiserror::Error;

/// The name of the algorithm.
pub(crate) const ALGORITHM: &str = "ES256";

/// A key to sign tokens with.
#[derive(Debug)]
pub struct TokenSigner {
    pair: EcdsaKeyPair,
    random: SystemRandom,
    /// The name of the key in tokens.
    id: String,
    /// The key, in PKCS#8.
    pkcs8: Vec<u8>,
}

/// A key that cannot be made, read or used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the key for service account tokens cannot be {0}")]
pub struct SignerError(&'static str);

impl TokenSigner {
    /// A new key.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn generate() -> Result<Self, SignerError> {
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        Self::read(pkcs8.map_err(|_| SignerError("made"))?.as_ref())
    }

    /// A key that was kept.
    ///
    /// # Errors
    /// It is not one.
    pub fn read(pkcs8: &[u8]) -> Result<Self, SignerError> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &random);
        let pair = pair.map_err(|_| SignerError("read"))?;
        let id = URL_SAFE_NO_PAD.encode(digest(&SHA256, pair.public_key().as_ref()));
        Ok(Self { pair, random, id, pkcs8: pkcs8.to_vec() })
    }

    /// The key, to be kept.
    #[must_use]
    pub fn pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }

    /// A token that makes claims.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn sign(&self, claims: &Value) -> Result<String, SignerError> {
        let head = json!({"alg": ALGORITHM, "kid": self.id});
        let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encode(&head), encode(claims));
        let signature = self.pair.sign(&self.random, signed.as_bytes()).map_err(|_| SignerError("used"))?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// The claims of a token that this key has signed.
    #[must_use]
    pub fn verify(&self, token: &str) -> Option<Value> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (head, claims) = signed.split_once('.')?;
        let head: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(head).ok()?).ok()?;
        if head.get("alg").and_then(Value::as_str) != Some(ALGORITHM) {
            return None;
        }
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key().as_ref());
        key.verify(signed.as_bytes(), &signature).ok()?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
    }

    /// The public key, as a JSON Web Key.
    #[must_use]
    pub fn public(&self) -> Value {
        // An uncompressed point: a byte that says so, then both coordinates.
        let point = self.pair.public_key().as_ref();
        let (x, y) = point.get(1..).unwrap_or_default().split_at(32);
        json!({"use": "sig", "kty": "EC", "kid": self.id, "crv": "P-256", "alg": ALGORITHM,
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y)})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_untouched_tokens_verify() {
        let signer = TokenSigner::generate().expect("there is chance");
        let token = signer.sign(&json!({"sub": "x"})).expect("it signs");
        assert_eq!(signer.verify(&token), Some(json!({"sub": "x"})));
        let kept = TokenSigner::read(signer.pkcs8()).expect("it was kept");
        assert_eq!(kept.verify(&token), Some(json!({"sub": "x"})));
        let other = TokenSigner::generate().expect("there is chance");
        assert_eq!(other.verify(&token), None);
        let parts: Vec<&str> = token.split('.').collect();
        let forged = URL_SAFE_NO_PAD.encode(r#"{"sub":"y"}"#);
        assert_eq!(signer.verify(&format!("{}.{forged}.{}", parts[0], parts[2])), None);
        assert_eq!(signer.verify("a.b"), None);
    }
}
