//! Who a certificate is for (apiserver `pkg/authentication/request/x509`).

use super::der::{self, Element, OID, SET};

const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];
const ORGANIZATION: [u8; 3] = [0x55, 0x04, 0x0a];
/// Kubernetes' own attribute, for a user's uid.
const UID: [u8; 9] = [0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xc2, 0x53, 0x02];

/// Who something is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Common name.
    pub name: String,
    /// Organizations.
    pub organizations: Vec<String>,
    /// Uid, where Kubernetes' own attribute tells one.
    pub uid: String,
}

/// Reads a name: sets of attributes.
pub(super) fn read(name: Element<'_>) -> Option<Subject> {
    let mut subject = Subject::default();
    for set in name.sequence()? {
        let attributes = if set.tag == SET { set.elements()? } else { return None };
        for attribute in attributes {
            let parts = attribute.sequence()?;
            let [kind, value] = parts.as_slice() else { return None };
            if kind.tag != OID {
                return None;
            }
            let text = || String::from_utf8_lossy(value.content).into_owned();
            if kind.content == COMMON_NAME {
                subject.name = text();
            } else if kind.content == ORGANIZATION {
                subject.organizations.push(text());
            } else if kind.content == UID {
                subject.uid = text();
            }
        }
    }
    Some(subject)
}

/// Who a certificate, in DER, is for.
#[must_use]
pub fn subject_of(certificate: &[u8]) -> Option<Subject> {
    let parts = der::whole(certificate)?.sequence()?;
    let members = parts.first()?.sequence()?;
    // Version, if any; then number, algorithm, issuer, validity, subject.
    let skipped = usize::from(members.first()?.tag == der::CONTEXT);
    read(*members.get(skipped + 4)?)
}
