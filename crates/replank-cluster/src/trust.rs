//! What the cluster's own components know.

use std::sync::Arc;

use replank_api::x509::Authority;
use replank_api::{Authorization, TokenSigner};

/// What the cluster's own components know: whom to trust, and what to sign with.
#[derive(Clone, Debug)]
pub struct Trust {
    /// The certificate of the cluster's authority, in PEM: what `kube-root-ca.crt` holds.
    pub authority: String,
    /// The key for tokens of service accounts.
    pub signer: Arc<TokenSigner>,
    /// Who signs certificates; nobody does where clients show none.
    pub certificates: Option<Arc<Authority>>,
    /// Who may have certificates approved without being asked.
    pub authorization: Authorization,
}
