//! From bytes as they are stored to text: gzip, UTF-16, and data that is not text.

use std::io::Read;

use flate2::read::MultiGzDecoder;

/// Bytes that one file may unpack to: dumps of the largest clusters are below it.
const UNPACKED_MAX: u64 = 8 << 30;

/// A text as far as its bytes are one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The text.
    pub text: String,
    /// Where bytes stand that do not belong there, and what becomes of them.
    pub wrong: Option<Wrong>,
}

/// Bytes in a text that are none of UTF-8: mostly a comment or a name in an older encoding (Windows-1252, Latin-1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The line of the first of them.
    pub line: u32,
    /// In words.
    pub why: String,
}

/// The text of a file. gzip is told by its first bytes, UTF-16 (as PowerShell's `>` writes) by its byte order mark.
///
/// # Errors
/// In words, if it is not text.
pub fn from_bytes(bytes: Vec<u8>) -> Result<Decoded, String> {
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = Vec::new();
        MultiGzDecoder::new(&*bytes)
            .take(UNPACKED_MAX)
            .read_to_end(&mut unpacked)
            .map_err(|error| format!("damaged or incomplete gzip: {error}"))?;
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
    let text = match bytes.as_slice() {
        [0xff, 0xfe, ..] => utf16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => utf16(u16::from_be_bytes),
        _ => match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => return older(error.as_bytes(), error.utf8_error().valid_up_to()),
        },
    };
    Ok(Decoded { text, wrong: None })
}

/// Bytes of which not all are UTF-8. Versions and kinds are ASCII in any encoding of the West, and so are found all the same.
fn older(bytes: &[u8], at: usize) -> Result<Decoded, String> {
    if bytes.contains(&0) {
        return Err(format!("invalid UTF-8 at byte {at}"));
    }
    let newlines = bytes[..at].iter().filter(|byte| **byte == b'\n').count();
    let wrong = Wrong {
        line: u32::try_from(newlines).unwrap_or(u32::MAX).saturating_add(1),
        why: format!("invalid UTF-8 at byte {at}: kubectl refuses it; here it counts as a letter"),
    };
    Ok(Decoded { text: String::from_utf8_lossy(bytes).into_owned(), wrong: Some(wrong) })
}
