//! Who serves: pods of a Deployment, and where the clients of Services find them.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::labels::Labels;
use replank_model::object::Kind;
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::meta::Key;
use replank_model::object::network::{Endpoint, EndpointSlice, Service};
use replank_model::object::pod::Pod;
use replank_model::object::workload::{Deployment, ReplicaSet};
use replank_model::text::{Name, Namespace, Uid};
use replank_model::view::View;

/// Label of an EndpointSlice: its Service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// Services of a namespace that select pods with these labels, sorted by name.
#[must_use]
pub fn services_of<'a>(view: &'a View, namespace: &Namespace, labels: &Labels) -> Vec<&'a Arc<Service>> {
    let all = view.services.sorted().into_iter().map(|(_, service)| service);
    all.filter(|service| service.meta.namespace == *namespace && selects(service, labels)).collect()
}

/// Whether a Service sends to pods with these labels.
pub(super) fn selects(service: &Service, labels: &Labels) -> bool {
    let selector = &service.spec.selector;
    &*service.spec.r#type != "ExternalName"
        && !selector.is_empty()
        && selector.pairs().iter().all(|(key, value)| labels.get(key) == Some(value))
}

fn endpoints<'a>(view: &'a View, service: &'a Key) -> impl Iterator<Item = &'a Endpoint> {
    let is_its = |slice: &EndpointSlice| {
        slice.meta.namespace == service.namespace
            && slice.meta.labels.value(SERVICE_NAME) == Some(service.name.as_str())
    };
    let slices = view.endpoint_slices.unordered().map(|(_, slice)| slice).filter(move |slice| is_its(slice));
    slices.flat_map(|slice| slice.endpoints.iter())
}

fn is_ready(endpoint: &Endpoint) -> bool {
    // Absent reads as true (discovery/v1 EndpointConditions).
    endpoint.conditions.ready != Some(false)
}

/// Endpoints of a Service that take new connections.
#[must_use]
pub fn ready_endpoints(view: &View, service: &Key) -> usize {
    endpoints(view, service).filter(|endpoint| is_ready(endpoint)).count()
}

/// Ready endpoints of a Service that are among these pods: each pod once, though a Service of two families has it twice.
pub(super) fn ready_among(view: &View, service: &Key, pods: &BTreeSet<Uid>) -> i32 {
    let found: BTreeSet<&Uid> = endpoints(view, service)
        .filter(|endpoint| is_ready(endpoint))
        .filter_map(|endpoint| endpoint.target_ref.as_ref().map(|target| &target.uid))
        .filter(|uid| pods.contains(*uid))
        .collect();
    narrow(found.len())
}

/// Autoscalers of a Deployment, sorted by name.
#[must_use]
pub fn autoscalers_of<'a>(
    view: &'a View,
    namespace: &Namespace,
    name: &Name,
) -> Vec<&'a Arc<HorizontalPodAutoscaler>> {
    autoscalers_of_kind(view, namespace, Kind::Deployment.as_str(), name)
}

/// Autoscalers of an object of that kind and name, sorted by name.
#[must_use]
pub fn autoscalers_of_kind<'a>(
    view: &'a View,
    namespace: &Namespace,
    kind: &str,
    name: &Name,
) -> Vec<&'a Arc<HorizontalPodAutoscaler>> {
    let scales = |autoscaler: &HorizontalPodAutoscaler| {
        let target = &autoscaler.spec.scale_target_ref;
        autoscaler.meta.namespace == *namespace && &*target.kind == kind && target.name == *name
    };
    let all = view.horizontal_pod_autoscalers.sorted().into_iter().map(|(_, autoscaler)| autoscaler);
    all.filter(|autoscaler| scales(autoscaler)).collect()
}

/// ReplicaSets of an owner, sorted by name.
pub(super) fn sets_of<'a>(view: &'a View, owner: &Uid) -> Vec<&'a Arc<ReplicaSet>> {
    let all = view.replica_sets.sorted().into_iter().map(|(_, set)| set);
    all.filter(|set| set.meta.controller().is_some_and(|controller| controller.uid == *owner)).collect()
}

