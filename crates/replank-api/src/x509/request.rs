//! Signing requests (PKCS#10) in PEM: what is asked for, and whether who asks holds the key.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::signature;

use super::der::{self, CONTEXT, Element, OID};
use super::name::{self, Subject};

/// What a signing request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningRequest {
    /// Whom the certificate is to be for.
    pub subject: Subject,
    /// DNS names.
    pub dns_names: usize,
    /// Addresses.
    pub addresses: usize,
    /// Addresses of mail.
    pub mails: usize,
    /// URIs.
    pub uris: usize,
    /// The subject, as it was encoded.
    pub(super) name: Vec<u8>,
    /// The key, as it was encoded.
    pub(super) key: Vec<u8>,
    /// Other names, as they were encoded.
    pub(super) other_names: Option<Vec<u8>>,
}

/// The attribute in which extensions are asked for (PKCS#9).
const EXTENSION_REQUEST: [u8; 9] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x0e];
/// The extension with other names.
pub(super) const SUBJECT_ALT_NAME: [u8; 3] = [0x55, 0x1d, 0x11];

/// Reads a signing request, and checks its signature (`ParseCSR`, `CheckSignature`).
///
/// # Errors
/// What is wrong with it, in upstream's words where it has some.
pub fn request_in(pem: &str) -> Result<SigningRequest, String> {
    const LABEL: &str = "CERTIFICATE REQUEST";
    let not_one = || format!("PEM block type must be {LABEL}");
    let bytes = match blocks(pem).into_iter().next() {
        Some((label, bytes)) if label == LABEL => bytes,
        Some(_) | None => return Err(not_one()),
    };
    read(&bytes).ok_or_else(|| "asn1: structure error: no signing request".to_owned())?
}

/// The certificates of a PEM file, in DER.
///
/// # Errors
/// What is wrong with it (`validateCertificate`).
pub fn certificates_in(pem: &str) -> Result<Vec<Vec<u8>>, String> {
    let mut all = Vec::new();
    for (label, bytes) in blocks(pem) {
        if label != "CERTIFICATE" {
            return Err(format!("only CERTIFICATE PEM blocks are allowed, found {label:?}"));
        }
        if name::subject_of(&bytes).is_none() {
            return Err("x509: malformed certificate".to_owned());
        }
        all.push(bytes);
    }
    if all.is_empty() { Err("must contain at least one CERTIFICATE PEM block".to_owned()) } else { Ok(all) }
}

/// The blocks of a PEM file: their labels, and what is in them.
fn blocks(pem: &str) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut rest = pem;
    while let Some(begin) = rest.find("-----BEGIN ") {
        rest = &rest[begin + "-----BEGIN ".len()..];
        let Some((label, body)) = rest.split_once("-----") else { break };
        let end = format!("-----END {label}-----");
        let Some((text, after)) = body.split_once(&end) else { continue };
        let text: String = text.split_whitespace().collect();
        if let Ok(bytes) = STANDARD.decode(text) {
            all.push((label.to_owned(), bytes));
        }
        rest = after;
    }
    all
}

fn read(bytes: &[u8]) -> Option<Result<SigningRequest, String>> {
    let parts = der::whole(bytes)?.sequence()?;
    let [info, algorithm, seal] = parts.as_slice() else { return None };
    let members = info.sequence()?;
    let [_, subject, key, attributes @ ..] = members.as_slice() else { return None };
    let sealed = seal.content.split_first().filter(|(unused, _)| **unused == 0)?.1;
    if let Err(why) = check(key, algorithm, info.whole, sealed) {
        return Some(Err(why));
    }
    let other_names = attributes.first().and_then(|list| other_names(*list));
    let kinds: Vec<u8> = match &other_names {
        None => Vec::new(),
        Some(names) => der::whole(names)?.sequence()?.iter().map(|name| name.tag & 0x1f).collect(),
    };
    let count = |kind: u8| kinds.iter().filter(|one| **one == kind).count();
    Some(Ok(SigningRequest {
        subject: name::read(*subject)?,
        mails: count(1),
        dns_names: count(2),
        uris: count(6),
        addresses: count(7),
        name: subject.whole.to_vec(),
        key: key.whole.to_vec(),
        other_names,
    }))
}

/// The other names that the attributes of a request ask for.
fn other_names(attributes: Element<'_>) -> Option<Vec<u8>> {
    if attributes.tag != CONTEXT {
        return None;
    }
    for attribute in attributes.elements()? {
        let parts = attribute.sequence()?;
        let [kind, values] = parts.as_slice() else { continue };
        if kind.tag != OID || kind.content != EXTENSION_REQUEST {
            continue;
        }
        for extension in values.elements()?.first()?.sequence()? {
            let parts = extension.sequence()?;
            if parts.first()?.content == SUBJECT_ALT_NAME {
                return Some(parts.last()?.content.to_vec());
            }
        }
    }
    None
}

/// Checks a signature by a key (`SubjectPublicKeyInfo`).
fn check(key: &Element<'_>, algorithm: &Element<'_>, signed: &[u8], seal: &[u8]) -> Result<(), String> {
    const RSA: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA: [u8; 7] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
    const P256: [u8; 8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
    const P384: [u8; 5] = [0x2b, 0x81, 0x04, 0x00, 0x22];
    const ED25519: [u8; 3] = [0x2b, 0x65, 0x70];
    let unknown = || "x509: cannot verify signature: algorithm unimplemented".to_owned();
    let parts = key.sequence().ok_or_else(unknown)?;
    let [of, bits] = parts.as_slice() else { return Err(unknown()) };
    let of = of.elements().ok_or_else(unknown)?;
    let curve = of.get(1).map(|element| element.content).unwrap_or_default();
    let how = algorithm.elements().and_then(|parts| parts.first().map(|first| first.content));
    let how = how.ok_or_else(unknown)?;
    let is_ecdsa = |hash: u8| how.strip_prefix(&ECDSA) == Some(&[hash]);
    let is_rsa = |hash: u8| how.strip_prefix(&RSA) == Some(&[hash]);
    let verifier: &dyn signature::VerificationAlgorithm = if how == ED25519 {
        &signature::ED25519
    } else if is_ecdsa(2) && curve == P256 {
        &signature::ECDSA_P256_SHA256_ASN1
    } else if is_ecdsa(3) && curve == P256 {
        &signature::ECDSA_P256_SHA384_ASN1
    } else if is_ecdsa(2) && curve == P384 {
        &signature::ECDSA_P384_SHA256_ASN1
    } else if is_ecdsa(3) && curve == P384 {
        &signature::ECDSA_P384_SHA384_ASN1
    } else if is_rsa(11) {
        &signature::RSA_PKCS1_2048_8192_SHA256
    } else if is_rsa(12) {
        &signature::RSA_PKCS1_2048_8192_SHA384
    } else if is_rsa(13) {
        &signature::RSA_PKCS1_2048_8192_SHA512
    } else {
        return Err(unknown());
    };
    let point = bits.content.split_first().map(|(_, point)| point).unwrap_or_default();
    let known = signature::UnparsedPublicKey::new(verifier, point);
    let why = if how == ED25519 || how.starts_with(&ECDSA) {
        "x509: ECDSA verification failure"
    } else {
        "crypto/rsa: verification error"
    };
    known.verify(signed, seal).map_err(|_| why.to_owned())
}
