//! What both servers serve, by the reference's discovery, and an object or two of each.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::wire::{Endpoint, Sent};

/// Objects that the API accepts, by `group/version/resource`: none is started, bound or called by a controller, so that what is compared stays at rest.
const OBJECTS: &str = include_str!("objects.json");

/// One resource in one version.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    /// `v1`, `apps/v1`.
    pub(super) version: String,
    /// `/api/v1`, `/apis/apps/v1`.
    pub(super) base: String,
    /// `pods`.
    pub(super) plural: String,
    /// `Pod`.
    pub(super) kind: String,
    /// Whether it lives in namespaces.
    pub(super) is_namespaced: bool,
    /// Verbs of discovery.
    pub(super) verbs: Vec<String>,
    /// Names of subresources.
    pub(super) subresources: Vec<String>,
    /// Bodies that are accepted, without name and type.
    pub(super) objects: Vec<Value>,
    /// Schemas of its group and version, by name, with references between them.
    pub(super) schemas: std::sync::Arc<BTreeMap<String, Value>>,
}

impl Kind {
    /// The path of the collection.
    pub(super) fn collection(&self, namespace: &str) -> String {
        if self.is_namespaced {
            format!("{}/namespaces/{namespace}/{}", self.base, self.plural)
        } else {
            format!("{}/{}", self.base, self.plural)
        }
    }

    /// Whether discovery lists a verb.
    pub(super) fn has(&self, verb: &str) -> bool {
        self.verbs.iter().any(|each| each == verb)
    }

    /// The schema of the kind.
    pub(super) fn schema(&self) -> Option<&Value> {
        let (group, version) = self.version.split_once('/').unwrap_or(("", &self.version));
        let is_ours = |schema: &&Value| {
            let kinds = schema["x-kubernetes-group-version-kind"].as_array();
            kinds.into_iter().flatten().any(|each| {
                each["group"] == group && each["version"] == version && each["kind"] == self.kind.as_str()
            })
        };
        self.schemas.values().find(is_ours)
    }
}

/// All resources that the reference serves, with their schemas.
///
/// # Errors
/// It does not answer, or not as an API server does.
pub(super) fn all(reference: &Endpoint) -> Result<Vec<Kind>> {
    let objects: BTreeMap<String, Vec<Value>> = serde_json::from_str(OBJECTS).context("objects.json")?;
    let mut versions = vec!["v1".to_owned()];
    let groups = get(reference, "/apis")?;
    for group in groups["groups"].as_array().into_iter().flatten() {
        for version in group["versions"].as_array().into_iter().flatten() {
            versions.extend(version["groupVersion"].as_str().map(str::to_owned));
        }
    }
    let mut kinds = Vec::new();
    for version in versions.iter().filter(|version| !version.starts_with("judge.example.com/")) {
        kinds.extend(of_version(reference, version, &objects)?);
    }
    Ok(kinds)
}

fn of_version(
    reference: &Endpoint,
    version: &str,
    objects: &BTreeMap<String, Vec<Value>>,
) -> Result<Vec<Kind>> {
    let base = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
    let list = get(reference, &base)?;
    let document = get(reference, &format!("/openapi/v3{base}"))?;
    let schemas = document["components"]["schemas"].as_object().cloned().unwrap_or_default();
    let schemas = std::sync::Arc::new(schemas.into_iter().collect::<BTreeMap<String, Value>>());
    let resources: Vec<&Value> = list["resources"].as_array().into_iter().flatten().collect();
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|each| each.as_str().map(str::to_owned)).collect()
    };
    let whole = resources.iter().filter(|each| !each["name"].as_str().is_some_and(|name| name.contains('/')));
    Ok(whole
        .map(|resource| {
            let plural = resource["name"].as_str().unwrap_or_default().to_owned();
            let prefix = format!("{plural}/");
            let below = resources.iter().filter_map(|each| each["name"].as_str()?.strip_prefix(&prefix));
            Kind {
                version: version.to_owned(),
                base: base.clone(),
                kind: resource["kind"].as_str().unwrap_or_default().to_owned(),
                is_namespaced: resource["namespaced"] == true,
                verbs: texts(&resource["verbs"]),
                subresources: below.map(str::to_owned).collect(),
                objects: objects.get(&format!("{version}/{plural}")).cloned().unwrap_or_default(),
                schemas: schemas.clone(),
                plural,
            }
        })
        .collect())
}

fn get(server: &Endpoint, path: &str) -> Result<Value> {
    let answer = server.exchange(&Sent::new("GET", path))?;
    anyhow::ensure!(answer.status == 200, "GET {path}: {}", answer.status);
    Ok(answer.json())
}

/// A kind of custom resource that a story defines for itself.
pub(super) fn custom(id: &str) -> Kind {
    let verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    let objects = [
        json!({"spec": {"size": 3, "color": "blue"}}),
        json!({"spec": {"size": 1, "replicas": 2, "list": [{"name": "a", "v": 1}, {"name": "b", "v": "x"}]}}),
    ];
    Kind {
        version: "judge.example.com/v1".to_owned(),
        base: "/apis/judge.example.com/v1".to_owned(),
        plural: format!("w{id}s"),
        kind: format!("W{id}"),
        is_namespaced: true,
        verbs: verbs.map(str::to_owned).to_vec(),
        subresources: vec!["status".to_owned(), "scale".to_owned()],
        objects: objects.to_vec(),
        schemas: std::sync::Arc::default(),
    }
}

/// The definition of [`custom`].
pub(super) fn definition(id: &str) -> Value {
    let objects: BTreeMap<String, Vec<Value>> = serde_json::from_str(OBJECTS).expect("a test reads it");
    let text =
        objects["apiextensions.k8s.io/v1/customresourcedefinitions"][0].to_string().replace("${id}", id);
    let mut definition: Value = serde_json::from_str(&text).expect("an id is plain");
    definition["apiVersion"] = "apiextensions.k8s.io/v1".into();
    definition["kind"] = "CustomResourceDefinition".into();
    definition
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_is_readable() {
        let objects: BTreeMap<String, Vec<Value>> = serde_json::from_str(OBJECTS).expect("it is JSON");
        assert!(objects.len() > 55, "{}", objects.len());
        for (kind, objects) in &objects {
            assert!(objects.iter().all(Value::is_object), "{kind}");
        }
        assert_eq!(definition("7")["metadata"]["name"], "w7s.judge.example.com");
    }
}
