//! Quotas: what an object uses up, and whether a namespace has that much left (apiserver `pkg/quota/v1`, plugin
//! ResourceQuota, pkg/quota/v1/evaluator/core).

use std::sync::Arc;

use replank_model::object::network::Service;
use replank_model::object::pod::{Container, Pod};
use replank_model::object::policy::{ResourceQuota, ScopeRequirement};
use replank_model::object::requests;
use replank_model::object::resources::{CPU, EPHEMERAL_STORAGE, MEMORY, Resources};
use replank_model::object::{Kind, Object, render};
use replank_model::quantity::{Format, Quantity};
use replank_model::text::{Namespace, Text};
use replank_model::time::Time;
use replank_model::view::View;

use super::error::ApiError;
use super::resource::ResourceType;
use super::store::Api;

/// What an object counts for, by every name under which a quota may limit it. Ended pods count for nothing but their number
/// of objects.
#[must_use]
#[expect(clippy::wildcard_enum_match_arm, reason = "of every other kind, only the objects are counted")]
pub fn usage(object: &Object, now: Time) -> Resources {
    let mut used = Resources::default();
    used.set(count_name(object), one());
    match object {
        Object::Pod(pod) if is_counted(pod, now) => {
            used.set("pods", one());
            pod_usage(pod, &mut used);
        }
        Object::PersistentVolumeClaim(claim) => {
            used.set("persistentvolumeclaims", one());
            let storage = claim.spec.resources.requests.get("storage").cloned().unwrap_or_default();
            if let Some(class) = &claim.spec.storage_class_name {
                let of_class = |what: &str| format!("{class}.storageclass.storage.k8s.io/{what}");
                used.set(of_class("persistentvolumeclaims"), one());
                used.set(of_class("requests.storage"), storage.clone());
            }
            used.set("requests.storage", storage);
        }
        Object::Service(service) => {
            used.set(object.kind().plural(), one());
            service_usage(service, &mut used);
        }
        Object::ReplicationController(_) | Object::ResourceQuota(_) => {
            used.set(object.kind().plural(), one());
        }
        Object::Other(other) if other.group().is_empty() => match &*other.kind {
            "Secret" => used.set("secrets", one()),
            "ConfigMap" => used.set("configmaps", one()),
            _ => {}
        },
        _ => {}
    }
    used
}

fn one() -> Quantity {
    Quantity::from_units(1, Format::DecimalSi)
}

/// Load balancers, and ports on nodes (pkg/quota/v1/evaluator/core/services.go).
fn service_usage(service: &Arc<Service>, used: &mut Resources) {
    let ports = i64::try_from(service.spec.ports.len()).unwrap_or(i64::MAX);
    let count = |number: i64| Quantity::from_units(number, Format::DecimalSi);
    match &*service.spec.r#type {
        "NodePort" => used.set("services.nodeports", count(ports)),
        "LoadBalancer" => {
            used.set("services.loadbalancers", one());
            let rendered = render(&Object::Service(service.clone()));
            let is_listening = rendered["spec"]["allocateLoadBalancerNodePorts"] != false;
            used.set("services.nodeports", count(if is_listening { ports } else { 0 }));
        }
        _ => {}
    }
}

/// `count/deployments.apps`.
fn count_name(object: &Object) -> String {
    let kind = object.kind();
    let plural = if kind == Kind::Other {
        // Definitions of custom kinds are not at hand here; their plurals are regular as a rule.
        let (_, version) = object.api_version().split_once('/').unwrap_or(("", object.api_version()));
        let group = object.api_version().split_once('/').map_or("", |(group, _)| group);
        let known = ResourceType::of_kind(group, version, object.kind_name());
        known.map_or_else(
            || format!("{}s", object.kind_name().to_lowercase()),
            |known| known.name.plural.to_string(),
        )
    } else {
        kind.plural().to_owned()
    };
    match object.api_version().split_once('/') {
        Some((group, _)) => format!("count/{plural}.{group}"),
        None => format!("count/{plural}"),
    }
}

/// Whether a pod uses anything up: not when it has ended, nor when its grace is long over (`QuotaV1Pod`).
fn is_counted(pod: &Pod, now: Time) -> bool {
    let is_overdue = pod.meta.deletion_timestamp.zip(pod.meta.deletion_grace_period_seconds);
    !pod.is_terminal() && is_overdue.is_none_or(|(due, _)| now <= due)
}

