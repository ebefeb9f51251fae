//! Bodies of requests.

use replank_apiserver::ApiError;
use serde_json::Value;

use super::media::Encoding;
use super::proto;

/// A body that has been read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Body {
    /// What it says; `Null` for none.
    pub(crate) value: Value,
}

/// What a body should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected<'a> {
    /// An object of a kind: `apiVersion` and kind.
    Object(&'a str, &'a str),
    /// Options of a deletion.
    Options,
    /// A patch, whose media type says how it is applied.
    Patch,
}

/// Reads a body.
///
/// # Errors
/// 400 for what cannot be read, 415 for a media type that is not taken.
pub(crate) fn decode(content_type: &str, bytes: &[u8], expected: Expected<'_>) -> Result<Body, ApiError> {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if bytes.is_empty() {
        return Ok(Body::default());
    }
    if essence == Encoding::Protobuf.media_type() && expected != Expected::Patch {
        return protobuf(bytes, expected);
    }
    let value = serde_json::from_slice(bytes);
    let value = value.map_err(|error| ApiError::bad_request(&error.to_string()))?;
    Ok(Body { value })
}

fn protobuf(bytes: &[u8], expected: Expected<'_>) -> Result<Body, ApiError> {
    let default = match expected {
        Expected::Object(api_version, kind) => (api_version, kind),
        Expected::Options | Expected::Patch => ("v1", "DeleteOptions"),
    };
    match proto::read(bytes, default) {
        Ok(value) => Ok(Body { value }),
        Err(error) => Err(refused(bytes, &error.to_string(), expected)),
    }
}

fn refused(bytes: &[u8], why: &str, expected: Expected<'_>) -> ApiError {
    ApiError::bad_request(&match expected {
        Expected::Object(_, kind) => {
            let shown = summary(bytes);
            format!("the object provided is unrecognized (must be of type {kind}): {why} ({shown})")
        }
        Expected::Options | Expected::Patch => why.to_owned(),
    })
}

/// The first bytes of a body: as text where it may be JSON, else in hexadecimal.
fn summary(bytes: &[u8]) -> String {
    const SHOWN: usize = 30;
    let (shown, rest) = bytes.split_at(bytes.len().min(SHOWN));
    let more = if rest.is_empty() { "" } else { " ..." };
    match shown.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(shown)),
        Some(_) => {
            let digits: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{digits}{more}")
        }
    }
}
