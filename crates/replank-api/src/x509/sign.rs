//! Certificates that a cluster's authority signs (kube-controller-manager `pkg/controller/certificates/authority`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use jiff::tz::Offset;
use replank_model::time::Time;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use thiserror::Error;

use super::der::{self, BYTES, CONTEXT, Element, OID, bits, element, integer, sequence};
use super::request::{SUBJECT_ALT_NAME, SigningRequest};

const SECOND: i64 = 1_000;
/// Certificates hold from a while ago: clocks differ.
const BACKDATED: i64 = 300 * SECOND;
/// Those that last less hold as long as was asked for all the same.
const SHORT: i64 = 8 * 3_600 * SECOND;
/// How long those last that ask for nothing (`--cluster-signing-duration`), and the longest.
const LASTING: i64 = 365 * 24 * 3_600;
/// The shortest that anybody is given.
const LASTING_MIN: i64 = 600;

/// Why nothing is signed.
#[derive(Debug, Error)]
pub enum SignError {
    /// A usage that no certificate has.
    #[error("unrecognized usage values: {0:?}")]
    Usages(Vec<String>),
    /// The library of cryptography fails.
    #[error("failed to sign certificate")]
    Failed,
}

/// What a certificate is to be.
#[derive(Clone, Copy, Debug)]
pub struct Order<'o> {
    /// The request.
    pub request: &'o SigningRequest,
    /// `spec.usages`.
    pub usages: &'o [&'o str],
    /// `spec.expirationSeconds`.
    pub seconds: Option<i64>,
    /// The moment.
    pub now: Time,
}

/// Who signs certificates of a cluster.
pub struct Authority {
    /// The name of the authority, as its certificate has it.
    issuer: Vec<u8>,
    /// What tells its key from others, if its certificate says.
    key_id: Option<Vec<u8>>,
    key: EcdsaKeyPair,
    chance: SystemRandom,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

/// ecdsa-with-SHA256.
const ALGORITHM: [u8; 8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const KEY_USAGE: [u8; 3] = [0x55, 0x1d, 0x0f];
const EXTENDED_USAGE: [u8; 3] = [0x55, 0x1d, 0x25];
const SUBJECT_KEY_ID: [u8; 3] = [0x55, 0x1d, 0x0e];
const AUTHORITY_KEY_ID: [u8; 3] = [0x55, 0x1d, 0x23];
const CONSTRAINTS: [u8; 3] = [0x55, 0x1d, 0x13];

/// Usages of keys, and their bits.
const KEY_USAGES: [(&str, u32); 10] = [
    ("signing", 0),
    ("digital signature", 0),
    ("content commitment", 1),
    ("key encipherment", 2),
    ("data encipherment", 3),
    ("key agreement", 4),
    ("cert sign", 5),
    ("crl sign", 6),
    ("encipher only", 7),
    ("decipher only", 8),
];

/// Extended usages, in the order of Go's numbers, and the names that they have in a certificate: id-kp and its last number, or all of it.
const EXTENDED: [(&str, &[u8]); 13] = [
    ("any", &[0x55, 0x1d, 0x25, 0x00]),
    ("server auth", &[1]),
    ("client auth", &[2]),
    ("code signing", &[3]),
    ("email protection", &[4]),
    ("s/mime", &[4]),
    ("ipsec end system", &[5]),
    ("ipsec tunnel", &[6]),
    ("ipsec user", &[7]),
    ("timestamping", &[8]),
    ("ocsp signing", &[9]),
    ("microsoft sgc", &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x0a, 0x03, 0x03]),
    ("netscape sgc", &[0x60, 0x86, 0x48, 0x01, 0x86, 0xf8, 0x42, 0x04, 0x01]),
];

impl Authority {
    /// The authority of a certificate, in DER, and its key, in PKCS#8.
    #[must_use]
    pub fn new(certificate: &[u8], key: &[u8]) -> Option<Self> {
        let chance = SystemRandom::new();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key, &chance).ok()?;
        let parts = der::whole(certificate)?.sequence()?;
        let members = parts.first()?.sequence()?;
        let skipped = usize::from(members.first()?.tag == CONTEXT);
        // Whom the authority's own certificate is for.
        let issuer = members.get(skipped + 4)?.whole.to_vec();
        let key_id = members.last().and_then(|list| key_id(*list));
        Some(Self { issuer, key_id, key, chance })
    }

