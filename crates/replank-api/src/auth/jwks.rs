//! What lets others verify tokens: `/openid/v1/jwks`, and where it is.

use serde_json::{Value, json};

use super::claims::ISSUER;
use super::signer::{ALGORITHM, TokenSigner};

/// The public keys.
#[must_use]
pub fn keys(signer: &TokenSigner) -> Value {
    json!({"keys": [signer.public()]})
}

/// What `/.well-known/openid-configuration` says.
#[must_use]
pub fn provider(server: &str) -> Value {
    json!({"issuer": ISSUER, "jwks_uri": format!("{server}/openid/v1/jwks"),
        "response_types_supported": ["id_token"], "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [ALGORITHM]})
}
