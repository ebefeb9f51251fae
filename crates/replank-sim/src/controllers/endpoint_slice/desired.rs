//! Which endpoints a Service should have (k8s.io/endpointslice `utils.go`).

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::int_or_string::IntOrString;
use replank_model::object::meta::Key;
use replank_model::object::network::{
    Endpoint, EndpointConditions, EndpointPort, EndpointTarget, Service, ServicePort,
};
use replank_model::object::node::{LABEL_ZONE, Node};
use replank_model::object::pod::{Pod, PodSpec, RestartPolicy};
use replank_model::object::{Kind, Resource};
use replank_model::selector::Selector;
use replank_model::text::Text;
use replank_model::view::View;

use replank_apiserver::ApiError;

/// What tells ports from other ports.
pub(super) type PortsKey = Vec<(Option<Text>, Option<i32>, Option<Text>, Option<Text>)>;

/// The endpoints of one family, by their ports.
#[derive(Default)]
pub(super) struct Desired {
    pub(super) by_ports: BTreeMap<PortsKey, Group>,
    /// A pod on a node that is not there: the others are dealt with, and the Service is looked at again.
    pub(super) failure: Option<ApiError>,
}

/// Endpoints with the same ports.
#[derive(Default)]
pub(super) struct Group {
    pub(super) ports: Vec<EndpointPort>,
    pub(super) endpoints: Vec<Endpoint>,
}

pub(super) fn ports_key(ports: &[EndpointPort]) -> PortsKey {
    let key = |port: &EndpointPort| {
        (port.name.clone(), port.port, port.protocol.clone(), port.app_protocol.clone())
    };
    let mut keys: PortsKey = ports.iter().map(key).collect();
    keys.sort();
    keys
}

/// The families of a Service's addresses (`getAddressTypesForService`).
pub(super) fn families(service: &Service) -> Vec<Text> {
    let spec = &service.spec;
    if !spec.ip_families.is_empty() {
        return spec.ip_families.clone();
    }
    let family = |address: &str| if address.contains(':') { "IPv6" } else { "IPv4" };
    match &*spec.cluster_ip {
        "None" => vec!["IPv4".into(), "IPv6".into()],
        address => vec![family(address).into()],
    }
}

/// The pods that a Service selects, in no order.
pub(super) fn selected<'a>(view: &'a View, service: &Service) -> Vec<&'a Arc<Pod>> {
    let selector = Selector::from_set(service.spec.selector.pairs().iter().cloned());
    view.select_pods(&service.meta.namespace, &selector).filter_map(|ix| view.pods.get(ix)).collect()
}

/// The endpoints of a family that a Service should have at pods.
pub(super) fn of(view: &View, service: &Service, family: &str, pods: &[&Arc<Pod>]) -> Desired {
    let mut desired = Desired::default();
    let kind = Text::from(Pod::KIND.as_str());
    // Pods of one template have their ports in common.
    let mut last: Option<(&Arc<PodSpec>, PortsKey)> = None;
    let mut lost: Option<&Arc<Pod>> = None;
    for pod in pods.iter().copied().filter(|pod| !pod.is_terminal() && !pod.status.pod_ip.is_empty()) {
        if !last.as_ref().is_some_and(|(spec, _)| Arc::ptr_eq(spec, &pod.spec)) {
            let ports = ports(service, pod);
            let key = ports_key(&ports);
            desired.by_ports.entry(key.clone()).or_insert(Group { ports, endpoints: Vec::new() });
            last = Some((&pod.spec, key));
        }
        let node = pod.node.as_ref().and_then(|node| view.node(node));
        if node.is_none() && !service.spec.publish_not_ready_addresses {
            // The last one by name is told of.
            lost = lost.filter(|lost| lost.meta.name > pod.meta.name).or(Some(pod));
            continue;
        }
        if pod.status.pod_ip.contains(':') == (family == "IPv6")
            && let Some(group) = last.as_ref().and_then(|(_, key)| desired.by_ports.get_mut(key))
        {
            group.endpoints.push(endpoint(service, pod, node, &kind));
        }
    }
    let node_of = |pod: &Arc<Pod>| pod.node.as_ref().map(|node| node.text().clone()).unwrap_or_default();
    desired.failure = lost.map(|pod| ApiError::not_found(Kind::Node, &Key::cluster(node_of(pod))));
    desired
}

fn endpoint(service: &Service, pod: &Pod, node: Option<&Arc<Node>>, kind: &Text) -> Endpoint {
    let (serving, terminating) = (pod.is_ready(), pod.is_terminating());
    let ready = service.spec.publish_not_ready_addresses || serving && !terminating;
    let is_named = !pod.spec.hostname.is_empty() && pod.spec.subdomain == *service.meta.name.text();
    let zone = node.and_then(|node| node.meta.labels.get(LABEL_ZONE));
    Endpoint {
        addresses: vec![pod.status.pod_ip.clone()],
        conditions: EndpointConditions {
            ready: Some(ready),
            serving: Some(serving),
            terminating: Some(terminating),
        },
        hostname: is_named.then(|| pod.spec.hostname.clone()),
        node_name: pod.node.clone(),
        target_ref: Some(EndpointTarget {
            kind: kind.clone(),
            namespace: pod.meta.namespace.clone(),
            name: pod.meta.name.clone(),
            uid: pod.meta.uid.clone(),
        }),
        zone: zone.filter(|zone| !zone.is_empty()).cloned(),
    }
}

/// The Service's ports as they are at a pod; those that it does not have are left out (`getEndpointPorts`).
fn ports(service: &Service, pod: &Pod) -> Vec<EndpointPort> {
    let find = |port: &ServicePort| {
        Some(EndpointPort {
            name: Some(port.name.clone()),
            port: Some(number(port, pod)?),
            protocol: Some(port.protocol.clone()),
            app_protocol: port.app_protocol.clone(),
        })
    };
    service.spec.ports.iter().filter_map(find).collect()
}

/// `FindPort`: sidecars have ports too.
fn number(port: &ServicePort, pod: &Pod) -> Option<i32> {
    let name = match &port.target_port {
        None => return Some(port.port),
        Some(IntOrString::Int(number)) => return Some(*number),
        Some(IntOrString::String(name)) => name,
    };
    let is_sidecar = |restart: Option<RestartPolicy>| restart == Some(RestartPolicy::Always);
    let sidecars = pod.spec.init_containers.iter().filter(|container| is_sidecar(container.restart_policy));
    let mut ports = pod.spec.containers.iter().chain(sidecars).flat_map(|container| &container.ports);
    ports
        .find(|known| known.name == *name && known.protocol == port.protocol)
        .map(|known| known.container_port)
}
