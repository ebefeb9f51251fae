//! Workloads and their pods.

use serde_json::{Value, json};

use super::cluster::{Cluster, owner, uid};
use super::entry::{Entry, merge};
use super::others;
use super::pods::{Pod, State, Template};
use super::volumes;

/// Kinds of workloads that have a short form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Deployment,
    StatefulSet,
    ReplicaSet,
    ReplicationController,
    Rollout,
    DaemonSet,
    Custom,
    Pod,
}

pub(crate) const KINDS: &[Kind] = &[
    Kind::Deployment,
    Kind::StatefulSet,
    Kind::ReplicaSet,
    Kind::ReplicationController,
    Kind::Rollout,
    Kind::DaemonSet,
    Kind::Custom,
    Kind::Pod,
];

impl Kind {
    /// The word of the short form.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Deployment => "deployment",
            Kind::StatefulSet => "statefulset",
            Kind::ReplicaSet => "replicaset",
            Kind::ReplicationController => "replicationcontroller",
            Kind::Rollout => "rollout",
            Kind::DaemonSet => "daemonset",
            Kind::Custom => "custom",
            Kind::Pod => "pod",
        }
    }

    fn type_of(self, entry: &mut Entry) -> (String, String) {
        let (version, kind) = match self {
            Kind::Deployment => ("apps/v1", "Deployment"),
            Kind::StatefulSet => ("apps/v1", "StatefulSet"),
            Kind::ReplicaSet => ("apps/v1", "ReplicaSet"),
            Kind::DaemonSet => ("apps/v1", "DaemonSet"),
            Kind::ReplicationController => ("v1", "ReplicationController"),
            Kind::Rollout => ("argoproj.io/v1alpha1", "Rollout"),
            Kind::Pod => ("v1", "Pod"),
            Kind::Custom => {
                let word =
                    |name: &str, text: Option<String>| text.unwrap_or_else(|| panic!("custom has {name}"));
                return (word("apiVersion", entry.text("apiVersion")), word("kind", entry.text("kind")));
            }
        };
        (version.to_owned(), kind.to_owned())
    }

    /// Whether pods belong to a ReplicaSet in between, and the label that it adds.
    fn hash_label(self) -> Option<&'static str> {
        match self {
            Kind::Deployment => Some("pod-template-hash"),
            Kind::Rollout => Some("rollouts-pod-template-hash"),
            Kind::StatefulSet
            | Kind::ReplicaSet
            | Kind::ReplicationController
            | Kind::DaemonSet
            | Kind::Custom
            | Kind::Pod => None,
        }
    }
}

/// A workload, what lies between it and its pods, and these.
pub(crate) fn add(cluster: &mut Cluster, kind: Kind, named: (String, String, usize), entry: &mut Entry) {
    let (namespace, name, number) = named;
    let number = if kind == Kind::DaemonSet { cluster.nodes.len() } else { number };
    let (version, kind_name) = kind.type_of(entry);
    let places = cluster.places(entry, number);
    let mut template = Template::take(entry, &name, "Always");
    let states = State::take(entry, number);
    if kind == Kind::Custom {
        let scale = entry.take("scale") == Some(Value::Bool(true));
        cluster.objects.push(others::definition(&version, &kind_name, scale));
    }
    if let Some(storage) = entry.text("volume") {
        volumes::mount(&mut template, &name);
        volumes::make(cluster, &storage, kind == Kind::StatefulSet, (&namespace, &name), &places);
    }
    if kind != Kind::Pod {
        let object = workload(kind, (&version, &kind_name), (&namespace, &name), &states, &template);
        cluster.objects.push(object);
        let with = entry.patch("with");
        merge(cluster.objects.last_mut().expect("it was just pushed"), with);
    }
    let mut parent = (kind != Kind::Pod).then(|| owner(&version, &kind_name, &namespace, &name));
    if let Some(label) = kind.hash_label() {
        template.labels[label] = json!("h1");
        let between = format!("{name}-h1");
        let mut set =
            workload(Kind::ReplicaSet, ("apps/v1", "ReplicaSet"), (&namespace, &between), &states, &template);
        set["metadata"]["ownerReferences"] = json!([parent]);
        set["metadata"]["labels"] = template.labels.clone();
        set["spec"]["selector"]["matchLabels"][label] = json!("h1");
        cluster.objects.push(set);
        parent = Some(owner("apps/v1", "ReplicaSet", &namespace, &between));
    }
    let each = entry.patch("pods");
    let all = if kind == Kind::Pod { entry.patch("with") } else { entry.patch("with pod") };
    for (index, (place, state)) in places.iter().zip(&states).enumerate() {
        let pod = pod_name(kind, &name, index, place);
        let made = Pod {
            namespace: &namespace,
            name: &pod,
            node: place,
            owner: parent.clone(),
            state: *state,
            since: None,
        };
        let mut object = made.object(&template);
        volumes::claim_of(&mut object, kind == Kind::StatefulSet, &name, &pod);
        merge(&mut object, all.clone());
        merge(&mut object, each.get((index + 1).to_string()).cloned().unwrap_or(json!({})));
        cluster.objects.push(object);
    }
    others::budget_of(cluster, (&namespace, &name), &json!({"app": name}), None, entry);
}

fn pod_name(kind: Kind, name: &str, index: usize, node: &str) -> String {
    match kind {
        Kind::StatefulSet => format!("{name}-{index}"),
        Kind::DaemonSet => format!("{name}-{node}"),
        Kind::Pod => name.to_owned(),
        Kind::Deployment | Kind::ReplicaSet | Kind::ReplicationController | Kind::Rollout | Kind::Custom => {
            format!("{name}-{}", index + 1)
        }
    }
}

fn workload(
    kind: Kind,
    type_of: (&str, &str),
    named: (&str, &str),
    states: &[State],
    template: &Template,
) -> Value {
    let (number, ready) = (states.len(), states.iter().filter(|state| **state == State::Ready).count());
    let selector = match kind {
        Kind::ReplicationController => template.labels.clone(),
        Kind::Deployment
        | Kind::StatefulSet
        | Kind::ReplicaSet
        | Kind::Rollout
        | Kind::DaemonSet
        | Kind::Custom
        | Kind::Pod => {
            json!({"matchLabels": {"app": template.labels["app"]}})
        }
    };
    let mut object = json!({
        "apiVersion": type_of.0, "kind": type_of.1,
        "metadata": {"name": named.1, "namespace": named.0, "uid": uid(type_of.1, named.0, named.1), "generation": 1},
        "spec": {"selector": selector, "template": template.object()},
        "status": {"observedGeneration": 1},
    });
    if kind == Kind::DaemonSet {
        object["status"] = json!({"observedGeneration": 1, "desiredNumberScheduled": number, "currentNumberScheduled": number,
            "updatedNumberScheduled": number, "numberReady": ready, "numberAvailable": ready, "numberMisscheduled": 0});
        object["spec"]["updateStrategy"] =
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}});
        return object;
    }
    object["spec"]["replicas"] = json!(number);
    merge(
        &mut object["status"],
        json!({"replicas": number, "readyReplicas": ready, "availableReplicas": ready, "updatedReplicas": number}),
    );
    if kind == Kind::StatefulSet {
        object["spec"]["serviceName"] = json!(named.1);
        object["status"]["currentReplicas"] = json!(number);
        if let Some(claim) = volumes::template_of(&template.spec) {
            object["spec"]["volumeClaimTemplates"] = json!([claim]);
        }
    }
    object
}
