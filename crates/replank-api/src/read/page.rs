//! Pages of a list: where the next one begins.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use replank_apiserver::ApiError;
use serde::{Deserialize, Serialize};

/// What a client hands back to be given the next page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Continue {
    /// The form of the token.
    v: String,
    /// The version that the list is of; -1 for the latest, after a list of an older one could not be gone on with.
    rv: i64,
    /// `namespace/name` of the last object that was given, and a zero byte.
    start: String,
}

const FORM: &str = "meta.k8s.io/v1";

impl Continue {
    /// After an object, in a list of a version.
    pub(super) fn after(key: &str, version: u64) -> Self {
        let rv = i64::try_from(version).unwrap_or(-1);
        Self { v: FORM.to_owned(), rv, start: format!("{key}\0") }
    }

    /// The same place in the latest list.
    pub(super) fn anew(&self) -> Self {
        Self { rv: -1, ..self.clone() }
    }

    /// The version that the list is of; `None` for the latest.
    pub(super) fn version(&self) -> Option<u64> {
        u64::try_from(self.rv).ok()
    }

    /// Whether an object, by `namespace/name`, comes after.
    pub(super) fn is_before(&self, key: &str) -> bool {
        key.as_bytes() >= self.start.as_bytes()
    }

    pub(super) fn write(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).expect("it is plain data"))
    }

    /// Reads a token.
    ///
    /// # Errors
    /// 400 for what is none.
    pub(super) fn read(text: &str) -> Result<Self, ApiError> {
        let bytes = URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
        let token: Option<Self> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        token.filter(|token| token.v == FORM && !token.start.is_empty()).ok_or_else(|| {
            ApiError::bad_request("continue key is not valid: illegal base64 data or unknown form")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let token = Continue::after("shop/web-1", 42);
        assert_eq!(Continue::read(&token.write()).expect("it is one"), token);
        assert!(
            token.is_before("shop/web-10") && !token.is_before("shop/web-1") && token.is_before("shop/web-2")
        );
        assert_eq!(token.anew().version(), None);
        assert_eq!(Continue::read("nonsense").unwrap_err().code, 400);
    }
}
