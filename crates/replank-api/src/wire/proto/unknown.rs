//! The envelope of a message: four bytes, and `runtime.Unknown` with the kind that is in it.

use super::wire::{Broken, Raw, Reader, put_bytes};

/// What every message begins with.
pub(super) const MAGIC: &[u8] = b"k8s\0";

/// An envelope, opened.
#[derive(Debug, Default)]
pub(super) struct Unknown<'a> {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) raw: &'a [u8],
    /// Of what is inside; empty for protobuf.
    pub(super) content_type: String,
}

/// Opens an envelope, less its first four bytes.
pub(super) fn open(bytes: &[u8]) -> Result<Unknown<'_>, Broken> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut unknown = Unknown::default();
    let mut reader = Reader(bytes);
    while let Some((number, raw)) = reader.next()? {
        match (number, raw) {
            (1, Raw::Bytes(bytes)) => {
                let mut inner = Reader(bytes);
                while let Some((number, raw)) = inner.next()? {
                    match (number, raw) {
                        (1, Raw::Bytes(bytes)) => unknown.api_version = text(bytes),
                        (2, Raw::Bytes(bytes)) => unknown.kind = text(bytes),
                        _ => {}
                    }
                }
            }
            (2, Raw::Bytes(bytes)) => unknown.raw = bytes,
            (4, Raw::Bytes(bytes)) => unknown.content_type = text(bytes),
            _ => {}
        }
    }
    Ok(unknown)
}

/// Puts a message into an envelope.
pub(crate) fn close(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let mut meta = Vec::with_capacity(64);
    put_bytes(&mut meta, 1, api_version.as_bytes());
    put_bytes(&mut meta, 2, kind.as_bytes());
    let mut out = Vec::with_capacity(raw.len() + meta.len() + 24);
    out.extend_from_slice(MAGIC);
    put_bytes(&mut out, 1, &meta);
    put_bytes(&mut out, 2, raw);
    put_bytes(&mut out, 3, b"");
    put_bytes(&mut out, 4, b"");
    out
}

/// Group and version of an `apiVersion`.
pub(super) fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}
