//! Data that is not a Helm 2 release.

/// Why bytes are no such message.
#[derive(Debug, thiserror::Error)]
#[error("damaged or incomplete protobuf at byte {at}")]
pub struct Malformed {
    pub(super) at: usize,
}
