//! What the API server does to every new object, whoever creates it: the admission plugins that are on by default and that
//! a simulation would miss (kube-apiserver 1.36, `plugin/pkg/admission`).

use std::sync::Arc;

use replank_model::admission::default_pod;
use replank_model::object::affinity::{Taint, TaintEffect, Toleration, TolerationOperator};
use replank_model::object::cluster::{NamespaceObject, NamespacePhase};
use replank_model::object::meta::{Key, Raw};
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodSpec, PreemptionPolicy};
use replank_model::object::volume::{ClaimPhase, PersistentVolumeClaim};
use replank_model::object::{Kind, Object, Resource, change_spec};
use replank_model::text::{Name, NodeName, Text};
use serde_json::Value;

use super::error::ApiError;
use super::limits::ANNOTATION;
use super::runtime_class;
use super::service_account::UNNAMED;
use super::store::Api;

pub(crate) use super::admitted::Admitted;
use super::admitted::Completed;

/// Taints that every pod tolerates for a while, and for how many seconds (plugin DefaultTolerationSeconds, flags
/// `--default-not-ready-toleration-seconds` and `--default-unreachable-toleration-seconds`).
const BORNE: [(&str, i64); 2] =
    [("node.kubernetes.io/not-ready", 300), ("node.kubernetes.io/unreachable", 300)];
/// Priority of the class `system-cluster-critical`, which every cluster has.
const CLUSTER_CRITICAL: i32 = 2_000_000_000;
/// Priority of the class `system-node-critical`, which every cluster has.
const NODE_CRITICAL: i32 = 2_000_001_000;

impl Api {
    /// Completes a new object, or refuses it.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other kind is changed on admission")]
    pub(crate) fn admit(&mut self, object: Object) -> Result<Object, ApiError> {
        self.admit_namespace(&object)?;
        let object = match object {
            Object::Pod(pod) => self.admit_pod(pod)?.into(),
            Object::PersistentVolumeClaim(claim) => {
                self.check_claim_limits(&claim)?;
                self.admit_claim(claim).into()
            }
            Object::PersistentVolume(volume) => protect(volume, "kubernetes.io/pv-protection").into(),
            Object::Node(node) => admit_node(node).into(),
            Object::Namespace(namespace) => admit_namespace_object(namespace).into(),
            other => other,
        };
        self.charge_quotas(&object)?;
        Ok(object)
    }