    /// A certificate, in PEM.
    ///
    /// # Errors
    /// A usage that is none.
    pub fn sign(&self, order: &Order<'_>) -> Result<String, SignError> {
        let algorithm = sequence(&[&element(OID, &ALGORITHM)]);
        let mut number = [0_u8; 16];
        self.chance.fill(&mut number).map_err(|_| SignError::Failed)?;
        number[0] &= 0x7f;
        let (from, until) = lasting(order);
        let extensions = extensions(order, self.key_id.as_deref())?;
        let body = sequence(&[
            &element(CONTEXT, &integer(&[2])),
            &integer(&number),
            &algorithm,
            &self.issuer,
            &sequence(&[&moment(from), &moment(until)]),
            &order.request.name,
            &order.request.key,
            &element(CONTEXT | 3, &extensions),
        ]);
        let seal = self.key.sign(&self.chance, &body).map_err(|_| SignError::Failed)?;
        let whole = sequence(&[&body, &algorithm, &bits(seal.as_ref())]);
        Ok(pem(&whole))
    }
}

/// From when until when a certificate holds.
fn lasting(order: &Order<'_>) -> (i64, i64) {
    let now = order.now.as_millis();
    let lasting = order.seconds.unwrap_or(LASTING).clamp(LASTING_MIN, LASTING) * SECOND;
    let until = if lasting < SHORT { now + lasting } else { now + lasting - BACKDATED };
    (now - BACKDATED, until)
}

/// A moment, in milliseconds: in the short form until 2049.
fn moment(millis: i64) -> Vec<u8> {
    const SHORT_TIME: u8 = 0x17;
    const LONG_TIME: u8 = 0x18;
    let at = Timestamp::from_millisecond(millis).unwrap_or_default();
    let at = Offset::UTC.to_datetime(at);
    let rest =
        format!("{:02}{:02}{:02}{:02}{:02}Z", at.month(), at.day(), at.hour(), at.minute(), at.second());
    if at.year() < 2050 {
        element(SHORT_TIME, format!("{:02}{rest}", at.year() % 100).as_bytes())
    } else {
        element(LONG_TIME, format!("{:04}{rest}", at.year()).as_bytes())
    }
}

/// The identifier of a key, among the extensions of a certificate.
fn key_id(list: Element<'_>) -> Option<Vec<u8>> {
    if list.tag != CONTEXT | 3 {
        return None;
    }
    for extension in list.elements()?.first()?.sequence()? {
        let parts = extension.sequence()?;
        if parts.first()?.content == SUBJECT_KEY_ID {
            return der::whole(parts.last()?.content).map(|id| id.content.to_vec());
        }
    }
    None
}

