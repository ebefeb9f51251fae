//! Pages of a list: where the next one begins.

use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, URL_SAFE_NO_PAD};
use base64::{DecodeError, Engine, alphabet};
use replank_apiserver::ApiError;
use replank_model::object::meta::Key;
use serde::{Deserialize, Serialize};

use crate::mirror::ListKey;
use crate::wire;

/// What a client hands back to be given the next page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Continue {
    /// The form of the token.
    v: String,
    /// The version that the list is of; -1 for the latest, after a list of an older one could not be gone on with.
    rv: i64,
    /// `namespace/name` of the last object that was given, and a zero byte.
    start: String,
}

const FORM: &str = "meta.k8s.io/v1";

/// Go's reader does not mind bits that are left over in the last letter.
const READER: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

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

    /// Where the next page begins in the order of lists.
    pub(super) fn start(&self) -> ListKey {
        let (namespace, name) = self.start.split_once('/').unwrap_or(("", &self.start));
        ListKey(Key::new(namespace, name))
    }

    pub(super) fn write(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).expect("it is plain data"))
    }

    /// Reads a token.
    ///
    /// # Errors
    /// 400 for what is none.
    pub(super) fn read(text: &str) -> Result<Self, ApiError> {
        let refused = |why: &str| {
            ApiError::bad_request(&format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = READER.decode(text).map_err(|error| {
            let at = match error {
                DecodeError::InvalidByte(at, _) => at,
                DecodeError::InvalidLastSymbol { offset, .. } => offset,
                DecodeError::InvalidLength(length) => length.saturating_sub(length % 4),
                DecodeError::InvalidPadding => text.len(),
            };
            refused(&format!("illegal base64 data at input byte {at}"))
        })?;
        let value = wire::json(&bytes).map_err(|why| refused(&why))?;
        let token: Self = serde_json::from_value(value).map_err(|error| refused(&error.to_string()))?;
        match (token.v.as_str(), token.rv, token.start.as_str()) {
            (FORM, 0, _) => {
                Err(refused(&format!("incorrect encoded start resourceVersion (version {FORM})")))
            }
            (FORM, _, "") => Err(refused(&format!("encoded start of key empty (version {FORM})"))),
            (FORM, ..) => Ok(token),
            (other, ..) => Err(refused(&format!("server does not recognize this encoded version {other}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let token = Continue::after("shop/web-1", 42);
        assert_eq!(Continue::read(&token.write()).expect("it is one"), token);
        let is_after = |namespace: &str, name: &str| ListKey(Key::new(namespace, name)) >= token.start();
        assert!(is_after("shop", "web-10") && !is_after("shop", "web-1") && is_after("shop", "web-2"));
        assert!(!is_after("shop-a", "x") && is_after("shop0", "a"), "by the bytes of the path");
        let node = Continue::after("n-1", 42).start();
        assert!(node > ListKey(Key::new("", "n-1")) && node < ListKey(Key::new("", "n-10")));
        assert_eq!(token.anew().version(), None);
        let refused = |text: &str| Continue::read(text).unwrap_err().message;
        let prefix = "invalid continue token: continue key is not valid: ";
        assert_eq!(refused("x"), format!("{prefix}illegal base64 data at input byte 0"));
        assert_eq!(refused("bad"), format!("{prefix}invalid character 'm' looking for beginning of value"));
        assert_eq!(refused("abc"), format!("{prefix}invalid character 'i' looking for beginning of value"));
        assert_eq!(refused("e30"), format!("{prefix}server does not recognize this encoded version "));
    }
}
