//! Clients that show a certificate while the connection is made (apiserver `pkg/authentication/request/x509`).

use std::sync::Arc;

use replank_model::time::Time;
use ring::digest;
use tokio_rustls::rustls::client::danger::HandshakeSignatureValid;
use tokio_rustls::rustls::crypto::ring as provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, UnixTime};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};

use crate::auth::User;
use crate::pace::Pace;
use crate::x509::subject_of;

/// What a client has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Peer {
    /// No certificate, or one that is for nobody.
    #[default]
    Nobody,
    /// A certificate of the cluster's authority.
    User(Box<User>),
    /// A certificate of somebody else: it is worth nothing.
    Untrusted,
}

/// Asks clients for certificates, and takes any: what a certificate is worth is decided for each request, as upstream does.
#[derive(Debug)]
pub(super) struct Peers(Arc<dyn ClientCertVerifier>);

impl Peers {
    /// Trusts one authority.
    pub(super) fn new(authority: &str) -> std::io::Result<Arc<Self>> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
            let certificate = certificate.map_err(std::io::Error::other)?;
            roots.add(certificate).map_err(std::io::Error::other)?;
        }
        let provider = Arc::new(provider::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.allow_unauthenticated().build().map_err(std::io::Error::other)?;
        Ok(Arc::new(Self(verifier)))
    }

    /// Who shows these certificates.
    pub(super) fn peer(&self, shown: &[CertificateDer<'_>]) -> Peer {
        let Some((own, others)) = shown.split_first() else { return Peer::Nobody };
        if self.0.verify_client_cert(own, others, moment(Pace::outside())).is_err() {
            return Peer::Untrusted;
        }
        let Some(subject) = subject_of(own).filter(|subject| !subject.name.is_empty()) else {
            return Peer::Nobody;
        };
        let hash = digest::digest(&digest::SHA256, own);
        let hash: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        Peer::User(Box::new(User::certified(subject.name, subject.uid, subject.organizations, &hash)))
    }
}

fn moment(now: Time) -> UnixTime {
    UnixTime::since_unix_epoch(std::time::Duration::from_millis(now.as_millis().unsigned_abs()))
}

impl ClientCertVerifier for Peers {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
