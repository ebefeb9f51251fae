//! A write, as policies see it.

use serde_json::Value;

use crate::server::ResourceType;

/// A write that a client asks for.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Attempt<'a> {
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub(in super::super) operation: &'static str,
    pub(in super::super) resource: &'a ResourceType,
    /// Empty for the object itself.
    pub(in super::super) subresource: &'a str,
    pub(in super::super) namespace: &'a str,
    pub(in super::super) name: &'a str,
    /// What it is to be; absent at a deletion.
    pub(in super::super) object: Option<&'a Value>,
    /// What it is; absent at a creation.
    pub(in super::super) old: Option<&'a Value>,
    pub(in super::super) is_dry: bool,
}

impl Attempt<'_> {
    /// Policies do not decide about policies.
    pub(super) fn is_exempt(&self) -> bool {
        &*self.resource.name.group == "admissionregistration.k8s.io"
            && (self.resource.name.plural.starts_with("validatingadmissionpolic")
                || self.resource.name.plural.starts_with("mutatingadmissionpolic"))
    }
}
