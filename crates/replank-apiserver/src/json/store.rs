//! The interface by which clients that speak JSON reach the objects, and what a request does with it.

use serde_json::Value;

use super::answer::served_at;
use super::{Address, Effect, Method, PatchType, Request, Response, Subresource};
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
    fn create(&mut self, address: &Address, body: Value, effect: Effect) -> Result<Value, ApiError>;

    /// Replaces an object, or its subresource.
    ///
    /// # Errors
    /// 404, 409 if it is another incarnation or version than the body names, 422 where the body is invalid.
    fn update(&mut self, address: &Address, body: Value, effect: Effect) -> Result<Value, ApiError>;

    /// Changes a part of an object, or of its subresource.
    ///
    /// # Errors
    /// As [`Store::update`], and 400 where the patch does not fit.
    fn patch(
        &mut self,
        address: &Address,
        kind: PatchType,
        patch: &Value,
        effect: Effect,
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
}

impl Store for Api {
    fn address(&self, path: &str) -> Result<Address, ApiError> {
        Self::address(self, path)
    }

    fn get(&self, address: &Address) -> Result<Value, ApiError> {
        match address.subresource {
            None | Some(Subresource::Status) => self.get_json(address),
            Some(Subresource::Scale) => self.get_scale(address),
            Some(Subresource::Eviction) => Err(ApiError::method_not_allowed()),
        }
    }

    fn list(&self, address: &Address) -> Result<Value, ApiError> {
        self.list_json(address)
    }

    fn create(&mut self, address: &Address, body: Value, effect: Effect) -> Result<Value, ApiError> {
        self.create_json(address, body, effect).map(|object| served_at(&address.resource, &object))
    }

    fn update(&mut self, address: &Address, body: Value, effect: Effect) -> Result<Value, ApiError> {
        match address.subresource {
            None | Some(Subresource::Status) => {
                self.update_json(address, body, effect).map(|object| served_at(&address.resource, &object))
            }
            Some(Subresource::Scale) => self.update_scale(address, &body, effect),
            Some(Subresource::Eviction) => Err(ApiError::method_not_allowed()),
        }
    }

    fn patch(
        &mut self,
        address: &Address,
        kind: PatchType,
        patch: &Value,
        effect: Effect,
    ) -> Result<Value, ApiError> {
        match address.subresource {
            None | Some(Subresource::Status) => self
                .patch_json(address, kind, patch, effect)
                .map(|object| served_at(&address.resource, &object)),
            Some(Subresource::Scale) => self.patch_scale(address, kind, patch, effect),
            Some(Subresource::Eviction) => Err(ApiError::method_not_allowed()),
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
}

/// Answers a request.
pub fn handle(store: &mut dyn Store, request: &Request) -> Response {
    match answer(store, request) {
        Ok((code, body)) => Response { code, body },
        Err(error) => Response { code: error.code, body: error.to_status() },
    }
}

fn answer(store: &mut dyn Store, request: &Request) -> Result<(u16, Value), ApiError> {
    let address = store.address(&request.path)?;
    let effect = address.effect(&request.body)?;
    let body = &request.body;
    match (request.method, &address.name, address.subresource) {
        (Method::Get, None, None) => Ok((200, store.list(&address)?)),
        (Method::Get, Some(_), None | Some(Subresource::Status | Subresource::Scale)) => {
            Ok((200, store.get(&address)?))
        }
        (Method::Post, None, None) => Ok((201, store.create(&address, body.clone(), effect)?)),
        (Method::Post, Some(_), Some(Subresource::Eviction)) => Ok((201, store.evict(&address, body)?)),
        (Method::Put, Some(_), _) => Ok((200, store.update(&address, body.clone(), effect)?)),
        (Method::Patch, Some(_), _) => {
            let kind = PatchType::of(&request.content_type)?;
            Ok((200, store.patch(&address, kind, body, effect)?))
        }
        (Method::Delete, _, None) => Ok((200, store.delete(&address, body, effect)?)),
        (Method::Get | Method::Post | Method::Put | Method::Patch | Method::Delete, _, _) => {
            Err(ApiError::method_not_allowed())
        }
    }
}
