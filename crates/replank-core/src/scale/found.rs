//! The settings that a cluster's own Cluster Autoscaler runs with, as its Deployment and ConfigMap show them.

use std::sync::Arc;

use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::object::workload::Deployment;
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
    /// How many pods its Deployment wants: one that wants none scales nothing.
    pub replicas: i32,
}

/// The cluster's Cluster Autoscaler: the first Deployment with a container whose image is called so that wants pods; or else the first.
#[must_use]
pub fn own_autoscaler(view: &View) -> Option<OwnAutoscaler> {
    let mut first = None;
    for (_, deployment) in view.deployments.sorted() {
        match read(deployment) {
            Some(own) if own.replicas > 0 => return Some(own),
            Some(own) => drop(first.get_or_insert(own)),
            None => {}
        }
    }
    first
}

fn read(deployment: &Arc<Deployment>) -> Option<OwnAutoscaler> {
    let containers = deployment.spec.template.spec.containers.iter();
    let mut named = containers.filter(|one| one.image.contains("cluster-autoscaler"));
    let name = named.next()?.name.clone();
    let value = render(&Object::from(deployment.clone()));
    let all = value.pointer("/spec/template/spec/containers")?.as_array()?;
    let own = all.iter().find(|one| one["name"] == *name)?;
    let words =
        ["command", "args"].into_iter().flat_map(|member| own[member].as_array().into_iter().flatten());
    let words = words.filter_map(Value::as_str).map(str::to_owned).collect();
    let replicas = deployment.spec.replicas.unwrap_or(1);
    Some(OwnAutoscaler { deployment: deployment.meta.key(), words, replicas })
}

/// The text of the ConfigMap that the expander `priority` goes by.
#[must_use]
pub fn priorities_text(view: &View) -> Option<String> {
    let is_it = |other: &&Arc<Other>| &*other.kind == "ConfigMap" && other.meta.name.as_str() == CONFIG_MAP;
    let map = view.others().find(is_it)?;
    let value = render(&Object::from(map.clone()));
    value["data"][CONFIG_KEY].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use serde_json::json;

    use super::*;

    fn deployment(name: &str, replicas: i32) -> Delta {
        let containers = json!([{"name": "ca", "image": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.36.1", "args": [format!("--nodes=1:5:{name}")]}]);
        let value = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "kube-system", "uid": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers}}}});
        Delta::Put(Object::from_json(value).expect("a Deployment"))
    }

    #[test]
    fn a_deployment_without_replicas_hides_none_that_has_some() {
        let found = |all: &[(&str, i32)]| {
            let view: View = all.iter().map(|(name, replicas)| deployment(name, *replicas)).collect();
            own_autoscaler(&view).map(|own| (own.deployment.name.to_string(), own.words, own.replicas))
        };
        let of =
            |name: &str, replicas| Some((name.to_owned(), vec![format!("--nodes=1:5:{name}")], replicas));
        assert_eq!(found(&[("a", 0), ("b", 1)]), of("b", 1));
        assert_eq!(found(&[("a", 0), ("b", 0)]), of("a", 0));
        assert_eq!(found(&[]), None);
    }
}
