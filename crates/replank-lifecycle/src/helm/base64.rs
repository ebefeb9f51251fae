//! Base64 as a stream, byte by byte as it is asked for: releases are large, and packed twice.

use std::io::{self, BufRead, BufReader, Read};

/// Decodes the standard alphabet (RFC 4648, section 4) of what another reader gives. Line ends are passed over, as Go's
/// encoding/base64 does.
pub(super) struct Base64<R> {
    inner: BufReader<R>,
    /// Bytes that are decoded and not taken yet, and how many.
    group: [u8; 3],
    from: usize,
    to: usize,
    ended: bool,
}

impl<R: Read> Base64<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner: BufReader::new(inner), group: [0; 3], from: 0, to: 0, ended: false }
    }

    /// The next symbol, if there is one.
    fn symbol(&mut self) -> io::Result<Option<u8>> {
        loop {
            let Some(&symbol) = self.inner.fill_buf()?.first() else { return Ok(None) };
            self.inner.consume(1);
            if !matches!(symbol, b'\n' | b'\r') {
                return Ok(Some(symbol));
            }
        }
    }

    fn refill(&mut self) -> io::Result<()> {
        let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("not base64: {what}"));
        let mut word = 0u32;
        let mut padding = 0;
        for index in 0..4 {
            let Some(symbol) = self.symbol()? else {
                if index > 0 {
                    return Err(wrong("it is cut off"));
                }
                self.ended = true;
                return Ok(());
            };
            let bits = match symbol {
                b'A'..=b'Z' => symbol - b'A',
                b'a'..=b'z' => symbol - b'a' + 26,
                b'0'..=b'9' => symbol - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                b'=' if index >= 2 => {
                    padding += 1;
                    0
                }
                _ => return Err(wrong("invalid character")),
            };
            if padding > 0 && symbol != b'=' {
                return Err(wrong("padding in the middle"));
            }
            word = word << 6 | u32::from(bits);
        }
        let [_, bytes @ ..] = word.to_be_bytes();
        self.group = bytes;
        (self.from, self.to) = (0, 3 - padding);
        self.ended = padding > 0;
        Ok(())
    }
}

impl<R: Read> Read for Base64<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut written = 0;
        while written < out.len() {
            if self.from == self.to {
                if self.ended {
                    break;
                }
                self.refill()?;
                continue;
            }
            out[written] = self.group[self.from];
            self.from += 1;
            written += 1;
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use replank_intake::base64::encode;

    use super::*;

    fn decode(text: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        Base64::new(text.as_bytes()).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn what_was_encoded_comes_back() {
        for length in 0..20 {
            let bytes: Vec<u8> = (0..length).map(|byte: u8| byte.wrapping_mul(37)).collect();
            assert_eq!(decode(&encode(&bytes)).unwrap(), bytes);
        }
        assert_eq!(decode("aGVs\nbG8=\n").unwrap(), b"hello");
    }

    #[test]
    fn what_is_not_base64_is_refused() {
        for wrong in ["a", "aGVsbG8", "aG=s", "a===", "aG s", "aGV%"] {
            assert!(decode(wrong).is_err(), "{wrong}");
        }
    }
}