fn extensions(order: &Order<'_>, key_id: Option<&[u8]>) -> Result<Vec<u8>, SignError> {
    const TRUE: [u8; 3] = [0x01, 0x01, 0xff];
    let extension = |name: &[u8], is_critical: bool, value: &[u8]| {
        let critical: &[u8] = if is_critical { &TRUE } else { &[] };
        sequence(&[&element(OID, name), critical, &element(BYTES, value)])
    };
    let is_known = |usage: &&&str| {
        KEY_USAGES.iter().any(|(known, _)| known == *usage)
            || EXTENDED.iter().any(|(known, _)| known == *usage)
    };
    let unknown: Vec<String> =
        order.usages.iter().filter(|usage| !is_known(usage)).map(|usage| (*usage).to_owned()).collect();
    if !unknown.is_empty() {
        return Err(SignError::Usages(unknown));
    }
    let mut all = Vec::new();
    let set: u32 = KEY_USAGES
        .iter()
        .filter(|(known, _)| order.usages.contains(known))
        .fold(0, |set, (_, bit)| set | (1 << bit));
    if set != 0 {
        all.extend(extension(&KEY_USAGE, true, &usage_bits(set)));
    }
    let mut names: Vec<Vec<u8>> = Vec::new();
    for (_, name) in EXTENDED.iter().filter(|(known, _)| order.usages.contains(known)) {
        let purpose = [&[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03], *name].concat();
        let name = element(OID, if name.len() == 1 { &purpose } else { name });
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if !names.is_empty() {
        let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        all.extend(extension(&EXTENDED_USAGE, false, &sequence(&names)));
    }
    all.extend(extension(&CONSTRAINTS, true, &sequence(&[])));
    if let Some(id) = key_id {
        // The identifier alone, of the members that there may be.
        all.extend(extension(&AUTHORITY_KEY_ID, false, &sequence(&[&element(CONTEXT & 0xdf, id)])));
    }
    if let Some(names) = &order.request.other_names {
        all.extend(extension(&SUBJECT_ALT_NAME, false, names));
    }
    Ok(sequence(&[&all]))
}

/// Bits of usages, the first one first, without those at the end that are not set.
fn usage_bits(set: u32) -> Vec<u8> {
    let last = 31 - set.leading_zeros();
    let count = usize::try_from(last / 8 + 1).unwrap_or(1);
    let mut bytes = vec![0_u8; count];
    for bit in 0..=last {
        if set & (1 << bit) != 0 {
            bytes[usize::try_from(bit / 8).unwrap_or(0)] |= 0x80 >> (bit % 8);
        }
    }
    let unused = u8::try_from(7 - last % 8).unwrap_or(0);
    element(der::BITS, &[&[unused], bytes.as_slice()].concat())
}

fn pem(bytes: &[u8]) -> String {
    const LINE: usize = 64;
    let text = STANDARD.encode(bytes);
    let mut out = "-----BEGIN CERTIFICATE-----\n".to_owned();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(LINE));
        out.push_str(line);
        out.push('\n');
        rest = after;
    }
    out.push_str("-----END CERTIFICATE-----\n");
    out
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};

    use super::super::{certificates_in, request_in, subject_of};
    use super::*;

    #[test]
    fn a_request_is_signed_for_its_subject_and_a_broken_one_is_not_read() {
        let key = KeyPair::generate().expect("there is chance");
        let mut params = CertificateParams::new(vec!["a.example".to_owned()]).expect("the name is fine");
        params.distinguished_name.push(DnType::CommonName, "jane");
        params.distinguished_name.push(DnType::OrganizationName, "devs");
        let pem =
            params.serialize_request(&key).and_then(|request| request.pem()).expect("it can be asked for");
        let request = request_in(&pem).expect("it is one");
        assert_eq!((request.subject.name.as_str(), request.dns_names, request.addresses), ("jane", 1, 0));
        let authority = crate::pki::tests::authority();
        let order = Order {
            request: &request,
            usages: &["client auth", "digital signature"],
            seconds: Some(3_600),
            now: Time::from_millis(1_764_000_000_000),
        };
        let signed = authority.sign(&order).expect("it is signed");
        let certificates = certificates_in(&signed).expect("it is one");
        let subject = subject_of(&certificates[0]).expect("it is for somebody");
        assert_eq!(
            (subject.name.as_str(), subject.organizations.as_slice()),
            ("jane", ["devs".to_owned()].as_slice())
        );
        let bad = authority.sign(&Order { usages: &["x"], ..order });
        assert_eq!(bad.expect_err("no such usage").to_string(), "unrecognized usage values: [\"x\"]");
        // One letter of the signature is another one.
        let at = pem.len() - 60;
        let other = if pem.as_bytes()[at] == b'A' { "B" } else { "A" };
        let broken = format!("{}{other}{}", &pem[..at], &pem[at + 1..]);
        assert!(request_in(&broken).is_err());
        assert_eq!(request_in("x"), Err("PEM block type must be CERTIFICATE REQUEST".to_owned()));
    }
}
