//! The interface by which clients that speak JSON reach the objects, and what a request does with it.

use serde_json::Value;

use super::answer::served_at;
use super::{Address, Connect, Effect, Method, PatchType, Request, Response, Subresource, Terms};
use crate::server::{Api, ApiError};

/// Objects behind addresses, as JSON. A server on a wire needs nothing else of the simulated cluster; [`Api`] is the
/// implementation.
///
/// Every method refuses as a server does: with the Status that [`ApiError::to_status`] renders.
pub trait Store {
    /// Reads a path with its query.
    ///
    /// # Errors
    /// 404 where no resource is behind it.
    fn address(&self, path: &str) -> Result<Address, ApiError>;

    /// One object, or its subresource.
    ///
    /// # Errors
    /// 404 where there is none.
    fn get(&self, address: &Address) -> Result<Value, ApiError>;

    /// The objects of a collection that the address' selectors match, as a list.
    ///
    /// # Errors
    /// 400 where a selector cannot be read.
    fn list(&self, address: &Address) -> Result<Value, ApiError>;

    /// Creates an object in a collection.
    ///
    /// # Errors
    /// What admission and validation say, and 409 if the name is taken.
    fn create(&mut self, address: &Address, body: Value, terms: &mut Terms) -> Result<Value, ApiError>;

    /// Replaces an object, or its subresource.
    ///
    /// # Errors
    /// 404, 409 if it is another incarnation or version than the body names, 422 where the body is invalid.
    fn update(&mut self, address: &Address, body: Value, terms: &mut Terms) -> Result<Value, ApiError>;

    /// Changes a part of an object, or of its subresource.
    ///
    /// # Errors
    /// As [`Store::update`], and 400 where the patch does not fit.
    fn patch(
        &mut self,
        address: &Address,
        kind: PatchType,
        patch: &Value,
        terms: &mut Terms,
    ) -> Result<Value, ApiError>;

    /// Deletes an object, or all of a collection that the address' selectors match; `options` are DeleteOptions.
    ///
    /// # Errors
    /// 404, 409 if a precondition does not hold, 422 where an option is unknown.
    fn delete(&mut self, address: &Address, options: &Value, effect: Effect) -> Result<Value, ApiError>;

    /// Evicts the pod at an address; `body` is a policy/v1 Eviction, whose options say, too, whether it is a dry run.
    ///
    /// # Errors
    /// 404, 429 if a disruption budget allows no eviction, and see [`crate::EvictionRefusal`].
    fn evict(&mut self, address: &Address, body: &Value) -> Result<Value, ApiError>;

    /// Binds the pod at an address, or the one that `body`, a v1 Binding, names.
    ///
    /// # Errors
    /// 404, 409 where the pod has a node already, or may have none yet.
    fn bind(&mut self, address: &Address, body: &Value, terms: &mut Terms) -> Result<Value, ApiError>;

    /// Asks admission about a connection to what runs at an address.
    ///
    /// # Errors
    /// What it is refused with.
    fn connect(
        &mut self,
        address: &Address,
        connect: &Connect,
        warnings: &mut Vec<String>,
    ) -> Result<(), ApiError>;
}

impl Store for Api {
    fn address(&self, path: &str) -> Result<Address, ApiError> {
        Self::address(self, path)
    }

    fn get(&self, address: &Address) -> Result<Value, ApiError> {
        match address.subresource {
            None
            | Some(
                Subresource::Status
                | Subresource::EphemeralContainers
                | Subresource::Resize
                | Subresource::Approval,
            ) => self.get_json(address),
            Some(Subresource::Scale) => self.get_scale(address),
            Some(Subresource::Eviction | Subresource::Binding | Subresource::Finalize) => {
                Err(ApiError::method_not_allowed())
            }
        }
    }

    fn list(&self, address: &Address) -> Result<Value, ApiError> {
        self.list_json(address)
    }

    fn create(&mut self, address: &Address, body: Value, terms: &mut Terms) -> Result<Value, ApiError> {
        self.create_as(address, body, terms).map(|object| served_at(&address.resource, &object))
    }

    fn update(&mut self, address: &Address, body: Value, terms: &mut Terms) -> Result<Value, ApiError> {
        match address.subresource {
            None
            | Some(
                Subresource::Status
                | Subresource::EphemeralContainers
                | Subresource::Resize
                | Subresource::Approval
                | Subresource::Finalize,
            ) => self.update_as(address, body, terms).map(|object| served_at(&address.resource, &object)),
            Some(Subresource::Scale) => self.update_scale(address, &body, terms),
            Some(Subresource::Eviction | Subresource::Binding) => Err(ApiError::method_not_allowed()),
        }
    }

