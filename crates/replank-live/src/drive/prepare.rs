//! From a command to the request that carries it out: docs/effects.md, row by row.

use http::Method;
use replank_model::object::meta::{Key, Meta, ResourceVersion};
use replank_model::object::workload::{DaemonSet, Deployment, StatefulSet};
use replank_model::object::{Kind, Object, ObjectRef, render};
use replank_model::text::{RunId, Text, Uid};
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::{
    Command, Dependents, Effect, GroupEffect, KubernetesEffect, NodeTarget, PodTarget, QueueEffect,
    Restartable, WorkloadTarget,
};
use replank_protocol::mark;
use replank_protocol::outcome::Refusal;
use serde_json::{Value, json};

use super::heard::Sort;
use super::options::DryRun;
use super::patch::{Operation, between, tested};
use super::seen::known;
use crate::connect::{Call, JSON};
use crate::resource::Resource;

/// The media type of a JSON patch.
const PATCH: &str = "application/json-patch+json";
/// HTTP's "not implemented".
const NO_CLOUD: u16 = 501;

/// A request that carries a command out.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub(super) call: Call,
    pub(super) sort: Sort,
    /// Where the object can be read.
    pub(super) path: String,
    pub(super) object: ObjectRef,
    /// What shows that it was carried out.
    pub(super) sign: Sign,
}

/// What an object shows once a command is carried out.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sign {
    /// It is as the patch makes it; the version that the patch is for.
    Patched(ResourceVersion, Vec<Operation>),
    /// It is on its way out, another one, or gone. `version` is the one that the deletion is for, where it is for one.
    Ended { version: Option<ResourceVersion> },
    /// It is there and names the run.
    Created(RunId),
}

/// What is known when requests are made.
pub(super) struct Known<'k> {
    pub(super) view: &'k View,
    pub(super) served: &'k [Resource],
    pub(super) dry_run: DryRun,
    pub(super) now: Time,
    /// Whether a cloud is connected.
    pub(super) has_cloud: bool,
}

/// The request that carries a command out.
///
/// # Errors
/// What is known already refuses it.
pub(super) fn prepare(command: &Command, known: &Known<'_>) -> Result<Prepared, Refusal> {
    match &command.effect {
        Effect::Kubernetes(effect) => kubernetes(command, effect, known),
        Effect::Group(effect) => Err(no_cloud(in_words(effect))),
        Effect::Queue(QueueEffect::HoldMessage { .. } | QueueEffect::DeleteMessage { .. }) => {
            Err(no_cloud("messages of a queue"))
        }
    }
}

fn in_words(effect: &GroupEffect) -> &'static str {
    match effect {
        GroupEffect::Tag { .. } | GroupEffect::Untag { .. } => "tags of a node group",
        GroupEffect::SetTemplate { .. }
        | GroupEffect::Resize { .. }
        | GroupEffect::SetProcess { .. }
        | GroupEffect::UpdateNodegroupVersion { .. }
        | GroupEffect::UpdateNodegroupConfig { .. }
        | GroupEffect::ScaleNodegroupToZero { .. } => "a node group",
        GroupEffect::ProtectInstance { .. } | GroupEffect::Relieve { .. } | GroupEffect::Terminate { .. } => {
            "an instance"
        }
        GroupEffect::CompleteAction { .. } | GroupEffect::Heartbeat { .. } => "a lifecycle action",
    }
}

fn no_cloud(what: &str) -> Refusal {
    let message = format!("no cloud is connected: {what} cannot be changed");
    Refusal::Failed { code: NO_CLOUD, message: Text::from(message) }
}

