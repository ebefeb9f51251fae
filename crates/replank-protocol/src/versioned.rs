//! What is written down carries the version of the contract, so that a reader knows what it can read.

use replank_model::text::Text;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the contract's JSON. It goes up when a reader of the last one would misread what is written; members that are added do not change it.
pub const VERSION: u32 = 1;

/// Something of the contract as it is written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Versioned<T> {
    /// [`VERSION`] of the writer.
    pub version: u32,
    /// What was written.
    pub body: T,
}

/// Why something that is written down cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// A newer Replank wrote it.
    #[error(
        "written by a newer Replank (version {version} of the contract, this one reads {VERSION}): upgrade Replank"
    )]
    Newer {
        /// Its version.
        version: u64,
    },
    /// It is nothing of the contract.
    #[error("cannot be read: {message}")]
    Invalid {
        /// What is wrong with it.
        message: Text,
    },
}

impl<T> Versioned<T> {
    /// As this version writes it.
    pub fn of(body: T) -> Self {
        Self { version: VERSION, body }
    }
}

/// Reads what [`Versioned`] wrote. The version is looked at first: what a newer one wrote is not guessed at.
///
/// # Errors
/// When it is newer, or nothing of the contract.
pub fn read<T: DeserializeOwned>(json: &str) -> Result<T, ReadError> {
    let invalid = |message: String| ReadError::Invalid { message: Text::from(message) };
    let value: Value = serde_json::from_str(json).map_err(|error| invalid(error.to_string()))?;
    match value.get("version").and_then(Value::as_u64) {
        None => Err(invalid("the version is missing".to_owned())),
        Some(version) if version > u64::from(VERSION) => Err(ReadError::Newer { version }),
        Some(_) => {
            let read: Versioned<T> =
                serde_json::from_value(value).map_err(|error| invalid(error.to_string()))?;
            Ok(read.body)
        }
    }
}
