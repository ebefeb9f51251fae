//! Custom resources in a version that a webhook converts (apiextensions-apiserver `pkg/apiserver/conversion/webhook_converter.go`).
//!
//! Objects are kept in the version that their definition stores. Whoever asks for another one is answered with what the webhook makes of them; what they send
//! is converted before it is written.

use std::sync::Arc;
use std::time::Duration;

use replank_apiserver::{ApiError, ResourceType, json};
use replank_model::object::meta::Key;
use replank_model::object::{Object, render};
use serde_json::{Value, json};

use super::hooks::{self, Called};
use crate::mirror::{Mirror, Snapshot, StorageId, Stored};
use crate::read::{self, Listed};
use crate::route::Target;

/// How long a webhook may take, as upstream.
const WITHIN: Duration = Duration::from_secs(30);

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

    /// A path in the version that is kept.
    pub(super) fn kept_path(&self, path: &str) -> String {
        let of = |api_version: &str| format!("/apis/{api_version}/");
        path.replacen(&of(&self.asked), &of(&self.kept.resource.api_version()), 1)
    }

    /// Objects in the version that is kept.
    ///
    /// # Errors
    /// Why they cannot be converted.
    pub(super) async fn kept(
        &self,
        objects: Vec<Value>,
        snapshot: &Snapshot,
    ) -> Result<Vec<Value>, ApiError> {
        self.convert(objects, &self.kept.resource.api_version(), snapshot).await
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
        let objects = listed.items.iter().map(|stored| read::value(&self.kept, stored)).collect();
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

    /// The whole object that a merge patch makes of the one that is there, in the version that is kept.
    ///
    /// # Errors
    /// 404, and why it cannot be converted. Other patches are refused: what they would change is known to the webhook alone.
    pub(super) async fn patched(
        &self,
        mirror: &Mirror,
        content_type: &str,
        patch: &Value,
    ) -> Result<Value, ApiError> {
        let known = read::get(mirror, &self.kept)?;
        if !content_type.starts_with("application/merge-patch+json") {
            let why =
                "only merge patches are taken in a version that a webhook converts; patch the stored version";
            return Err(self.failed(why));
        }
        let snapshot = mirror.snapshot();
        let shown = self.shown(vec![read::value(&self.kept, &known)], &snapshot).await?;
        let mut shown = shown.into_iter().next().unwrap_or_default();
        json::merge_patch(&mut shown, patch);
        let kept = self.kept(vec![shown], &snapshot).await?;
        Ok(kept.into_iter().next().unwrap_or_default())
    }

    /// Events cannot be converted one by one while they come.
    pub(super) fn unwatched(&self) -> ApiError {
        self.failed("a watch is served in the stored version alone")
    }

    fn failed(&self, why: &str) -> ApiError {
        let kind = &self.kept.resource.name.kind;
        ApiError::internal(&format!("conversion webhook for {}, Kind={kind} failed: {why}", self.asked))
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
        let count = objects.len();
        let uid = hooks::uid();
        let review = json!({"kind": "ConversionReview", "apiVersion": format!("apiextensions.k8s.io/{version}"),
            "request": {"uid": uid, "desiredAPIVersion": to, "objects": objects}});
        let called = Called { client: &self.client, within: WITHIN, review: &review };
        let answer = hooks::post(called, snapshot).await.map_err(|why| self.failed(&why))?;
        let response = &answer["response"];
        let text = |path: &str| response.pointer(path).and_then(Value::as_str).unwrap_or_default();
        if text("/uid") != uid {
            return Err(self.failed(&format!("expected response.uid={uid:?}, got {:?}", text("/uid"))));
        }
        if text("/result/status") != "Success" {
            return Err(self.failed(text("/result/message")));
        }
        let converted =
            response.get("convertedObjects").and_then(Value::as_array).cloned().unwrap_or_default();
        if converted.len() != count {
            let why = format!("webhook returned {} objects, expected {count}", converted.len());
            return Err(self.failed(&why));
        }
        match converted.iter().find(|object| object["apiVersion"] != to) {
            None => Ok(converted),
            Some(other) => {
                let given = other["apiVersion"].as_str().unwrap_or_default();
                Err(self.failed(&format!("invalid groupVersion (expected {to}, received {given})")))
            }
        }
    }
}
