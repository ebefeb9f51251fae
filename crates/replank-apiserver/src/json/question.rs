//! Questions that are asked by creating an object which is answered and not kept: how they are read.

use replank_model::text::Namespace;
use replank_model::time::Time;
use serde_json::Value;

use super::managed::{Keeper, Part};
use super::path::Address;
use super::request::Request;
use super::terms::Terms;
use super::{answer, body, form};
use crate::server::{ApiError, ResourceType};

/// A question as a server reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The object, with the managers of its fields.
    pub value: Value,
    /// What the client is warned of.
    pub warnings: Vec<String>,
}

impl Question {
    /// Reads a question about the resource in a namespace.
    ///
    /// # Errors
    /// 400 for what is no object of the kind, 422 for options that are none.
    pub fn read(
        resource: &ResourceType,
        namespace: &str,
        request: &Request,
        now: Time,
    ) -> Result<Self, ApiError> {
        let namespace = (!namespace.is_empty()).then(|| Namespace::from(namespace));
        let mut address = Address::new(resource.clone(), namespace, None);
        let query = request.path.split_once('?').map_or("", |(_, query)| query);
        for (name, value) in super::path::parameters(query) {
            address = address.with_parameter(&name, &value);
        }
        let mut terms = Terms::read(&address, request)?;
        let mut value = body::read(&address, request.body.clone(), &mut terms)?;
        if let Some(namespace) = &address.namespace {
            answer::member(&mut value, "metadata")["namespace"] = namespace.as_str().into();
        }
        if let (Some(client), Some(of)) = (
            &terms.client,
            replank_schema::types().of_kind(&resource.name.group, &resource.version, &resource.name.kind),
        ) {
            let mut empty = Value::Object(serde_json::Map::new());
            form::encode_kind(resource, &mut empty);
            let keeper = Keeper {
                of: Part::Named(of, false),
                empty,
                api_version: resource.api_version(),
                subresource: "",
                reset: &[],
                now: now.to_string(),
                versions: None,
            };
            form::encode_kind(resource, &mut value);
            keeper.update(None, &mut value, &client.manager)?;
        }
        Ok(Self { value, warnings: terms.warnings })
    }
}
