//! Admission of what is no object of its resource: a Scale or an Eviction that is written to a part of one, and the options of a connection to what runs
//! (apiserver `pkg/endpoints/handlers/rest.go` `ConnectResource`, `registry/core/pod/rest`).

use serde_json::Value;

use super::path::Address;
use super::policies::{Attempt, Of};
use super::request::Connect;
use crate::server::{Api, ApiError, Effect};

/// What is asked of a part of an object.
#[derive(Clone, Debug)]
pub(super) struct PartWrite<'a> {
    /// `CREATE`, `UPDATE` or `CONNECT`.
    pub(super) operation: &'static str,
    /// What it is, which is not what the object is.
    pub(super) of: Of,
    /// The part.
    pub(super) part: &'a str,
    /// What is there, where it is changed.
    pub(super) old: Option<&'a Value>,
    pub(super) effect: Effect,
}

impl Api {
    /// Asks everybody who decides about writes about one of a part of an object. What they make of it.
    ///
    /// # Errors
    /// What it is refused with. While webhooks are to be called, an error that nobody is told.
    pub(super) fn admit_part(
        &mut self,
        address: &Address,
        write: &PartWrite<'_>,
        mut value: Value,
        warnings: &mut Vec<String>,
    ) -> Result<Value, ApiError> {
        let attempt = Attempt {
            operation: write.operation,
            resource: &address.resource,
            requested: None,
            of: Some(write.of),
            subresource: write.part,
            namespace: address.namespace.as_ref().map_or("", |namespace| namespace.as_str()),
            name: address.name.as_ref().map_or("", |name| name.as_str()),
            object: None,
            old: write.old,
            is_dry: write.effect == Effect::DryRun,
        };
        self.change_part_by_hooks(address, &attempt, &mut value, warnings)?;
        let attempt = Attempt { object: Some(&value), ..attempt };
        warnings.extend(self.ask_policies(&attempt)?);
        self.agree_part_with_hooks(address, &attempt, warnings)?;
        Ok(value)
    }

    /// Asks about a connection.
    ///
    /// # Errors
    /// As [`Api::admit_part`].
    pub(super) fn connect_json(
        &mut self,
        address: &Address,
        connect: &Connect,
        warnings: &mut Vec<String>,
    ) -> Result<(), ApiError> {
        let of = Of { group: "", version: "v1", kind: connect.kind };
        let write =
            PartWrite { operation: "CONNECT", of, part: connect.part, old: None, effect: Effect::Real };
        self.admit_part(address, &write, connect.options.clone(), warnings).map(|_| ())
    }
}
