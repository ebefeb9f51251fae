//! What is no release of Helm 2.

/// Why bytes are no such message.
#[derive(Debug, thiserror::Error)]
#[error("protobuf breaks off or is damaged at byte {at}")]
pub(crate) struct Malformed {
    pub(super) at: usize,
}
