//! Custom resources in a version that a webhook converts (apiextensions-apiserver `pkg/apiserver/conversion/webhook_converter.go`).
//!
//! Objects are kept in the version that their definition stores. Whoever asks for another one is answered with what the webhook makes of them; what they send
//! is converted before it is written.

use std::sync::Arc;

use replank_apiserver::{ApiError, ResourceType};
use replank_model::object::meta::Key;
use replank_model::object::{Object, render};
use serde_json::{Value, json};

use super::hooks;
use crate::mirror::{Mirror, Snapshot, StorageId, Stored};
use crate::read::{self, Listed, Showing, Shown};
use crate::route::Target;

/// A version that is asked for, and that is not the one that is kept.
#[derive(Clone, Debug)]
pub(super) struct Conversion {
    /// The same target in the version that is kept.
    pub(super) kept: Target,
    /// `apiVersion` as it is asked for.
    asked: String,
    client: Value,
    versions: Vec<String>,
    /// Whether webhooks are called.
    is_called: bool,
}

impl Conversion {
    /// The conversion that a target needs, if it needs one.
    pub(super) fn of(target: &Target, snapshot: &Snapshot, is_called: bool) -> Option<Self> {
        if !target.is_custom {
            return None;
        }
        let name = &target.resource.name;
        let definitions = ResourceType::built_in("apiextensions.k8s.io", "v1", "customresourcedefinitions")?;
        let key = Key::cluster(format!("{}.{}", name.plural, name.group).as_str());
        let definition = render(&snapshot.get(&StorageId::of_resource(definitions), &key)?.object);
        let conversion = definition.pointer("/spec/conversion").filter(|one| one["strategy"] == "Webhook")?;
        let versions = definition.pointer("/spec/versions")?.as_array()?;
        let storage = versions.iter().find(|version| version["storage"] == true)?["name"].as_str()?;
        if storage == &*target.resource.version {
            return None;
        }
        let is_it = |one: &&ResourceType| one.name == *name && &*one.version == storage;
        // A version that is stored need not be served.
        let resource = snapshot.custom.iter().find(is_it).cloned();
        let resource = resource.unwrap_or_else(|| {
            let mut resource = target.resource.clone();
            resource.version = storage.into();
            resource
        });
        let kept = Target { resource, ..target.clone() };
        let reviews = conversion.pointer("/webhook/conversionReviewVersions").and_then(Value::as_array);
        let reviews = reviews.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let client = conversion.pointer("/webhook/clientConfig").cloned().unwrap_or_default();
        Some(Self { kept, asked: target.resource.api_version(), client, versions: reviews, is_called })
    }

    /// Objects in the version that is asked for.
    ///
    /// # Errors
    /// Why they cannot be converted.
    pub(super) async fn shown(
        &self,
        objects: Vec<Value>,
        snapshot: &Snapshot,
    ) -> Result<Vec<Value>, ApiError> {
        self.convert(objects, &self.asked, snapshot).await
    }

    /// A list as it is shown.
    ///
    /// # Errors
    /// Why it cannot be converted.
    pub(super) async fn list(&self, listed: Listed, snapshot: &Snapshot) -> Result<Listed, ApiError> {
        let objects: Vec<Value> = listed.items.iter().map(|stored| read::value(&self.kept, stored)).collect();
        let items = self.shown(objects, snapshot).await?;
        let items: Result<Vec<_>, _> = items.into_iter().map(|item| self.stored(item)).collect();
        Ok(Listed { metadata: listed.metadata, items: items? })
    }

    /// One object as it is shown.
    ///
    /// # Errors
    /// Why it cannot be converted.
    pub(super) async fn one(&self, stored: &Stored, snapshot: &Snapshot) -> Result<Arc<Stored>, ApiError> {
        let shown = self.shown(vec![read::value(&self.kept, stored)], snapshot).await?;
        let one = shown.into_iter().next().ok_or_else(|| self.failed("no object in the answer"))?;
        self.stored(one)
    }

    fn stored(&self, value: Value) -> Result<Arc<Stored>, ApiError> {
        Object::from_json(value)
            .map(|object| Arc::new(Stored::new(object)))
            .map_err(|error| self.failed(&error.to_string()))
    }

    /// The version is that of the objects that are to be converted.
    fn failed(&self, why: &str) -> ApiError {
        let (kind, kept) = (&self.kept.resource.name.kind, self.kept.resource.api_version());
        ApiError::internal(&format!("conversion webhook for {kept}, Kind={kind} failed: {why}"))
    }

    async fn convert(
        &self,
        objects: Vec<Value>,
        to: &str,
        snapshot: &Snapshot,
    ) -> Result<Vec<Value>, ApiError> {
        if objects.iter().all(|object| object["apiVersion"] == to) {
            return Ok(objects);
        }
        if !self.is_called {
            return Err(
                self.failed("webhooks are not called: the cluster was started without --call-webhooks")
            );
        }
        let version = self.versions.iter().find(|version| matches!(version.as_str(), "v1" | "v1beta1"));
        let version =
            version.ok_or_else(|| self.failed("it speaks no version of ConversionReview that is known"))?;
        let review = json!({"kind": "ConversionReview", "apiVersion": format!("apiextensions.k8s.io/{version}"),
            "request": {"desiredAPIVersion": to, "objects": objects}});
        hooks::convert(self.client.clone(), review, snapshot).await.map_err(|why| self.failed(&why))
    }
}

/// A watch shows what it tells of as it comes.
#[derive(Debug)]
pub(super) struct Watched {
    /// How it is converted.
    pub(super) conversion: Conversion,
    /// Where Services are looked up.
    pub(super) mirror: Arc<Mirror>,
}

impl Shown for Watched {
    fn shown<'a>(&'a self, stored: &'a Stored) -> Showing<'a> {
        Box::pin(async move { self.conversion.one(stored, &self.mirror.snapshot()).await })
    }
}
