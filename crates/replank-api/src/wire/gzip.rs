//! Compression of answers (apiserver `endpoints/handlers/responsewriters`).

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Answers of up to so many bytes are not compressed.
pub(crate) const THRESHOLD: u64 = 128 * 1024;

/// Whether a client takes gzip: as one of the words of its `Accept-Encoding`, without a weight.
pub(crate) fn is_accepted(header: &str) -> bool {
    header.split(',').any(|word| word.trim() == "gzip")
}

/// Compresses pieces, fast rather than well, as the server does.
pub(crate) fn compress<'a>(pieces: impl IntoIterator<Item = &'a Bytes>) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for piece in pieces {
        encoder.write_all(piece).ok()?;
    }
    encoder.finish().ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn what_is_compressed_is_the_same() {
        let pieces = [Bytes::from_static(b"one"), Bytes::from_static(b"two")];
        let bytes = compress(&pieces).expect("memory does not fail");
        let mut text = String::new();
        GzDecoder::new(&*bytes).read_to_string(&mut text).expect("it is gzip");
        assert_eq!(text, "onetwo");
        assert!(is_accepted("deflate, gzip") && !is_accepted("gzip;q=0.5") && !is_accepted(""));
    }
}
