//! Releases of Helm, and what is wrong with one.

use super::tiller;

/// What one release says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Release {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) revision: u64,
    /// In Helm 3's words: `deployed`, `superseded`, `failed`, `pending-upgrade`.
    pub(crate) status: String,
    pub(crate) manifest: String,
    /// Hooks, each a manifest.
    pub(crate) hooks: Vec<String>,
}

/// Why a release cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The text, or what it unpacks to, is damaged.
    #[error("the Helm release cannot be unpacked: {0}")]
    Unpack(#[from] std::io::Error),
    /// It is not what Helm 3 keeps.
    #[error("not a Helm 3 release: {0}")]
    Form(#[from] serde_json::Error),
    /// It is not what Tiller keeps.
    #[error("not a Helm 2 (Tiller) release: {0}")]
    Tiller(#[from] tiller::Malformed),
}

/// Bytes a release may unpack to: etcd takes 1.5 MB, which text packs into at 1:30 or so.
pub(super) const UNPACKED_MAX: u64 = 256 << 20;

pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];
