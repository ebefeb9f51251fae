//! The API as clients speak it: requests with a path and a JSON body, answers with a code and a JSON body.
//!
//! In process, without a wire: scripts, recorded requests and (later) a server go through [`Api::handle`], or through
//! the verbs themselves ([`Api::create_json`] and its siblings). What a user leaves out is filled in as the server
//! does, what it refuses is refused with the same Status.

mod account;
mod admit;
mod answer;
mod body;
mod check;
mod custom;
mod defaults;
mod deletion;
mod differs;
mod equivalent;
mod event_changes;
mod events;
mod evict;
mod fields;
mod form;
mod go;
mod hooks;
mod kept;
mod managed;
mod managers;
mod members;
mod parts;
mod patch;
mod path;
mod pod_parts;
mod pod_update;
mod policies;
mod question;
mod read;
mod request;
mod rules;
mod scale;
mod security;
mod selection;
mod signing;
mod store;
mod strategy;
mod terms;
#[cfg(test)]
mod tests;
mod versions;
mod warn;
mod write;

use replank_model::object::Object;
use replank_model::object::meta::Key;
use serde_json::Value;

pub use answer::served_at;
pub use patch::{PatchType, merge_patch};
pub use path::{Address, Subresource};
pub use question::Question;
pub use selection::Selection;
pub use store::{Store, handle};
pub use terms::{Terms, of_agent};

pub use crate::server::{Effect, ResourceType};

use crate::server::{Api, ApiError};
use deletion::{delete_options, not_a_number};

pub use request::{
    Connect, Method, OtherVersion, Repeated, Request, Response, Spoken, Wire, read_delete_options,
};

impl Api {
    /// Answers a request.
    pub fn handle(&mut self, request: &Request) -> Response {
        self.caller = request.wire.as_ref().map(|wire| wire.caller.clone());
        let response = store::handle(self, request);
        self.caller = None;
        response
    }

    /// The object at an address.
    pub(super) fn at(&self, address: &Address) -> Option<Object> {
        let key = address.key()?;
        let resource = &address.resource;
        if resource.kind == replank_model::object::Kind::Other {
            let group = events::group_of(resource);
            self.view().other(&group, &resource.name.kind, &key).cloned().map(Object::Other)
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
        let given = options;
        let options = delete_options(address, options)?;
        let known = self.existing(address)?;
        self.check_deletable(&known)?;
        self.ask_about_deletion(address, &known, given, effect)?;
        let (last, is_left) = match effect {
            Effect::DryRun => self.deletion_of(&known, &options)?,
            Effect::Real => {
                let last = self.delete_known(&known, &options)?;
                (last, self.at(address).is_some())
            }
        };
        // A definition waits for its objects, however short that is, and has a finalizer for it.
        let waits = matches!(known, Object::CustomResourceDefinition(_));
        Ok(if is_left || waits || strategy::returns_deleted(&address.resource) {
            answer::served_at(&address.resource, &last)
        } else {
            answer::deleted(&address.resource, &last)
        })
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
        let given = options;
        let options = delete_options(address, options)?;
        for name in ["limit", "timeoutSeconds"] {
            if let Some(text) = address.parameter(name).filter(|text| !text.is_empty()) {
                text.parse::<i64>().map_err(|_| not_a_number(text))?;
            }
        }
        let items: Vec<Object> = self.list(address)?;
        for item in &items {
            self.ask_about_deletion(address, item, given, effect)?;
        }
        // The answer is the list as it was.
        let list = self.as_list(address, &items);
        if effect == Effect::Real {
            for item in &items {
                self.delete_known(item, &options)?;
            }
        }
        Ok(list)
    }

    fn ask_about_deletion(
        &mut self,
        address: &Address,
        known: &Object,
        options: &Value,
        effect: Effect,
    ) -> Result<(), ApiError> {
        let (_, refuses) = self.has_policies();
        let has_hooks = self.caller.as_ref().is_some_and(|caller| caller.hooks.is_some());
        if !refuses && !has_hooks {
            return Ok(());
        }
        let old = self.shown_at(&address.resource, known)?;
        let mut warnings = Vec::new();
        let attempt = policies::Attempt {
            operation: "DELETE",
            resource: &address.resource,
            requested: None,
            of: None,
            subresource: "",
            namespace: known.meta().namespace.as_str(),
            name: known.meta().name.as_str(),
            object: None,
            old: Some(&old),
            is_dry: effect == Effect::DryRun,
        };
        self.ask_policies(&attempt)?;
        self.agree_with_hooks(address, Some(&old), None, (effect, &mut warnings), Some(options))
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
