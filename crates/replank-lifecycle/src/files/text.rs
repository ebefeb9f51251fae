//! From bytes as they are stored to text: gzip, UTF-16, and what is no text at all.

use std::io::Read;

use flate2::read::MultiGzDecoder;

/// Bytes that one file may unpack to: dumps of the largest clusters are below it.
const UNPACKED_MAX: u64 = 8 << 30;

/// The text of a file. gzip is told by its first bytes, UTF-16 (as PowerShell's `>` writes) by its byte order mark.
///
/// # Errors
/// In words, where it is no text.
pub fn from_bytes(bytes: Vec<u8>) -> Result<String, String> {
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = Vec::new();
        MultiGzDecoder::new(&*bytes)
            .take(UNPACKED_MAX)
            .read_to_end(&mut unpacked)
            .map_err(|error| format!("gzip that is damaged or cut off: {error}"))?;
        unpacked
    } else {
        bytes
    };
    let utf16 = |unit: fn([u8; 2]) -> u16| {
        let (units, _) = bytes[2..].as_chunks::<2>();
        char::decode_utf16(units.iter().map(|pair| unit(*pair)))
            .map(|decoded| decoded.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect()
    };
    match bytes.as_slice() {
        [0xff, 0xfe, ..] => Ok(utf16(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => Ok(utf16(u16::from_be_bytes)),
        _ => String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            format!("not utf-8: byte {at} does not belong in text")
        }),
    }
}