fn pod_usage(pod: &Pod, used: &mut Resources) {
    for (name, quantity) in requests::of_pod(pod).iter() {
        let is_own_name = [CPU, MEMORY, EPHEMERAL_STORAGE].contains(&&**name);
        if is_own_name || name.starts_with(requests::HUGEPAGES_PREFIX) {
            used.set(name.clone(), quantity.clone());
            used.set(format!("requests.{name}"), quantity.clone());
        } else if name.contains('/') {
            used.set(format!("requests.{name}"), quantity.clone());
        }
    }
    for (name, quantity) in requests::limits_of_containers(&pod.spec).iter() {
        if [CPU, MEMORY, EPHEMERAL_STORAGE].contains(&&**name) {
            used.set(format!("limits.{name}"), quantity.clone());
        }
    }
}

/// Whether an object is within a quota's scopes. Only pods have scopes; other objects are outside of any.
#[must_use]
pub fn is_in_scope(quota: &ResourceQuota, object: &Object) -> bool {
    let selected = quota.spec.scope_selector.iter().flat_map(|selector| &selector.match_expressions);
    let Object::Pod(pod) = object else {
        return quota.spec.scopes.is_empty() && selected.count() == 0;
    };
    let plain = |scope: &Text| {
        let requirement =
            ScopeRequirement { scope_name: scope.clone(), operator: "Exists".into(), values: Vec::new() };
        holds(&requirement, pod)
    };
    let mut selected = selected;
    quota.spec.scopes.iter().all(plain) && selected.all(|requirement| holds(requirement, pod))
}

fn holds(requirement: &ScopeRequirement, pod: &Pod) -> bool {
    let is_terminating = pod.spec.active_deadline_seconds.is_some_and(|seconds| seconds >= 0);
    let class = &*pod.spec.priority_class_name;
    let is_named = requirement.values.iter().any(|value| **value == *class);
    match (&*requirement.scope_name, &*requirement.operator) {
        ("Terminating", _) => is_terminating,
        ("NotTerminating", _) => !is_terminating,
        ("BestEffort", _) => is_best_effort(pod),
        ("NotBestEffort", _) => !is_best_effort(pod),
        ("PriorityClass", "In") => is_named,
        ("PriorityClass", "NotIn") => !is_named,
        ("PriorityClass", "DoesNotExist") => class.is_empty(),
        ("PriorityClass", _) => !class.is_empty(),
        _ => false,
    }
}

fn is_best_effort(pod: &Pod) -> bool {
    let mut containers = pod.spec.containers.iter().chain(&pod.spec.init_containers);
    containers.all(|container| {
        let names = container.resources.requests.iter().chain(container.resources.limits.iter());
        !names.into_iter().any(|(name, quantity)| [CPU, MEMORY].contains(&&**name) && !quantity.is_zero())
    })
}

/// What the objects of a namespace use up of what a quota limits.
#[must_use]
pub fn used_of(view: &View, quota: &ResourceQuota, now: Time) -> Resources {
    let namespace = &quota.meta.namespace;
    let zero = |(name, hard): (&Text, &Quantity)| (name.clone(), Quantity::from_units(0, hard.format()));
    let mut sum: Resources = quota.spec.hard.iter().map(zero).collect();
    let mut add = |object: &Object| {
        if is_in_scope(quota, object) {
            let used = usage(object, now);
            for (name, _) in quota.spec.hard.iter() {
                if let Some(quantity) = used.get(name) {
                    let total = sum.get(name).map_or_else(|| quantity.clone(), |known| known + quantity);
                    sum.set(name.clone(), total);
                }
            }
        }
    };
    for ix in view.label_classes(namespace).flat_map(|class| class.pods().iter().copied()) {
        if let Some(pod) = view.pods.get(ix) {
            add(&Object::Pod(pod.clone()));
        }
    }
    for kind in limited_kinds(quota) {
        for object in view.objects_of(kind).into_iter().filter(|object| object.meta().namespace == *namespace)
        {
            add(&object);
        }
    }
    for other in view.others().filter(|other| other.meta.namespace == *namespace) {
        add(&Object::Other(other.clone()));
    }
    sum
}

/// The kinds other than pods that a quota says anything of.
fn limited_kinds(quota: &ResourceQuota) -> Vec<Kind> {
    let is_limited = |kind: &&Kind| {
        let plural = kind.plural();
        quota.spec.hard.iter().any(|(name, _)| {
            let counted = name.strip_prefix("count/").map(|name| name.split('.').next().unwrap_or(name));
            counted == Some(plural)
                || **name == *plural
                || (**kind == Kind::PersistentVolumeClaim && name.contains("storage"))
        })
    };
    Kind::TYPED
        .iter()
        .filter(|kind| kind.is_namespaced() && **kind != Kind::Pod)
        .filter(is_limited)
        .copied()
        .collect()
}

