//! Who a served cluster is: its own authority, its certificate, its token, and the kubeconfig that holds them.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::auth::{OutsideTokens, TokenSigner};
use crate::x509::Authority;

/// An authority, a certificate that it has signed, and a token.
#[derive(Debug)]
pub struct Identity {
    /// The authority's certificate, in PEM.
    pub authority: String,
    /// What a client shows.
    pub token: String,
    /// The key for tokens of service accounts.
    pub signer: Arc<TokenSigner>,
    /// Who signs certificates of clients.
    pub certificates: Arc<Authority>,
    /// Who else knows tokens.
    pub outside: Option<Arc<dyn OutsideTokens>>,
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

/// What makes an identity: whoever has it is taken for the cluster. It is plain data, to be kept where nobody else reads it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Secrets {
    /// The authority's certificate, in PEM.
    authority: String,
    /// The authority's key, in PEM.
    authority_key: String,
    /// What a client shows.
    token: String,
    /// The key that signs tokens of service accounts: PKCS#8, in base64.
    account_key: String,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    /// New ones.
    ///
    /// # Errors
    /// What the library of certificates says.
    pub fn generate() -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate()?;
        let authority_key = key.serialize_pem();
        let authority = CertifiedIssuer::self_signed(authority(), key)?.pem();
        // The secret of a fresh key is as good a source of chance as any, and the only one that is needed.
        let secret = KeyPair::generate()?.serialize_der();
        let tail =
            secret.get(secret.len().saturating_sub(96)..secret.len().saturating_sub(64)).unwrap_or(&secret);
        let signer = TokenSigner::generate().map_err(|_| rcgen::Error::RingUnspecified)?;
        let token = URL_SAFE_NO_PAD.encode(tail);
        Ok(Self { authority, authority_key, token, account_key: STANDARD.encode(signer.pkcs8()) })
    }
}

/// The authority as it signs certificates of clients.
fn signing(certificate: &str, key: &KeyPair) -> Option<Authority> {
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).ok()?;
    Authority::new(&certificate, &key.serialize_der())
}

/// The authority's certificate, before it is signed.
fn authority() -> CertificateParams {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "replank");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    authority
}

impl Identity {
    /// An identity for names and addresses, with a certificate of its own.
    ///
    /// # Errors
    /// What the library of certificates says, for a name that cannot be in one, or a key that is none.
    pub fn new(names: Vec<String>, secrets: Secrets) -> Result<Self, rcgen::Error> {
        let Secrets { authority: certificate, authority_key, token, account_key } = secrets;
        let account_key = STANDARD.decode(account_key).map_err(|_| rcgen::Error::CouldNotParseKeyPair)?;
        let signer = TokenSigner::read(&account_key).map_err(|_| rcgen::Error::CouldNotParseKeyPair)?;
        let authority_key = KeyPair::from_pem(&authority_key)?;
        let certificates = signing(&certificate, &authority_key).ok_or(rcgen::Error::CouldNotParseKeyPair)?;
        let issuer = Issuer::new(authority(), authority_key);
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let chain = vec![params.signed_by(&key, &issuer)?.der().clone()];
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let certificates = Arc::new(certificates);
        let (signer, outside) = (Arc::new(signer), None);
        Ok(Self { authority: certificate, token, signer, certificates, outside, chain, key })
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
    /// Reads a file as [`Kubeconfig::write`] writes it: the context that is the current one.
    ///
    /// # Errors
    /// What is missing, in words.
    pub fn read(file: &Value) -> Result<Self, String> {
        let text = |path: &str| file.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let context = text("/current-context").ok_or("it has no current-context")?;
        let entry = |list: &str, name: &str| {
            let entries = file.get(list).and_then(Value::as_array).into_iter().flatten();
            let mut named = entries.filter(|entry| entry.get("name").and_then(Value::as_str) == Some(name));
            named.next().cloned().ok_or_else(|| format!("{list} has no {name}"))
        };
        let of = |entry: &Value, path: &str| entry.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let named = entry("contexts", &context)?;
        let cluster = entry("clusters", &of(&named, "/context/cluster").unwrap_or_default())?;
        let user = entry("users", &of(&named, "/context/user").unwrap_or_default())?;
        let server = of(&cluster, "/cluster/server").ok_or("its cluster has no server")?;
        let data = of(&cluster, "/cluster/certificate-authority-data")
            .ok_or("its cluster has no certificate-authority-data")?;
        let bytes = STANDARD.decode(data).map_err(|error| format!("certificate-authority-data: {error}"))?;
        let authority =
            String::from_utf8(bytes).map_err(|error| format!("certificate-authority-data: {error}"))?;
        let token = of(&user, "/user/token").ok_or("its user has no token")?;
        Ok(Self { context, server, authority, token })
    }

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
pub(crate) mod tests {
    use super::*;

    /// Who signs, of a cluster of its own.
    pub(crate) fn authority() -> Arc<Authority> {
        let secrets = Secrets::generate().expect("chance is at hand");
        Identity::new(vec!["localhost".to_owned()], secrets).expect("names are fine").certificates
    }

    #[test]
    fn only_the_right_token_is_accepted() {
        let new = || {
            let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
            Identity::new(names, Secrets::generate().expect("chance is at hand")).expect("names are fine")
        };
        let identity = new();
        assert!(identity.token.len() > 30);
        assert!(identity.accepts(&identity.token));
        for wrong in ["", "x", &format!("{}x", identity.token), &identity.token[1..]] {
            assert!(!identity.accepts(wrong), "{wrong}");
        }
        assert_ne!(identity.token, new().token);
    }

    #[test]
    fn kept_secrets_make_the_same_authority_and_token() {
        let secrets = Secrets::generate().expect("chance is at hand");
        let kept: Secrets = serde_json::from_str(&serde_json::to_string(&secrets).expect("it is plain"))
            .expect("it was written");
        let names = || vec!["localhost".to_owned()];
        let first = Identity::new(names(), secrets).expect("names are fine");
        let second = Identity::new(names(), kept).expect("names are fine");
        assert_eq!((&first.authority, &first.token), (&second.authority, &second.token));
        assert_ne!(first.chain, second.chain, "the key of the server is its own each time");
    }
}
