//! The encodings that are around a release.

use std::io::{BufRead, BufReader, Read as _};

use flate2::read::MultiGzDecoder;

use super::base64::Base64;
use super::release::{GZIP, ReleaseError, UNPACKED_MAX};
use super::tiller;

/// What is stored, as it is unpacked.
pub(super) struct Opened<'d> {
    /// Whether base64 stands around base64: the encoding of a Secret.
    pub(super) is_twice: bool,
    pub(super) is_gzip: bool,
    /// The release, at most [`UNPACKED_MAX`] bytes of it.
    pub(super) bytes: Box<dyn BufRead + 'd>,
}

/// Takes off base64 once or twice, and gzip.
pub(super) fn open(data: &str) -> Result<Opened<'_>, ReleaseError> {
    let mut first = BufReader::new(Base64::new(data.as_bytes()));
    // A release begins with gzip's mark, a brace, or (of Helm 2, before it packed them) the first field of its message; base64 of
    // either begins otherwise.
    let is_twice = {
        let head = first.fill_buf()?;
        !(head.starts_with(&GZIP) || head.starts_with(b"{") || head.starts_with(&[tiller::FIRST]))
    };
    let mut inner: Box<dyn BufRead + '_> =
        if is_twice { Box::new(BufReader::new(Base64::new(first))) } else { Box::new(first) };
    let is_gzip = inner.fill_buf()?.starts_with(&GZIP);
    if is_gzip {
        inner = Box::new(BufReader::new(MultiGzDecoder::new(inner)));
    }
    Ok(Opened { is_twice, is_gzip, bytes: Box::new(inner.take(UNPACKED_MAX)) })
}