    fn patch(
        &mut self,
        address: &Address,
        kind: PatchType,
        patch: &Value,
        terms: &mut Terms,
    ) -> Result<Value, ApiError> {
        match address.subresource {
            None
            | Some(
                Subresource::Status
                | Subresource::EphemeralContainers
                | Subresource::Resize
                | Subresource::Approval,
            ) => {
                self.patch_as(address, kind, patch, terms).map(|object| served_at(&address.resource, &object))
            }
            Some(Subresource::Scale) => self.patch_scale_as(address, kind, patch, terms),
            Some(Subresource::Eviction | Subresource::Binding | Subresource::Finalize) => {
                Err(ApiError::method_not_allowed())
            }
        }
    }

    fn delete(&mut self, address: &Address, options: &Value, effect: Effect) -> Result<Value, ApiError> {
        match address.name {
            Some(_) => self.delete_json(address, options, effect),
            None => self.delete_collection_json(address, options, effect),
        }
    }

    fn evict(&mut self, address: &Address, body: &Value) -> Result<Value, ApiError> {
        self.evict_json(address, body)
    }

    fn bind(&mut self, address: &Address, body: &Value, terms: &mut Terms) -> Result<Value, ApiError> {
        let part = super::parts::as_binding(address);
        let read = super::body::read(&part, body.clone(), terms)?;
        self.bind_json(address, &read, terms)
    }

    fn connect(
        &mut self,
        address: &Address,
        connect: &Connect,
        warnings: &mut Vec<String>,
    ) -> Result<(), ApiError> {
        self.connect_json(address, connect, warnings)
    }
}

/// Answers a request.
pub fn handle(store: &mut dyn Store, request: &Request) -> Response {
    let mut warnings = Vec::new();
    match answer(store, request, &mut warnings) {
        Ok((code, body)) => Response { code, body, warnings },
        Err(error) => Response { code: error.code, body: error.to_status(), warnings },
    }
}

fn answer(
    store: &mut dyn Store,
    request: &Request,
    warnings: &mut Vec<String>,
) -> Result<(u16, Value), ApiError> {
    let address = store.address(&request.path)?;
    if let Some(connect) = request.wire.as_ref().and_then(|wire| wire.connect.as_ref()) {
        return store.connect(&address, connect, warnings).map(|()| (200, Value::Null));
    }
    let mut terms = Terms::read(&address, request)?;
    let answered = answer_as(store, &address, request, &mut terms);
    warnings.append(&mut terms.warnings);
    answered
}

fn answer_as(
    store: &mut dyn Store,
    address: &Address,
    request: &Request,
    terms: &mut Terms,
) -> Result<(u16, Value), ApiError> {
    let body = &request.body;
    match (request.method, &address.name, address.subresource) {
        (Method::Get, None, None) => Ok((200, store.list(address)?)),
        (Method::Get, Some(_), _) => Ok((200, store.get(address)?)),
        (Method::Post, None, None) => Ok((201, store.create(address, body.clone(), terms)?)),
        // Who serves custom resources does not look at the name in the path (apiextensions, `crdHandler`).
        (Method::Post, Some(_), None) if address.resource.custom.is_some() => {
            let collection = Address { name: None, ..address.clone() };
            Ok((201, store.create(&collection, body.clone(), terms)?))
        }
        (Method::Post, Some(_), Some(Subresource::Eviction)) => Ok((201, store.evict(address, body)?)),
        (Method::Post, _, Some(Subresource::Binding)) => Ok((201, store.bind(address, body, terms)?)),
        (Method::Put, Some(_), _) => {
            let written = store.update(address, body.clone(), terms)?;
            Ok((if terms.has_created { 201 } else { 200 }, written))
        }
        (Method::Patch, Some(_), _) => {
            let kind = PatchType::of(&request.content_type)?;
            let written = store.patch(address, kind, body, terms)?;
            Ok((if terms.has_created { 201 } else { 200 }, written))
        }
        (Method::Delete, _, None) if preserves_pods(address, body) => {
            let deleted = store.delete(address, body, terms.effect);
            // A collection whose options are none is not looked at.
            if deleted.is_ok() || address.name.is_some() {
                terms.warnings.push(PRESERVED.to_owned());
            }
            Ok((200, deleted?))
        }
        (Method::Delete, _, None) => Ok((200, store.delete(address, body, terms.effect)?)),
        (Method::Get | Method::Post | Method::Put | Method::Patch | Method::Delete, _, _) => {
            Err(ApiError::method_not_allowed())
        }
    }
}

const PRESERVED: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove \
                         them or set propagationPolicy=Orphan to suppress this warning";

/// Whether a deletion leaves the pods of Jobs behind, which nobody has asked for (batch/job storage, `Delete`).
fn preserves_pods(address: &Address, options: &Value) -> bool {
    let is_job = address.resource.kind == replank_model::object::Kind::Job;
    is_job
        && super::deletion::delete_options(address, options)
            .is_ok_and(|options| options.propagation.is_none())
}
