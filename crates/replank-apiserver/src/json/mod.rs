//! The API as clients speak it: requests with a path and a JSON body, answers with a code and a JSON body.
//!
//! In process, without a wire: scripts, recorded requests and (later) a server go through [`Api::handle`], or through
//! the verbs themselves ([`Api::create_json`] and its siblings). What a user leaves out is filled in as the server
//! does, what it refuses is refused with the same Status.

mod answer;
mod check;
mod defaults;
mod evict;
mod fields;
mod patch;
mod path;
mod read;
mod request;
mod scale;
mod selection;
mod store;
mod write;

use replank_model::object::Object;
use replank_model::object::meta::Key;
use serde_json::{Value, json};

pub use answer::served_at;
pub use patch::{PatchType, merge_patch};
pub use path::{Address, Subresource};
pub use selection::Selection;
pub use store::{Store, handle};

pub use crate::server::{Effect, ResourceType};

use crate::server::{Api, ApiError, DeleteOptions};

pub use request::{Method, Request, Response, read_delete_options};

impl Api {
    /// Answers a request.
    pub fn handle(&mut self, request: &Request) -> Response {
        store::handle(self, request)
    }

    /// The object at an address.
    pub(super) fn at(&self, address: &Address) -> Option<Object> {
        let key = address.key()?;
        let resource = &address.resource;
        if resource.kind == replank_model::object::Kind::Other {
            self.view().other(&resource.name.group, &resource.name.kind, &key).cloned().map(Object::Other)
        } else {
            self.view().object(resource.kind, &key)
        }
    }

    fn existing(&self, address: &Address) -> Result<Object, ApiError> {
        let key = || address.key().unwrap_or_default();
        self.at(address).ok_or_else(|| ApiError::not_found(address.resource.name.clone(), &key()))
    }

    /// Deletes an object. The answer is its last state where it stays for a while, else a Status.
    ///
    /// # Errors
    /// As a server refuses.
    pub fn delete_json(
        &mut self,
        address: &Address,
        options: &Value,
        effect: Effect,
    ) -> Result<Value, ApiError> {
        let options = delete_options(address, options)?;
        let known = self.existing(address)?;
        self.check_deletable(&known)?;
        match effect {
            Effect::DryRun => Ok(answer::deleted(&address.resource, &known)),
            Effect::Real => {
                let last = self.delete_known(&known, &options)?;
                let is_left = self.at(address).is_some();
                Ok(if is_left || matches!(last, Object::Pod(_)) {
                    answer::served(&last)
                } else {
                    answer::deleted(&address.resource, &last)
                })
            }
        }
    }

    /// Deletes every object of a namespace that the address' selectors match.
    ///
    /// # Errors
    /// As a server refuses.
    pub fn delete_collection_json(
        &mut self,
        address: &Address,
        options: &Value,
        effect: Effect,
    ) -> Result<Value, ApiError> {
        let options = delete_options(address, options)?;
        let mut items: Vec<Object> = self.list(address)?;
        if effect == Effect::Real {
            for item in &mut items {
                *item = self.delete_known(item, &options)?;
            }
        }
        Ok(self.as_list(address, &items))
    }

    fn check_deletable(&self, known: &Object) -> Result<(), ApiError> {
        // Plugin NamespaceLifecycle.
        const KEPT: [&str; 3] = ["default", "kube-system", "kube-public"];
        if let Object::Namespace(namespace) = known
            && KEPT.contains(&namespace.meta.name.as_str())
        {
            let key = Key::cluster(namespace.meta.name.clone());
            let why = "this namespace may not be deleted";
            return Err(ApiError::forbidden(replank_model::object::Kind::Namespace, &key, why));
        }
        Ok(())
    }
}

/// Reads meta/v1 DeleteOptions from a body, and what the query says in its place.
fn delete_options(address: &Address, body: &Value) -> Result<DeleteOptions, ApiError> {
    let mut merged = json!({});
    if let Value::Object(members) = body {
        merged = Value::Object(members.clone());
    }
    for member in ["gracePeriodSeconds", "propagationPolicy"] {
        if let Some(text) = address.parameter(member) {
            merged[member] = text.parse::<i64>().map_or_else(|_| Value::from(text), Value::from);
        }
    }
    read_delete_options(&merged)
}