fn kubernetes(command: &Command, effect: &KubernetesEffect, known: &Known<'_>) -> Result<Prepared, Refusal> {
    let run = &command.run;
    match effect {
        KubernetesEffect::Cordon { node, version, mark } => {
            known.node(node, *version, |object| mark::laid(object, run, mark))
        }
        KubernetesEffect::Uncordon { node, version } => known.node(node, *version, mark::lifted),
        // The delay of load balancers counts from the moment of the write.
        KubernetesEffect::Exclude { node, version, at } => {
            known.node(node, *version, |object| mark::excluded(object, run, known.now.max(*at)))
        }
        KubernetesEffect::CordonByHand { node, version, since, from } => {
            known.node(node, *version, |object| mark::cordoned_by_hand(object, run, *since, *from))
        }
        KubernetesEffect::UncordonByHand { node, version } => {
            known.node(node, *version, mark::uncordoned_by_hand)
        }
        KubernetesEffect::Evict { pod, grace_seconds } => Ok(known.evict(pod, *grace_seconds)),
        KubernetesEffect::DeletePod { pod, grace_seconds } => {
            let object = ObjectRef { kind: Kind::Pod, key: pod.key.clone(), uid: pod.uid.clone() };
            let options =
                json!({"preconditions": {"uid": pod.uid.as_str()}, "gracePeriodSeconds": grace_seconds});
            known.delete(object, known.path(Kind::Pod, &pod.key)?, options, None)
        }
        // That the instance is terminated is proved before it is sent.
        KubernetesEffect::ForceDelete { pod, .. } if known.has_cloud => {
            let object = ObjectRef { kind: Kind::Pod, key: pod.key.clone(), uid: pod.uid.clone() };
            let options = json!({"preconditions": {"uid": pod.uid.as_str()}, "gracePeriodSeconds": 0});
            known.delete(object, known.path(Kind::Pod, &pod.key)?, options, None)
        }
        KubernetesEffect::ForceDelete { instance, .. } => {
            let message =
                format!("no cloud is connected: nothing proves that instance {instance} is terminated");
            Err(Refusal::Failed { code: NO_CLOUD, message: Text::from(message) })
        }
        KubernetesEffect::RestartWorkload { workload, version, at } => {
            known.restart(workload, *version, run, *at)
        }
        KubernetesEffect::Create { object } => known.create(object, run),
        KubernetesEffect::Replace { object } => known.replace(object),
        KubernetesEffect::Delete { object, version, dependents } => {
            let policy = match dependents {
                Dependents::Orphaned => "Orphan",
                Dependents::Collected => "Background",
            };
            let options =
                json!({"preconditions": preconditions(&object.uid, *version), "propagationPolicy": policy});
            known.delete(object.clone(), known.path_of(object)?, options, Some(*version))
        }
        KubernetesEffect::DeleteNodeClaim { claim, version } => {
            let key = Key::cluster(claim.name.clone());
            let path = known.path(Kind::NodeClaim, &key)?;
            let object = ObjectRef { kind: Kind::NodeClaim, key, uid: claim.uid.clone() };
            let options = json!({"preconditions": preconditions(&claim.uid, *version)});
            known.delete(object, path, options, Some(*version))
        }
    }
}

fn preconditions(uid: &Uid, version: ResourceVersion) -> Value {
    json!({"uid": uid.as_str(), "resourceVersion": version.0.to_string()})
}

fn conflict(message: String) -> Refusal {
    Refusal::Conflict { message: Text::from(message) }
}