/// Pods of the ReplicaSets of an owner that are neither ended nor on their way out.
pub(super) fn pods_of<'a>(view: &'a View, owner: &Uid) -> Vec<&'a Arc<Pod>> {
    let sets = sets_of(view, owner);
    let pods = sets.into_iter().flat_map(|set| view.pods_of(&set.meta.uid));
    pods.filter_map(|ix| view.pods.get(*ix)).filter(|pod| pod.is_active()).collect()
}

/// What is still missing until all pods of a Deployment serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// Pods are not available.
    Pods { available: i32, wanted: i32 },
    /// Pods are not among the endpoints of a Service.
    Endpoints { service: Key, ready: i32, wanted: i32 },
}

/// Whether all pods that a Deployment wants are available, of its present template, and ready endpoints of every Service that
/// selects them, and of those that served when the migration began: one that somebody has pointed elsewhere meanwhile must not be
/// counted as served, because it may be pointed back at any moment.
pub(super) fn missing(view: &View, deployment: &Deployment, served: &BTreeSet<Name>) -> Option<Missing> {
    let wanted = deployment.spec.replicas.unwrap_or(1);
    let status = &deployment.status;
    let is_seen = status.observed_generation >= deployment.meta.generation;
    let available = status.available_replicas.min(status.updated_replicas);
    if !is_seen || available < wanted {
        return Some(Missing::Pods { available: if is_seen { available } else { 0 }, wanted });
    }
    let (meta, labels) = (&deployment.meta, &deployment.spec.template.meta.labels);
    missing_of(view, &meta.uid, &meta.namespace, (labels, wanted), served)
}

/// Whether as many pods of an owner's ReplicaSets as are wanted are ready endpoints of every Service that selects their labels, and of
/// those that served when the migration began.
pub(super) fn missing_of(
    view: &View,
    owner: &Uid,
    namespace: &Namespace,
    (labels, wanted): (&Labels, i32),
    served: &BTreeSet<Name>,
) -> Option<Missing> {
    let pods: BTreeSet<Uid> = pods_of(view, owner).into_iter().map(|pod| pod.meta.uid.clone()).collect();
    let mut services: BTreeSet<Key> = still_there(view, namespace, served).collect();
    let selecting = services_of(view, namespace, labels).into_iter();
    services.extend(selecting.map(|service| service.meta.key()));
    services.into_iter().find_map(|service| {
        let ready = ready_among(view, &service, &pods);
        (ready < wanted).then_some(Missing::Endpoints { service, ready, wanted })
    })
}

/// The first Service of those that served when the migration began which has none of a Deployment's pods among its ready endpoints.
pub(super) fn unserved(view: &View, deployment: &Deployment, served: &BTreeSet<Name>) -> Option<Missing> {
    let pods: BTreeSet<Uid> =
        pods_of(view, &deployment.meta.uid).into_iter().map(|pod| pod.meta.uid.clone()).collect();
    unserved_by(view, &pods, &deployment.meta.namespace, served)
}

/// The first Service of those that served when the migration began which has none of these pods among its ready endpoints.
pub(super) fn unserved_by(
    view: &View,
    pods: &BTreeSet<Uid>,
    namespace: &Namespace,
    served: &BTreeSet<Name>,
) -> Option<Missing> {
    still_there(view, namespace, served).find_map(|service| {
        let ready = ready_among(view, &service, pods);
        (ready == 0).then_some(Missing::Endpoints { service, ready, wanted: 1 })
    })
}

fn still_there<'a>(
    view: &'a View,
    namespace: &'a Namespace,
    served: &'a BTreeSet<Name>,
) -> impl Iterator<Item = Key> + 'a {
    let keys = served.iter().map(|name| Key { namespace: namespace.clone(), name: name.clone() });
    keys.filter(|key| view.services.by_key(key).is_some())
}

/// A count as the API has it.
pub(super) fn narrow(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
