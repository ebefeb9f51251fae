//! Objects in other versions than the one that is stored: those of a definition whose webhook converts, and of managers of fields that have written in another
//! version (apiextensions-apiserver `pkg/apiserver/conversion`, apimachinery `util/managedfields` `versionConverter`).
//!
//! A webhook is not called here: as an admission webhook, it is called where the request comes from, and the request is made again.

use replank_model::object::{Object, render};
use replank_schema::types;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::answer::{served, served_at};
use super::managed::{Other, Others, Part};
use super::request::Spoken;
use super::{custom, events};
use crate::server::{Api, ApiError, HookCall, HookPurpose, ResourceType};

/// How long a webhook may take, as upstream.
const WITHIN_SECONDS: u64 = 30;

impl Api {
    /// An object as it is served at an address, converted where its definition's webhook does so.
    ///
    /// # Errors
    /// Why it cannot be converted. While the webhook is to be called, an error that nobody is told.
    pub(super) fn shown_at(&self, resource: &ResourceType, object: &Object) -> Result<Value, ApiError> {
        if resource.webhook().is_none() || *object.api_version() == *resource.api_version() {
            return Ok(served_at(resource, object));
        }
        let mut value = self.converted(resource, served(object), &resource.api_version())?;
        custom::bring_out(resource, &mut value);
        Ok(value)
    }

    /// The stored state that a write is compared with, in the version of its address.
    ///
    /// # Errors
    /// As [`Api::shown_at`].
    pub(super) fn old_at(&self, resource: &ResourceType, known: &Object) -> Result<Value, ApiError> {
        if resource.webhook().is_some() && *known.api_version() != *resource.api_version() {
            return self.shown_at(resource, known);
        }
        let mut old = render(known);
        events::show(resource, &mut old);
        custom::bring_out(resource, &mut old);
        Ok(old)
    }

    /// What is stored of an object of an address.
    ///
    /// # Errors
    /// As [`Api::shown_at`].
    pub(super) fn stored_as(&self, resource: &ResourceType, value: Value) -> Result<Value, ApiError> {
        match resource.webhook() {
            Some(conversion) => {
                let mut value = value;
                if value.get("apiVersion").and_then(Value::as_str).is_none_or(str::is_empty) {
                    value["apiVersion"] = resource.api_version().into();
                }
                self.converted(resource, value, &conversion.stored)
            }
            None => Ok(value),
        }
    }

    /// An object in another version, by the webhook of its definition.
    fn converted(&self, resource: &ResourceType, value: Value, to: &str) -> Result<Value, ApiError> {
        let Some(conversion) = resource.webhook().filter(|_| value["apiVersion"] != to) else {
            return Ok(value);
        };
        let from = value["apiVersion"].as_str().unwrap_or_default().to_owned();
        let failed = |why: &str| {
            let kind = &resource.name.kind;
            ApiError::internal(&format!("conversion webhook for {from}, Kind={kind} failed: {why}"))
        };
        let Some(hooks) = self.caller.as_ref().and_then(|caller| caller.hooks.clone()) else {
            return Err(failed("webhooks are not called: the cluster was started without --call-webhooks"));
        };
        let version = conversion.reviews.iter().find(|version| matches!(version.as_str(), "v1" | "v1beta1"));
        let version =
            version.ok_or_else(|| failed("it speaks no version of ConversionReview that is known"))?;
        let review = json!({"kind": "ConversionReview", "apiVersion": format!("apiextensions.k8s.io/{version}"),
            "request": {"desiredAPIVersion": to, "objects": [value]}});
        let call = HookCall {
            id: xxh3_64(review.to_string().as_bytes()),
            client: conversion.client.clone(),
            timeout_seconds: WITHIN_SECONDS,
            purpose: HookPurpose::Conversion,
            review,
        };
        match hooks.ask(call) {
            Some(Ok(converted)) => Ok(with_identity(converted, &value)),
            Some(Err(why)) => Err(failed(&why)),
            None => Err(ApiError::internal("webhooks are to be called")),
        }
    }

    /// Whether webhooks are to be called before a request can be answered.
    pub(super) fn waits(&self) -> bool {
        self.caller.as_ref().and_then(|caller| caller.hooks.as_ref()).is_some_and(|hooks| hooks.waits())
    }

    /// The versions of a resource, for those who manage fields in them.
    pub(super) fn versions<'a>(
        &'a self,
        resource: &'a ResourceType,
        spoken: Option<&'a Spoken>,
    ) -> Versions<'a> {
        Versions { api: self, resource, spoken, schemas: self.schemas_of(resource) }
    }
}

/// A webhook changes neither who an object is nor what the server keeps of it (`restoreObjectMeta`).
fn with_identity(mut converted: Value, was: &Value) -> Value {
    let mut meta = was.get("metadata").cloned().unwrap_or_else(|| json!({}));
    for name in ["labels", "annotations"] {
        let given = converted.pointer(&format!("/metadata/{name}")).cloned();
        if let Value::Object(members) = &mut meta {
            match given {
                Some(given) => members.insert(name.to_owned(), given),
                None => members.remove(name),
            };
        }
    }
    converted["metadata"] = meta;
    converted
}

/// How an object of a resource is in its versions.
pub(super) struct Versions<'a> {
    api: &'a Api,
    resource: &'a ResourceType,
    spoken: Option<&'a Spoken>,
    /// `apiVersion` of each version of a definition, and its schema.
    schemas: Vec<(String, Value)>,
}

impl Others for Versions<'_> {
    fn part(&self, api_version: &str) -> Option<Part<'_>> {
        if self.resource.custom.is_some() {
            let (_, schema) = self.schemas.iter().find(|(version, _)| version == api_version)?;
            return Some(if schema.is_null() { Part::Deduced } else { Part::CustomRoot(schema, false) });
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        types().of_kind(group, version, &self.resource.name.kind).map(|of| Part::Named(of, false))
    }

    fn convert(&self, value: &Value, to: &str) -> Result<Other, ApiError> {
        if value["apiVersion"] == to {
            return Ok(Other::Known(value.clone()));
        }
        if self.resource.custom.is_some() {
            if !self.schemas.iter().any(|(version, _)| version == to) {
                return Ok(Other::Gone);
            }
            if self.resource.webhook().is_some() {
                return self.api.converted(self.resource, value.clone(), to).map(Other::Known);
            }
            let mut value = value.clone();
            value["apiVersion"] = to.into();
            return Ok(Other::Known(value));
        }
        let Some(spoken) = self.spoken else { return Ok(Other::Unknown) };
        if to == spoken.api_version(self.resource) {
            return Ok(Other::Known(spoken.0.shown(value.clone())));
        }
        if to == self.resource.api_version() {
            return spoken.kept(value).map(Other::Known);
        }
        Ok(Other::Unknown)
    }
}
