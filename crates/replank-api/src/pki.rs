//! Who a served cluster is: its own authority, its certificate, its token, and the kubeconfig that holds them.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use serde_json::json;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// An authority, a certificate that it has signed, and a token.
#[derive(Debug)]
pub struct Identity {
    /// The authority's certificate, in PEM.
    pub authority: String,
    /// What a client shows.
    pub token: String,
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl Identity {
    /// A new identity for names and addresses.
    ///
    /// # Errors
    /// What the library of certificates says, for a name that cannot be in one.
    pub fn new(names: Vec<String>) -> Result<Self, rcgen::Error> {
        let mut authority = CertificateParams::default();
        authority.distinguished_name.push(DnType::CommonName, "replank");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &issuer)?;
        // The secret of a fresh key is as good a source of chance as any, and the only one that is needed.
        let secret = KeyPair::generate()?.serialize_der();
        let tail =
            secret.get(secret.len().saturating_sub(96)..secret.len().saturating_sub(64)).unwrap_or(&secret);
        Ok(Self {
            authority: issuer.pem(),
            token: URL_SAFE_NO_PAD.encode(tail),
            chain: vec![certificate.der().clone()],
            key: PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
        })
    }

    /// Whether a token is the one; takes as long for a wrong one as for the right one.
    #[must_use]
    pub fn accepts(&self, token: &str) -> bool {
        let (shown, right) = (token.as_bytes(), self.token.as_bytes());
        let differing = right
            .iter()
            .enumerate()
            .fold(0, |differing, (at, byte)| differing | (byte ^ shown.get(at).copied().unwrap_or(!byte)));
        differing == 0 && shown.len() == right.len()
    }
}

/// How a served cluster is reached.
#[derive(Clone, Debug)]
pub struct Kubeconfig {
    /// Name of the context.
    pub context: String,
    /// `https://address:port`.
    pub server: String,
    /// The authority's certificate, in PEM.
    pub authority: String,
    /// What a client shows.
    pub token: String,
}

impl Kubeconfig {
    /// The file that kubectl and others read. JSON is YAML.
    #[must_use]
    pub fn write(&self) -> String {
        let name = &self.context;
        let file = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [{"name": name, "cluster": {"server": self.server,
                "certificate-authority-data": STANDARD.encode(&self.authority)}}],
            "users": [{"name": name, "user": {"token": self.token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
        });
        let mut text = serde_json::to_string_pretty(&file).expect("it is plain data");
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_token_is_accepted() {
        let identity =
            Identity::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).expect("names are fine");
        assert!(identity.token.len() > 30);
        assert!(identity.accepts(&identity.token));
        for wrong in ["", "x", &format!("{}x", identity.token), &identity.token[1..]] {
            assert!(!identity.accepts(wrong), "{wrong}");
        }
        let other = Identity::new(vec!["localhost".to_owned()]).expect("names are fine");
        assert_ne!(identity.token, other.token);
    }
}
