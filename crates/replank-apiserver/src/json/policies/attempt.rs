//! A write, as policies see it.

use serde_json::{Value, json};

use crate::server::ResourceType;

fn plural(resource: &ResourceType) -> Value {
    let name = &resource.name;
    json!({"group": &*name.group, "version": &*resource.version, "resource": &*name.plural})
}

/// A kind that is written to a part of an object, or that says how to connect to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Of {
    pub(in super::super) group: &'static str,
    pub(in super::super) version: &'static str,
    pub(in super::super) kind: &'static str,
}

/// A write that a client asks for.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Attempt<'a> {
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub(in super::super) operation: &'static str,
    pub(in super::super) resource: &'a ResourceType,
    /// The resource as it was asked for, where that is another version.
    pub(in super::super) requested: Option<&'a ResourceType>,
    /// What is written, where that is no object of the resource.
    pub(in super::super) of: Option<Of>,
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
    /// Group, version and kind of what is written.
    pub(in super::super) fn kind(&self) -> Value {
        self.kind_of(self.resource)
    }

    /// The same as it was asked for.
    pub(in super::super) fn requested_kind(&self) -> Value {
        self.kind_of(self.requested.unwrap_or(self.resource))
    }

    fn kind_of(&self, resource: &ResourceType) -> Value {
        match self.of {
            Some(Of { group, version, kind }) => json!({"group": group, "version": version, "kind": kind}),
            None => {
                let (name, version) = (&resource.name, &*resource.version);
                json!({"group": &*name.group, "version": version, "kind": &*name.kind})
            }
        }
    }

    /// Group, version and resource of what is written.
    pub(in super::super) fn plural(&self) -> Value {
        plural(self.resource)
    }

    /// The same as it was asked for.
    pub(in super::super) fn requested_plural(&self) -> Value {
        plural(self.requested.unwrap_or(self.resource))
    }

    /// Policies do not decide about policies.
    pub(super) fn is_exempt(&self) -> bool {
        &*self.resource.name.group == "admissionregistration.k8s.io"
            && (self.resource.name.plural.starts_with("validatingadmissionpolic")
                || self.resource.name.plural.starts_with("mutatingadmissionpolic"))
    }
}
