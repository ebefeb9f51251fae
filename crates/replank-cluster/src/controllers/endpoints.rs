//! Endpoints of Services that select pods (pkg/controller/endpoint).

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_apiserver::{Api, DeleteOptions};
use replank_model::int_or_string::IntOrString;
use replank_model::object::Object;
use replank_model::object::condition::find;
use replank_model::object::meta::Key;
use replank_model::object::network::{Service, ServicePort};
use replank_model::object::pod::Pod;
use replank_model::selector::Selector;
use serde_json::{Map, Value, json};

use super::edit::{create, read, text, update};

/// The label of objects that this controller keeps.
const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
/// The label of those of headless Services.
const HEADLESS: &str = "service.kubernetes.io/headless";
/// When the change happened that led to the present state.
const TRIGGER: &str = "endpoints.kubernetes.io/last-change-trigger-time";
/// Addresses that are kept at most; beyond, the object says that some are left out.
const ADDRESSES_MAX: usize = 1_000;

/// Writes the endpoints of a Service, or deletes them with it.
pub(super) fn keep(api: &mut Api, key: &Key) {
    let known = read(api, "", "Endpoints", key);
    let Some(service) = api.view().services.by_key(key).cloned() else {
        let ours = known.filter(|known| !text(known, &label(MANAGED_BY)).is_empty());
        let other = api.view().other("", "Endpoints", key).cloned().filter(|_| ours.is_some());
        if let Some(other) = other {
            drop(api.delete_known(&Object::Other(other), &DeleteOptions::default()));
        }
        return;
    };
    if service.spec.selector.is_empty() {
        return;
    }
    let selector = Selector::from_set(service.spec.selector.pairs().iter().cloned());
    let pods = api.view().select_pods(&key.namespace, &selector);
    let mut pods: Vec<Arc<Pod>> = pods.filter_map(|ix| api.view().pods.get(ix).cloned()).collect();
    pods.retain(|pod| is_listed(pod, &service));
    let subsets = subsets(&pods, &service);
    let mut labels: Map<String, Value> = Map::new();
    for (name, value) in service.meta.labels.pairs() {
        labels.insert(name.to_string(), (**value).into());
    }
    labels.insert(MANAGED_BY.to_owned(), "endpoint-controller".into());
    if &*service.spec.cluster_ip == "None" {
        labels.insert(HEADLESS.to_owned(), "".into());
    }
    let trigger = match &known {
        None => service.meta.creation_timestamp,
        Some(_) => {
            pods.iter().filter_map(|pod| find(&pod.status.conditions, "Ready")?.last_transition_time).max()
        }
    };
    write(api, key, known.as_ref(), (labels, subsets, trigger.map(|time| time.to_string())));
}

/// Stores what is to be, if it is not.
fn write(
    api: &mut Api,
    key: &Key,
    known: Option<&Value>,
    (labels, subsets, trigger): (Map<String, Value>, Vec<Value>, Option<String>),
) {
    let mut next = known.cloned().unwrap_or_else(|| {
        json!({"apiVersion": "v1", "kind": "Endpoints",
            "metadata": {"name": key.name.as_str(), "namespace": key.namespace.as_str()}})
    });
    next["metadata"]["labels"] = Value::Object(labels);
    match subsets.is_empty() {
        true => next.as_object_mut().map(|members| members.remove("subsets")),
        false => next.as_object_mut().map(|members| members.insert("subsets".to_owned(), subsets.into())),
    };
    if known == Some(&next) {
        return;
    }
    let annotations = &mut next["metadata"]["annotations"];
    match (trigger, annotations.as_object_mut()) {
        (Some(trigger), None) => *annotations = json!({TRIGGER: trigger}),
        (Some(trigger), Some(members)) => drop(members.insert(TRIGGER.to_owned(), trigger.into())),
        (None, Some(members)) => drop(members.remove(TRIGGER)),
        (None, None) => drop(next["metadata"].as_object_mut().map(|meta| meta.remove("annotations"))),
    }
    if known.is_some() { update(api, next) } else { create(api, next) }
}

/// Whether a pod is listed at all (`ShouldPodBeInEndpoints`).
fn is_listed(pod: &Pod, service: &Service) -> bool {
    let may_go = service.spec.publish_not_ready_addresses;
    !pod.is_terminal() && !pod.status.pod_ip.is_empty() && (may_go || !pod.is_terminating())
}

/// Ports, and the addresses of pods that are ready and of others.
type Subset = (Vec<Value>, Vec<Value>, Vec<Value>);

/// Addresses by the ports that they are reached at (`RepackSubsets`).
fn subsets(pods: &[Arc<Pod>], service: &Service) -> Vec<Value> {
    let mut by_ports: BTreeMap<String, Subset> = BTreeMap::new();
    let mut sorted: Vec<&Arc<Pod>> = pods.iter().collect();
    sorted.sort_by(|a, b| a.status.pod_ip.cmp(&b.status.pod_ip));
    for pod in sorted {
        let ports: Vec<Value> = service.spec.ports.iter().filter_map(|port| told(port, pod)).collect();
        if ports.is_empty() && !service.spec.ports.is_empty() {
            continue;
        }
        let entry = by_ports.entry(Value::from(ports.clone()).to_string());
        let (_, ready, unready) = entry.or_insert_with(|| (ports, Vec::new(), Vec::new()));
        let is_ready = pod.is_ready() || service.spec.publish_not_ready_addresses;
        let list = if is_ready { ready } else { unready };
        if list.len() < ADDRESSES_MAX {
            list.push(address(pod, service));
        }
    }
    let told = |(ports, ready, unready): (Vec<Value>, Vec<Value>, Vec<Value>)| {
        let lists = [("addresses", ready), ("notReadyAddresses", unready), ("ports", ports)];
        let members = lists.into_iter().filter(|(_, list)| !list.is_empty());
        Value::Object(members.map(|(name, list)| (name.to_owned(), Value::from(list))).collect())
    };
    by_ports.into_values().map(told).collect()
}

fn address(pod: &Pod, service: &Service) -> Value {
    let mut address = json!({"ip": &*pod.status.pod_ip, "targetRef": {"kind": "Pod",
        "namespace": pod.meta.namespace.as_str(), "name": pod.meta.name.as_str(), "uid": pod.meta.uid.as_str()}});
    if let Some(node) = &pod.node {
        address["nodeName"] = node.as_str().into();
    }
    if !pod.spec.hostname.is_empty() && *pod.spec.subdomain == *service.meta.name.as_str() {
        address["hostname"] = (*pod.spec.hostname).into();
    }
    address
}

/// A port of a Service as it is at a pod.
fn told(port: &ServicePort, pod: &Pod) -> Option<Value> {
    let number = match &port.target_port {
        None => port.port,
        Some(IntOrString::Int(number)) => *number,
        Some(IntOrString::String(name)) => {
            let mut all = pod.spec.containers.iter().flat_map(|container| &container.ports);
            all.find(|known| known.name == *name && known.protocol == port.protocol)?.container_port
        }
    };
    let mut told = json!({"port": number, "protocol": &*port.protocol});
    if !port.name.is_empty() {
        told["name"] = (*port.name).into();
    }
    if let Some(protocol) = &port.app_protocol {
        told["appProtocol"] = (**protocol).into();
    }
    Some(told)
}

/// Where a label is.
fn label(name: &str) -> String {
    format!("/metadata/labels/{}", name.replace('/', "~1"))
}