impl Known<'_> {
    /// A change of a node, of the state that the decision was taken on.
    fn node(
        &self,
        target: &NodeTarget,
        version: ResourceVersion,
        change: impl FnOnce(&replank_model::object::node::Node) -> replank_model::object::node::Node,
    ) -> Result<Prepared, Refusal> {
        let name = &target.name;
        let Some(node) = self.view.node(name) else {
            return Err(Refusal::Gone { message: Text::from(format!("nodes \"{name}\" not found")) });
        };
        if node.meta.uid != target.uid {
            return Err(conflict(format!("node {name} is another incarnation")));
        }
        if node.meta.resource_version != version {
            return Err(conflict(format!("node {name} has been modified")));
        }
        let new = change(node);
        let path = self.path(Kind::Node, &node.meta.key())?;
        Ok(self.patch(&Object::Node(node.clone()), &new.into(), path))
    }

    /// Asks the eviction API.
    fn evict(&self, pod: &PodTarget, grace_seconds: Option<i64>) -> Prepared {
        let Key { namespace, name } = &pod.key;
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
        let mut options = json!({"preconditions": {"uid": pod.uid.as_str()}});
        if let Some(seconds) = grace_seconds {
            options["gracePeriodSeconds"] = seconds.into();
        }
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "deleteOptions": options,
            "metadata": {"namespace": namespace.as_str(), "name": name.as_str()}});
        let object = ObjectRef { kind: Kind::Pod, key: pod.key.clone(), uid: pod.uid.clone() };
        let call =
            self.call(Method::POST, &format!("{path}/eviction"), JSON, eviction.to_string().into_bytes());
        Prepared { call, sort: Sort::Plain, path, object, sign: Sign::Ended { version: None } }
    }

    fn delete(
        &self,
        object: ObjectRef,
        path: String,
        mut options: Value,
        version: Option<ResourceVersion>,
    ) -> Result<Prepared, Refusal> {
        options["kind"] = "DeleteOptions".into();
        options["apiVersion"] = "v1".into();
        if options["gracePeriodSeconds"].is_null() {
            drop(options.as_object_mut().map(|options| options.remove("gracePeriodSeconds")));
        }
        let call = self.call(Method::DELETE, &path, JSON, options.to_string().into_bytes());
        Ok(Prepared { call, sort: Sort::Plain, path, object, sign: Sign::Ended { version } })
    }

    /// Changes the template of a workload, as `kubectl rollout restart` does (polymorphichelpers `objectrestarter.go`).
    fn restart(
        &self,
        target: &WorkloadTarget,
        version: ResourceVersion,
        run: &RunId,
        at: Time,
    ) -> Result<Prepared, Refusal> {
        let (kind, key) = (target.kind.kind(), &target.key);
        let Some(old) = self.view.object(kind, key) else {
            let message = format!("{} \"{}\" not found", kind.plural(), key.name);
            return Err(Refusal::Gone { message: Text::from(message) });
        };
        if old.meta().uid != target.uid || old.meta().resource_version != version {
            return Err(conflict(format!("{} {key} has been modified", kind.as_str())));
        }
        let missing = || conflict(format!("{} {key} is not known", kind.as_str()));
        let new: Object = match target.kind {
            Restartable::Deployment => {
                let mut new = Deployment::clone(self.view.find::<Deployment>(key).ok_or_else(missing)?);
                if new.spec.paused {
                    let message = format!("deployment {key} is paused: resume it before it is restarted");
                    return Err(Refusal::Failed { code: 400, message: Text::from(message) });
                }
                new.spec.template = mark::restarted(&new.spec.template, run, at);
                new.into()
            }
            Restartable::StatefulSet => {
                let mut new = StatefulSet::clone(self.view.find::<StatefulSet>(key).ok_or_else(missing)?);
                new.spec.template = mark::restarted(&new.spec.template, run, at);
                new.into()
            }
            Restartable::DaemonSet => {
                let mut new = DaemonSet::clone(self.view.find::<DaemonSet>(key).ok_or_else(missing)?);
                new.spec.template = mark::restarted(&new.spec.template, run, at);
                new.into()
            }
        };
        let path = self.path(kind, key)?;
        Ok(self.patch(&old, &new, path))
    }

    fn create(&self, object: &Object, run: &RunId) -> Result<Prepared, Refusal> {
        let resource = self.resource(object.api_version(), object.kind_name())?;
        let meta = object.meta();
        let collection = resource.path(namespace(meta));
        let path = format!("{collection}/{}", meta.name);
        let call = self.call(Method::POST, &collection, JSON, render(object).to_string().into_bytes());
        let sign = Sign::Created(run.clone());
        Ok(Prepared { call, sort: Sort::Plain, path, object: object.reference(), sign })
    }

    /// What differs from the state that the decision was taken on.
    fn replace(&self, object: &Object) -> Result<Prepared, Refusal> {
        let meta = object.meta();
        let resource = self.resource(object.api_version(), object.kind_name())?;
        let path = format!("{}/{}", resource.path(namespace(meta)), meta.name);
        let (kind, key) = (object.kind(), meta.key());
        let old = known(self.view, object);
        let Some(old) = old else {
            let message = format!("{} \"{}\" not found", resource.plural, meta.name);
            return Err(Refusal::Gone { message: Text::from(message) });
        };
        if old.meta().uid != meta.uid {
            return Err(conflict(format!("{} {key} is another incarnation", kind.as_str())));
        }
        if old.meta().resource_version != meta.resource_version {
            return Err(conflict(format!("{} {key} has been modified", kind.as_str())));
        }
        Ok(self.patch(&old, object, path))
    }

    fn patch(&self, old: &Object, new: &Object, path: String) -> Prepared {
        let operations = between(&render(old), &render(new));
        let (uid, version) = (&old.meta().uid, old.meta().resource_version);
        let call = self.call(Method::PATCH, &path, PATCH, tested(uid, version, &operations));
        let sign = Sign::Patched(version, operations);
        Prepared { call, sort: Sort::Patch, path, object: old.reference(), sign }
    }

    fn call(&self, method: Method, path: &str, media: &'static str, body: Vec<u8>) -> Call {
        let query = match self.dry_run {
            DryRun::None => "fieldManager=replank",
            DryRun::Server => "fieldManager=replank&dryRun=All",
        };
        let query =
            if method == Method::DELETE { query.trim_start_matches("fieldManager=replank") } else { query };
        let query = query.trim_start_matches('&');
        let path = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
        Call { method, path, body: Some((media, body)) }
    }

    /// Where an object of a typed kind is.
    fn path(&self, kind: Kind, key: &Key) -> Result<String, Refusal> {
        let resource = self.resource(kind.api_version(), kind.as_str())?;
        let namespace = Some(key.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        Ok(format!("{}/{}", resource.path(namespace), key.name))
    }

    /// Where an object of any kind is. Objects of untyped kinds share names: which one is meant its uid tells.
    fn path_of(&self, object: &ObjectRef) -> Result<String, Refusal> {
        if object.kind != Kind::Other {
            return self.path(object.kind, &object.key);
        }
        let mut others = self.view.others();
        let found = others.find(|other| other.meta.uid == object.uid && other.meta.key() == object.key);
        let Some(other) = found else {
            return Err(Refusal::Gone { message: Text::from(format!("{object} not found")) });
        };
        let resource = self.resource(&other.api_version, &other.kind)?;
        Ok(format!("{}/{}", resource.path(namespace(&other.meta)), other.meta.name))
    }

    fn resource(&self, api_version: &str, kind: &str) -> Result<&Resource, Refusal> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let all = || self.served.iter().filter(|one| one.group == group && one.kind == kind);
        let found = all().find(|one| one.api_version() == api_version).or_else(|| all().next());
        found.ok_or_else(|| {
            let message = format!("the server serves no {kind} of {api_version}");
            Refusal::Failed { code: 404, message: Text::from(message) }
        })
    }
}

fn namespace(meta: &Meta) -> Option<&str> {
    Some(meta.namespace.as_str()).filter(|namespace| !namespace.is_empty())
}