    /// Nothing is made in a namespace that is on its way out (plugin NamespaceLifecycle). A namespace that is not there as
    /// an object, as in a partial snapshot, refuses nothing here.
    fn admit_namespace(&self, object: &Object) -> Result<(), ApiError> {
        let meta = object.meta();
        match self.view().namespaces.named(meta.namespace.text()) {
            Some(namespace) if namespace.meta.is_terminating() => {
                Err(ApiError::namespace_terminating(self.resource_name(object), &meta.key()))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn admit_pod(&mut self, pod: Arc<Pod>) -> Result<Arc<Pod>, ApiError> {
        let mut pod = self.complete_pod(pod)?;
        if let Some(webhook) = self.webhook {
            let completed = pod.spec.clone();
            pod = webhook(self.view(), pod);
            if !Arc::ptr_eq(&completed, &pod.spec) {
                let pod = Arc::make_mut(&mut pod);
                pod.spec = self.admitted.shared(&completed, &pod.spec);
            }
        }
        if pod.token.as_deref() == Some(UNNAMED) {
            let suffix = self.token_suffix(&pod);
            Arc::make_mut(&mut pod).token = Some(suffix);
        }
        if let Some(node) = pod.node.clone() {
            for (key, value) in self.topology_labels(&node) {
                if !pod.meta.labels.contains_key(&key) {
                    let pod = Arc::make_mut(&mut pod);
                    pod.meta.labels = pod.meta.labels.with(key, value);
                }
            }
        }
        self.check_limits(&pod)?;
        Ok(pod)
    }

    fn complete_pod(&mut self, mut pod: Arc<Pod>) -> Result<Arc<Pod>, ApiError> {
        // Accounts are those of a namespace; templates mostly are, too.
        let is_own = Arc::strong_count(&pod.spec) == 1;
        let known = (!is_own).then(|| self.admitted.of_template(&pod.spec)).flatten();
        let known = known.filter(|known| !self.serving().is_any() || known.namespace == pod.meta.namespace);
        let completed = match known {
            Some(completed) => completed,
            None if is_own || runtime_class::is_named(&pod.spec) => Arc::new(self.complete_own(&pod)?),
            None => {
                let completed = Arc::new(self.complete_like_others(&pod)?);
                self.admitted.keep_template(&pod.spec, completed.clone());
                completed
            }
        };
        take(&mut pod, &completed);
        Ok(pod)
    }

    /// Completes a spec, as one that is like it where there is one; not where more is read of a pod than its spec.
    fn complete_like_others(&mut self, pod: &Pod) -> Result<Completed, ApiError> {
        if self.reads_more_than_spec(pod) {
            return self.complete(pod);
        }
        if let Some(completed) = self.admitted.alike(&pod.meta.namespace, &pod.spec) {
            return Ok(completed);
        }
        let completed = self.complete(pod)?;
        self.admitted.keep_alike(&pod.spec, &completed);
        Ok(completed)
    }

    fn reads_more_than_spec(&self, pod: &Pod) -> bool {
        self.serving().is_any()
            || pod.pin.is_some()
            || pod.token.is_some()
            || runtime_class::is_named(&pod.spec)
    }

    /// Completes a spec that nobody shares. It is remembered as far as it is that of the owner's other pods, too; not where more is read of a pod than its
    /// spec.
    fn complete_own(&mut self, pod: &Pod) -> Result<Completed, ApiError> {
        let owner = pod.meta.controller().map(|owner| &owner.uid);
        let Some(owner) = owner.filter(|_| !self.reads_more_than_spec(pod)) else {
            return self.complete(pod);
        };
        if let Some(completed) = self.admitted.sibling(owner, pod) {
            return Ok(completed);
        }
        let completed = self.complete_like_others(pod)?;
        self.admitted.keep_sibling(owner, &pod.spec, &completed);
        Ok(completed)
    }

    fn complete(&self, pod: &Pod) -> Result<Completed, ApiError> {
        let (mut spec, node, token) = self.defaulted(pod)?;
        for (key, seconds) in BORNE {
            if !spec.tolerations.iter().any(|toleration| tolerates(toleration, key)) {
                spec.tolerations.push(Toleration {
                    key: Text::from(key),
                    operator: Some(TolerationOperator::Exists),
                    effect: Some(TaintEffect::NoExecute),
                    toleration_seconds: Some(seconds),
                    ..Toleration::default()
                });
            }
        }
        let limited = self.fill_limits(&pod.meta.namespace, &mut spec);
        self.resolve_priority(pod, &mut spec)?;
        let spec = if spec == *pod.spec { pod.spec.clone() } else { Arc::new(spec) };
        Ok(Completed { spec, node, token, limited, namespace: pod.meta.namespace.clone() })
    }

    /// The spec with what a pod gets beyond its template: requests from limits, ports of the host's network, an account.
    /// A node that the template names is not part of it.
    fn defaulted(&self, pod: &Pod) -> Result<(PodSpec, Option<NodeName>, Option<Text>), ApiError> {
        let bare =
            Pod { spec: pod.spec.clone(), pin: pod.pin.clone(), token: pod.token.clone(), ..Pod::default() };
        change_spec(&bare, |value| {
            default_pod(value);
            if self.serving().accounts {
                self.admit_account(pod, value)?;
            }
            if self.serving().is_any() {
                self.admit_runtime_class(pod, value)?;
            }
            Ok(())
        })
    }

    /// Plugin Priority: the class's value goes into the spec.
    fn resolve_priority(&self, pod: &Pod, spec: &mut PodSpec) -> Result<(), ApiError> {
        let (name, value, policy) = self.priority_class(pod, &spec.priority_class_name)?;
        if let Some(given) = spec.priority.filter(|given| *given != value) {
            let why = format!(
                "the integer value of priority ({given}) must not be provided in pod spec; priority admission \
                 controller computed {value} from the given PriorityClass name"
            );
            return Err(ApiError::forbidden(Kind::Pod, &pod.meta.key(), &why));
        }
        spec.priority_class_name = name;
        spec.priority = Some(value);
        spec.preemption_policy = spec.preemption_policy.or(Some(policy));
        Ok(())
    }

    fn priority_class(&self, pod: &Pod, name: &Text) -> Result<(Text, i32, PreemptionPolicy), ApiError> {
        let classes = &self.view().priority_classes;
        let policy = |class: &replank_model::object::policy::PriorityClass| {
            class.preemption_policy.unwrap_or(PreemptionPolicy::PreemptLowerPriority)
        };
        if name.is_empty() {
            // Of several defaults the lowest counts.
            let default = classes
                .unordered()
                .map(|(_, class)| class)
                .filter(|class| class.global_default)
                .min_by(|a, b| (a.value, &a.meta.name).cmp(&(b.value, &b.meta.name)));
            return Ok(match default {
                Some(class) => (class.meta.name.text().clone(), class.value, policy(class)),
                None => (Text::from(""), 0, PreemptionPolicy::PreemptLowerPriority),
            });
        }
        if let Some(class) = classes.by_key(&Key::cluster(Name::new(name.clone()))) {
            return Ok((name.clone(), class.value, policy(class)));
        }
        match &**name {
            "system-cluster-critical" => {
                Ok((name.clone(), CLUSTER_CRITICAL, PreemptionPolicy::PreemptLowerPriority))
            }
            "system-node-critical" => {
                Ok((name.clone(), NODE_CRITICAL, PreemptionPolicy::PreemptLowerPriority))
            }
            unknown => {
                let why = format!("no PriorityClass with name {unknown} was found");
                Err(ApiError::forbidden(Kind::Pod, &pod.meta.key(), &why))
            }
        }
    }

    /// Plugins StorageObjectInUseProtection and DefaultStorageClass.
    fn admit_claim(&self, claim: Arc<PersistentVolumeClaim>) -> Arc<PersistentVolumeClaim> {
        let mut claim = protect(claim, "kubernetes.io/pvc-protection");
        Arc::make_mut(&mut claim).status.phase = Some(ClaimPhase::Pending);
        if claim.spec.storage_class_name.is_none() && claim.spec.volume_name.is_empty() {
            // Of several defaults the youngest counts, then the first by name.
            let default = self
                .view()
                .storage_classes
                .unordered()
                .map(|(_, class)| class)
                .filter(|class| {
                    class.meta.annotations.value("storageclass.kubernetes.io/is-default-class")
                        == Some("true")
                })
                .min_by_key(|class| {
                    (std::cmp::Reverse(class.meta.creation_timestamp), class.meta.name.clone())
                });
            if let Some(class) = default {
                Arc::make_mut(&mut claim).spec.storage_class_name = Some(class.meta.name.clone());
            }
        }
        claim
    }
}

fn take(pod: &mut Arc<Pod>, Completed { spec, node, token, limited, .. }: &Completed) {
    if let Some(told) = limited {
        let pod = Arc::make_mut(pod);
        pod.meta.annotations = pod.meta.annotations.with(ANNOTATION, told.clone());
        // The registry tells a pod's class of service once admission has completed it.
        pod.meta.raw = without_class(&pod.meta.raw);
    }
    if Arc::ptr_eq(spec, &pod.spec) && node.is_none() && (token.is_none() || pod.token.is_some()) {
        return;
    }
    let pod = Arc::make_mut(pod);
    pod.spec = spec.clone();
    pod.token = pod.token.take().or_else(|| token.clone());
    pod.node = pod.node.take().or_else(|| node.clone());
}

fn without_class(raw: &Raw) -> Raw {
    let rest = raw.0.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let Some(mut rest) = rest else { return raw.clone() };
    if let Some(status) = rest.get_mut("status").and_then(Value::as_object_mut) {
        status.remove("qosClass");
    }
    Raw(Some(rest.to_string().into()))
}

/// Whether a toleration already covers the taint of a key.
fn tolerates(toleration: &Toleration, key: &str) -> bool {
    (toleration.key.is_empty() || &*toleration.key == key)
        && matches!(toleration.effect, None | Some(TaintEffect::NoExecute))
}

/// Plugin TaintNodesByCondition: a node begins as not ready.
fn admit_node(mut node: Arc<Node>) -> Arc<Node> {
    let key = "node.kubernetes.io/not-ready";
    if !node.spec.taints.iter().any(|taint| &*taint.key == key && taint.effect == TaintEffect::NoSchedule) {
        Arc::make_mut(&mut node).spec.taints.push(Taint::new(key, TaintEffect::NoSchedule));
    }
    node
}

fn admit_namespace_object(mut namespace: Arc<NamespaceObject>) -> Arc<NamespaceObject> {
    let object = Arc::make_mut(&mut namespace);
    object.status.phase = Some(NamespacePhase::Active);
    if !object.spec.finalizers.iter().any(|name| &**name == "kubernetes") {
        object.spec.finalizers.push("kubernetes".into());
    }
    let name = object.meta.name.text().clone();
    object.meta.labels = object.meta.labels.with("kubernetes.io/metadata.name", name);
    namespace
}

fn protect<R: Resource>(mut object: Arc<R>, finalizer: &str) -> Arc<R> {
    if !object.meta().finalizers.iter().any(|name| &**name == finalizer) {
        Arc::make_mut(&mut object).meta_mut().finalizers.push(finalizer.into());
    }
    object
}
