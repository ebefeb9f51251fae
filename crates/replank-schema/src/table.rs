//! Embedded files.

use std::io::Read;

use flate2::read::GzDecoder;
use serde::de::DeserializeOwned;

/// An embedded table.
pub(crate) fn table<T: DeserializeOwned>(gzip: &[u8]) -> T {
    let mut text = String::new();
    GzDecoder::new(gzip).read_to_string(&mut text).expect("an embedded table is gzip");
    serde_json::from_str(&text).expect("an embedded table has its form")
}