impl Api {
    /// Charges the namespace's quotas for a new object, or refuses it (plugin ResourceQuota).
    pub(crate) fn charge_quotas(&mut self, object: &Object) -> Result<(), ApiError> {
        if self.view().resource_quotas.is_empty() {
            return Ok(());
        }
        let charged = self.charges(object)?;
        for (quota, used) in charged {
            let written =
                self.modify::<ResourceQuota>(&quota.meta.key(), |quota| quota.status.used = used).map(drop);
            debug_assert!(written.is_ok(), "the quota was just read");
        }
        Ok(())
    }

    fn charges(&self, object: &Object) -> Result<Vec<(Arc<ResourceQuota>, Resources)>, ApiError> {
        let asked = usage(object, self.now());
        let mut charged = Vec::new();
        for quota in quotas_in(self.view(), &object.meta().namespace) {
            if !is_in_scope(&quota, object) {
                continue;
            }
            self.check_required(&quota, object)?;
            let hard = &quota.status.hard;
            let limited: Vec<&Text> =
                hard.iter().map(|(name, _)| name).filter(|name| asked.get(name).is_some()).collect();
            if limited.is_empty() {
                continue;
            }
            let mut used = quota.status.used.clone();
            let (mut requested, mut before, mut limits) =
                (Resources::default(), Resources::default(), Resources::default());
            for name in limited {
                let (Some(quantity), Some(limit)) = (asked.get(name), hard.get(name)) else { continue };
                let Some(known) = used.get(name).cloned() else {
                    let why = format!("status unknown for quota: {}, resources: {name}", quota.meta.name);
                    return Err(self.over_quota(object, &why));
                };
                let total = &known + quantity;
                if total > *limit && quantity.signum() > 0 {
                    requested.set(name.clone(), quantity.clone());
                    before.set(name.clone(), known);
                    limits.set(name.clone(), limit.clone());
                } else {
                    used.set(name.clone(), total);
                }
            }
            if !requested.is_empty() {
                let why = format!(
                    "exceeded quota: {}, requested: {}, used: {}, limited: {}",
                    quota.meta.name,
                    listed(&requested),
                    listed(&before),
                    listed(&limits)
                );
                return Err(self.over_quota(object, &why));
            }
            charged.push((quota, used));
        }
        Ok(charged)
    }

    fn over_quota(&self, object: &Object, why: &str) -> ApiError {
        ApiError::forbidden(self.resource_name(object), &object.meta().key(), why)
    }

    /// A quota of compute resources asks every container to say what it wants of them.
    fn check_required(&self, quota: &ResourceQuota, object: &Object) -> Result<(), ApiError> {
        let Object::Pod(pod) = object else { return Ok(()) };
        let mut missing = Vec::new();
        for (name, _) in quota.status.hard.iter() {
            let names = |container: &&Container| !says(container, name);
            let silent: Vec<&str> =
                pod.spec.containers.iter().filter(names).map(|container| &*container.name).collect();
            if !silent.is_empty() && is_compute(name) {
                missing.push(format!("{name} for: {}", silent.join(",")));
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let why = format!("failed quota: {}: must specify {}", quota.meta.name, missing.join("; "));
        Err(self.over_quota(object, &why))
    }
}

fn is_compute(name: &str) -> bool {
    let name = name.strip_prefix("requests.").or_else(|| name.strip_prefix("limits.")).unwrap_or(name);
    name == CPU || name == MEMORY
}

fn says(container: &Container, name: &str) -> bool {
    let resources = &container.resources;
    match (name.strip_prefix("limits."), name.strip_prefix("requests.")) {
        (Some(name), _) => resources.limits.get(name).is_some(),
        (None, Some(name)) => resources.requests.get(name).is_some(),
        (None, None) => resources.requests.get(name).is_some(),
    }
}

fn listed(resources: &Resources) -> String {
    let parts: Vec<String> = resources.iter().map(|(name, quantity)| format!("{name}={quantity}")).collect();
    parts.join(",")
}

/// The quotas of a namespace, by name.
#[must_use]
pub fn quotas_in(view: &View, namespace: &Namespace) -> Vec<Arc<ResourceQuota>> {
    let all = view.resource_quotas.sorted().into_iter().map(|(_, quota)| quota);
    all.filter(|quota| quota.meta.namespace == *namespace).cloned().collect()
}
