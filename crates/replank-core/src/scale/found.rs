//! The settings that a cluster's own Cluster Autoscaler runs with, as its Deployment and ConfigMap show them.

use std::sync::Arc;

use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::object::{Object, render};
use replank_model::view::View;
use serde_json::Value;

use super::priorities::{CONFIG_KEY, CONFIG_MAP};

/// A Cluster Autoscaler that runs in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnAutoscaler {
    /// Its Deployment.
    pub deployment: Key,
    /// Command and arguments.
    pub words: Vec<String>,
}

/// The cluster's Cluster Autoscaler: the first Deployment with a container whose command or image is called so.
#[must_use]
pub fn own_autoscaler(view: &View) -> Option<OwnAutoscaler> {
    view.deployments.sorted().into_iter().find_map(|(_, deployment)| {
        let containers = deployment.spec.template.spec.containers.iter();
        let mut named = containers.filter(|one| one.image.contains("cluster-autoscaler"));
        let name = named.next()?.name.clone();
        let value = render(&Object::from(deployment.clone()));
        let all = value.pointer("/spec/template/spec/containers")?.as_array()?;
        let own = all.iter().find(|one| one["name"] == *name)?;
        let words =
            ["command", "args"].into_iter().flat_map(|member| own[member].as_array().into_iter().flatten());
        let words = words.filter_map(Value::as_str).map(str::to_owned).collect();
        Some(OwnAutoscaler { deployment: deployment.meta.key(), words })
    })
}

/// The text of the ConfigMap that the expander `priority` goes by.
#[must_use]
pub fn priorities_text(view: &View) -> Option<String> {
    let is_it = |other: &&Arc<Other>| &*other.kind == "ConfigMap" && other.meta.name.as_str() == CONFIG_MAP;
    let map = view.others().find(is_it)?;
    let value = render(&Object::from(map.clone()));
    value["data"][CONFIG_KEY].as_str().map(str::to_owned)
}
