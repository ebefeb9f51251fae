//! From the API's JSON to typed objects.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::labels::TextMap;
use crate::list::List;
use crate::object::cluster::{NamespaceObject, Other};
use crate::object::meta::{Meta, OwnerReference, Raw};
use crate::object::pod::{Pod, PodSpec, PodStatus};
use crate::object::pod_text::{Met, SpecTexts};
use crate::object::render::{subtract, typed_value};
use crate::object::{Kind, Object, Resource, pod_wire};
use crate::reader::{self, Wrong};
use crate::text::{Name, Namespace, NodeName, Text, Uid};
use crate::tree::{self, Item, Parser, Taken, skip};

/// Why JSON is not an object of the API.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ProjectError {
    /// The document is a list, a string or a number.
    #[error("expected an object with apiVersion, kind and metadata, found {found}")]
    NotAnObject {
        /// What was found instead.
        found: &'static str,
    },
    /// A member that every object has is missing.
    #[error("expected {member} ({what})")]
    Missing {
        /// The member's path.
        member: &'static str,
        /// What it is for.
        what: &'static str,
    },
    /// A member has another type or value than the API's.
    #[error("{kind} {name}: {path}: {message}")]
    Member {
        /// Kind of the object.
        kind: Text,
        /// Namespace and name.
        name: Text,
        /// Path of the member.
        path: Text,
        /// What was expected and what was found.
        message: Text,
    },
}

/// Reads objects and shares what repeats between them: pod specs, label sets, names of namespaces, nodes and owners, words of conditions. What no object has any more is forgotten.
#[derive(Debug, Default)]
pub struct Projector {
    specs: FxHashMap<Box<str>, Arc<PodSpec>>,
    /// The spec that was read last: in lists, pods of one template stand side by side.
    last: Option<(Value, Arc<PodSpec>)>,
    maps: FxHashSet<TextMap>,
    texts: FxHashSet<Text>,
    /// The same by the text they stand in, where objects are read from that.
    pub(super) spec_texts: SpecTexts,
    map_texts: FxHashMap<Box<str>, TextMap>,
    owner_texts: FxHashMap<Box<str>, List<OwnerReference>>,
    /// How much is known when what nobody has is forgotten next.
    full: usize,
}

/// How much is known at least before anything is forgotten.
const FULL_MIN: usize = 4_096;

/// The longest rest of an object that is shared, in bytes.
const SHARED_MAX: usize = 4_096;

impl Projector {
    /// Reads one object.
    ///
    /// # Errors
    /// See [`ProjectError`].
    pub fn object(&mut self, value: Value) -> Result<Object, ProjectError> {
        let Value::Object(members) = value else {
            return Err(ProjectError::NotAnObject { found: kind_of(&value) });
        };
        let head = Head::of(&members)?;
        self.forget();
        match Kind::of(&head.api_version, &head.kind) {
            None | Some(Kind::Other) => self.other(&head, members),
            Some(Kind::Pod) => self.pod(&head, members),
            Some(Kind::Namespace) => self.typed::<NamespaceObject>(&head, members),
            Some(Kind::Node) => self.typed::<crate::object::node::Node>(&head, members),
            Some(Kind::PriorityClass) => self.typed::<crate::object::policy::PriorityClass>(&head, members),
            Some(Kind::StorageClass) => self.typed::<crate::object::volume::StorageClass>(&head, members),
            Some(Kind::CsiDriver) => self.typed::<crate::object::volume::CsiDriver>(&head, members),
            Some(Kind::NodeClaim) => self.typed::<crate::object::karpenter::NodeClaim>(&head, members),
            Some(Kind::CsiNode) => self.typed::<crate::object::volume::CsiNode>(&head, members),
            Some(Kind::CsiStorageCapacity) => {
                self.typed::<crate::object::volume::CsiStorageCapacity>(&head, members)
            }
            Some(Kind::VolumeAttachment) => {
                self.typed::<crate::object::volume::VolumeAttachment>(&head, members)
            }
            Some(Kind::PersistentVolume) => {
                self.typed::<crate::object::volume::PersistentVolume>(&head, members)
            }
            Some(Kind::CustomResourceDefinition) => {
                self.typed::<crate::object::cluster::CustomResourceDefinition>(&head, members)
            }
            Some(Kind::PersistentVolumeClaim) => {
                self.typed::<crate::object::volume::PersistentVolumeClaim>(&head, members)
            }
            Some(Kind::ResourceQuota) => self.typed::<crate::object::policy::ResourceQuota>(&head, members),
            Some(Kind::Deployment) => self.typed::<crate::object::workload::Deployment>(&head, members),
            Some(Kind::ReplicaSet) => self.typed::<crate::object::workload::ReplicaSet>(&head, members),
            Some(Kind::ReplicationController) => {
                self.typed::<crate::object::workload::ReplicationController>(&head, members)
            }
            Some(Kind::StatefulSet) => self.typed::<crate::object::workload::StatefulSet>(&head, members),
            Some(Kind::DaemonSet) => self.typed::<crate::object::workload::DaemonSet>(&head, members),
            Some(Kind::ControllerRevision) => {
                self.typed::<crate::object::workload::ControllerRevision>(&head, members)
            }
            Some(Kind::CronJob) => self.typed::<crate::object::batch::CronJob>(&head, members),
            Some(Kind::Job) => self.typed::<crate::object::batch::Job>(&head, members),
            Some(Kind::HorizontalPodAutoscaler) => {
                self.typed::<crate::object::autoscaling::HorizontalPodAutoscaler>(&head, members)
            }
            Some(Kind::PodDisruptionBudget) => {
                self.typed::<crate::object::policy::PodDisruptionBudget>(&head, members)
            }
            Some(Kind::Service) => self.typed::<crate::object::network::Service>(&head, members),
            Some(Kind::EndpointSlice) => self.typed::<crate::object::network::EndpointSlice>(&head, members),
        }
    }

    fn typed<R: Resource + DeserializeOwned>(
        &mut self,
        head: &Head,
        members: Map<String, Value>,
    ) -> Result<Object, ProjectError> {
        let mut value = Value::Object(members);
        // What a revision holds is its owner's own JSON, in which `null` stands for itself.
        let is_revision = &*head.kind == "ControllerRevision";
        let data = value.as_object_mut().filter(|_| is_revision).and_then(|members| members.remove("data"));
        crate::wire::strip_nulls(&mut value);
        let mut object: R = read(head, "", &value)?;
        self.share_meta(object.meta_mut());
        if let Some(data) = data.filter(|data| !data.is_null()) {
            value["data"] = data;
        }
        let object: Object = object.into();
        let rest = self.rest(value, &object);
        Ok(object.map_meta(|meta| meta.raw = rest))
    }

    fn pod(&mut self, head: &Head, mut members: Map<String, Value>) -> Result<Object, ProjectError> {
        let mut spec = match members.remove("spec") {
            Some(Value::Object(spec)) => spec,
            None | Some(Value::Null) => Map::new(),
            Some(found) => {
                return Err(head.member("spec", &format!("expected an object, found {}", kind_of(&found))));
            }
        };
        let own = pod_wire::split(&mut spec);
        let mut value = Value::Object(members);
        crate::wire::strip_nulls(&mut value);
        let mut meta: Meta = read(head, "metadata", &value["metadata"])?;
        let mut status: PodStatus = match value.get("status") {
            Some(status) => read(head, "status", status)?,
            None => PodStatus::default(),
        };
        self.share_meta(&mut meta);
        self.share_status(&mut status);
        let pod = Pod {
            meta,
            spec: self.spec(spec).map_err(|wrong| head.wrong("spec", &wrong))?,
            node: own.node.map(|node| NodeName::new(self.text(node.text()))),
            pin: own.pin.map(|pin| NodeName::new(self.text(pin.text()))),
            token: own.token,
            status,
        };
        let object = Object::from(pod);
        let rest = self.rest(value, &object);
        Ok(object.map_meta(|meta| meta.raw = rest))
    }

    /// Reads a pod from its text, where that is possible without copying what it says into a tree: it says what it is and where, and nothing about it is unusual. The
    /// spec is not even parsed where a pod of the same template was read before. What is read is the same as from a tree. `sees` is shown all but the spec, and can
    /// say that the pod is to be read as any other object.
    pub fn pod_of_text(&mut self, text: &str, sees: &mut dyn FnMut(Item<'_, '_>) -> bool) -> Option<Object> {
        self.forget();
        let (mut met, mut unknown) = (None, None);
        let tree = Parser::new(text)?.object(&mut |key, text, at| {
            if key == "kind" && !text[at..].starts_with("\"Pod\"") {
                return Taken::GivenUp;
            }
            if key != "spec" {
                return Taken::Not;
            }
            if met.is_some() || unknown.is_some() {
                return Taken::GivenUp;
            }
            met = self.spec_texts.find(text, at);
            let end = met.as_ref().map(|met| met.end).or_else(|| skip(text, at));
            unknown = end.filter(|_| met.is_none()).map(|end| &text[at..end]);
            end.map_or(Taken::GivenUp, Taken::UpTo)
        })?;
        let root = tree.root();
        let is = |key: &str, what: &str| root.get(key).filter(|member| member.text() == Some(what));
        let (api_version, kind) = (is("apiVersion", "v1")?, is("kind", "Pod")?);
        let metadata = root.get("metadata")?;
        let has = |key: &str| metadata.get(key).and_then(Item::text).is_some_and(|text| !text.is_empty());
        if !has("name") || !has("namespace") || !sees(root) {
            return None;
        }
        let Met { spec, own, .. } = match (met, unknown) {
            (Some(met), _) => met,
            (None, unknown) => self.spec_of_text(unknown?)?,
        };
        api_version.pass_by();
        kind.pass_by();
        let meta = self.meta_of_text(metadata, text)?;
        let status = match root.get("status") {
            Some(item) => {
                let mut status: PodStatus = tree::read(item).ok()?;
                tree::say(item, &status).ok()?;
                self.share_status(&mut status);
                status
            }
            None => PodStatus::default(),
        };
        let mut pod = Pod {
            meta,
            spec,
            node: own.node.map(|node| NodeName::new(self.text(node.text()))),
            pin: own.pin.map(|pin| NodeName::new(self.text(pin.text()))),
            token: own.token,
            status,
        };
        pod.meta.raw = tree::rest(root).map_or(Raw(None), |rest| self.raw(&rest));
        Some(Object::from(pod))
    }

    /// A spec that is met for the first time.
    fn spec_of_text(&mut self, text: &str) -> Option<Met> {
        let tree = Parser::new(text)?.object(&mut |_, _, _| Taken::Not)?;
        let Value::Object(mut members) = tree.root().value() else { return None };
        let own = pod_wire::split(&mut members);
        let volumes = own.token.as_ref().map_or(0, |_| pod_wire::token_volumes(members.values()));
        let spec = self.spec(members).ok()?;
        self.spec_texts.learn(text, &spec, &own, volumes);
        Some(Met { spec, own, end: text.len() })
    }

    /// Metadata; maps and owners are known by their text.
    fn meta_of_text<'t>(&mut self, metadata: Item<'_, 't>, text: &'t str) -> Option<Meta> {
        let mut maps = [TextMap::default(), TextMap::default()];
        for (map, key) in maps.iter_mut().zip(["labels", "annotations"]) {
            let Some(item) = metadata.get(key) else { continue };
            let source = item.source(text);
            *map = match self.map_texts.get(source) {
                Some(known) => known.clone(),
                None => {
                    let map = self.map(&tree::read(item).ok()?);
                    self.map_texts.insert(source.into(), map.clone());
                    map
                }
            };
            if !map.is_empty() {
                item.pass_by();
            }
        }
        let owners = metadata.get("ownerReferences");
        let known = owners.and_then(|owners| self.owner_texts.get(owners.source(text)).cloned());
        if let (Some(owners), Some(_)) = (owners, &known) {
            owners.pass_by();
        }
        let mut meta: Meta = tree::read(metadata).ok()?;
        let [labels, annotations] = maps;
        (meta.labels, meta.annotations) = (labels, annotations);
        if let Some(known) = known {
            meta.owner_references = known;
            tree::say(metadata, &meta).ok()?;
            meta.namespace = Namespace::new(self.text(meta.namespace.text()));
            meta.generate_name = meta.generate_name.take().map(|name| self.text(&name));
            meta.finalizers.shrink_to_fit();
            return Some(meta);
        }
        tree::say(metadata, &meta).ok()?;
        self.share_meta(&mut meta);
        if let Some(owners) = owners.filter(|owners| owners.is_gone()) {
            self.owner_texts.insert(owners.source(text).into(), meta.owner_references.clone());
        }
        Some(meta)
    }

    fn other(&mut self, head: &Head, members: Map<String, Value>) -> Result<Object, ProjectError> {
        let value = Value::Object(members);
        let mut metadata = value["metadata"].clone();
        crate::wire::strip_nulls(&mut metadata);
        let mut meta: Meta = read(head, "metadata", &metadata)?;
        self.share_meta(&mut meta);
        let replicas =
            value.pointer("/spec/replicas").and_then(Value::as_i64).and_then(|n| i32::try_from(n).ok());
        let other =
            Other { api_version: self.text(&head.api_version), kind: self.text(&head.kind), meta, replicas };
        let object = Object::Other(Arc::new(other));
        let rest = self.rest(value, &object);
        Ok(object.map_meta(|meta| meta.raw = rest))
    }

    fn spec(&mut self, spec: Map<String, Value>) -> Result<Arc<PodSpec>, Wrong> {
        let value = Value::Object(spec);
        if let Some((_, shared)) = self.last.as_ref().filter(|(last, _)| *last == value) {
            return Ok(shared.clone());
        }
        let key = value.to_string().into_boxed_str();
        let spec = match self.specs.get(&key) {
            Some(shared) => shared.clone(),
            None => {
                let spec = Arc::new(pod_wire::spec_from_value(value.clone())?);
                self.specs.insert(key, spec.clone());
                spec
            }
        };
        self.last = Some((value, spec.clone()));
        Ok(spec)
    }

    fn share_meta(&mut self, meta: &mut Meta) {
        meta.namespace = Namespace::new(self.text(meta.namespace.text()));
        meta.labels = self.map(&meta.labels);
        meta.annotations = self.map(&meta.annotations);
        meta.generate_name = meta.generate_name.take().map(|name| self.text(&name));
        for owner in &mut meta.owner_references {
            owner.api_version = self.text(&owner.api_version);
            owner.kind = self.text(&owner.kind);
            owner.name = Name::new(self.text(owner.name.text()));
            owner.uid = Uid::new(self.text(owner.uid.text()));
        }
        meta.owner_references.shrink();
        meta.finalizers.shrink_to_fit();
    }

    /// What all pods have in their status: the same few words, and lists that do not grow.
    fn share_status(&mut self, status: &mut PodStatus) {
        for text in [&mut status.reason, &mut status.message, &mut status.pod_ip] {
            self.share_empty(text);
        }
        for condition in &mut status.conditions {
            condition.r#type = self.text(&condition.r#type);
            condition.reason = self.text(&condition.reason);
            self.share_empty(&mut condition.message);
        }
        status.conditions.shrink();
        status.conditions.note();
        for list in [&mut status.container_statuses, &mut status.init_container_statuses] {
            for container in &mut *list {
                container.name = self.text(&container.name);
            }
            list.shrink();
        }
    }

    /// Text that is mostly empty and otherwise its object's own.
    fn share_empty(&mut self, text: &mut Text) {
        if text.is_empty() {
            *text = self.text(text);
        }
    }

    /// Forgets what no object has any more, each time that twice as much is known as was needed last.
    fn forget(&mut self) {
        let known = |projector: &Self| {
            projector.specs.len()
                + projector.maps.len()
                + projector.texts.len()
                + projector.map_texts.len()
                + projector.owner_texts.len()
        };
        if known(self) < self.full.max(FULL_MIN) {
            return;
        }
        self.spec_texts.clear();
        self.map_texts.clear();
        self.owner_texts.clear();
        self.specs.retain(|_, spec| Arc::strong_count(spec) > 1);
        self.maps.retain(TextMap::is_shared);
        self.texts.retain(|text| Arc::strong_count(text) > 1);
        self.full = known(self) * 2;
    }

    /// What the typed part does not say. Objects that a client makes within a second differ in nothing of it: it is mostly who manages which fields, and since when.
    fn rest(&mut self, mut value: Value, object: &Object) -> Raw {
        if let Some(typed) = typed_value(object) {
            subtract(&mut value, &typed);
        }
        if value.as_object().is_none_or(Map::is_empty) {
            return Raw(None);
        }
        self.raw(&value.to_string())
    }

    /// What is longer has contents of its own, and would be kept for a while after its object has gone.
    fn raw(&mut self, rest: &str) -> Raw {
        Raw(Some(if rest.len() <= SHARED_MAX { self.word(rest) } else { Text::from(rest) }))
    }

    fn word(&mut self, text: &str) -> Text {
        if let Some(shared) = self.texts.get(text) {
            return shared.clone();
        }
        let text = Text::from(text);
        self.texts.insert(text.clone());
        text
    }

    fn map(&mut self, map: &TextMap) -> TextMap {
        if let Some(shared) = self.maps.get(map) {
            return shared.clone();
        }
        self.maps.insert(map.clone());
        map.clone()
    }

    fn text(&mut self, text: &Text) -> Text {
        if let Some(shared) = self.texts.get(text) {
            return shared.clone();
        }
        self.texts.insert(text.clone());
        text.clone()
    }
}

/// What says which object this is.
struct Head {
    api_version: Text,
    kind: Text,
    name: Text,
}

impl Head {
    fn of(members: &Map<String, Value>) -> Result<Self, ProjectError> {
        let api_version = text_of(members.get("apiVersion"))
            .ok_or(ProjectError::Missing { member: "apiVersion", what: "such as v1 or apps/v1" })?;
        let kind = text_of(members.get("kind"))
            .ok_or(ProjectError::Missing { member: "kind", what: "such as Pod or Deployment" })?;
        let metadata = members
            .get("metadata")
            .and_then(Value::as_object)
            .ok_or(ProjectError::Missing { member: "metadata", what: "an object with at least a name" })?;
        let name = text_of(metadata.get("name"))
            .or_else(|| text_of(metadata.get("generateName")))
            .ok_or(ProjectError::Missing { member: "metadata.name", what: "the object's name" })?;
        let full = match text_of(metadata.get("namespace")) {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.to_owned(),
        };
        Ok(Self { api_version: Text::from(api_version), kind: Text::from(kind), name: Text::from(full) })
    }

    fn wrong(&self, under: &str, wrong: &Wrong) -> ProjectError {
        let path = match (under, &*wrong.path()) {
            ("", path) => path.to_owned(),
            (under, "") => under.to_owned(),
            (under, path) => format!("{under}.{path}"),
        };
        self.member(&path, wrong.message())
    }

    fn member(&self, path: &str, message: &str) -> ProjectError {
        ProjectError::Member {
            kind: self.kind.clone(),
            name: self.name.clone(),
            path: Text::from(path),
            message: Text::from(message),
        }
    }
}

fn text_of(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn read<T: DeserializeOwned>(head: &Head, under: &str, value: &Value) -> Result<T, ProjectError> {
    reader::read(value).map_err(|wrong| head.wrong(under, &wrong))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(number: usize) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("p-{number}"), "namespace": "n",
                "labels": {"number": number.to_string()}, "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": format!("j-{number}"), "uid": format!("u-{number}")}]},
            "spec": {"containers": [{"name": format!("c-{number}")}]}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    }

    #[test]
    fn what_no_object_has_any_more_is_forgotten() {
        let mut projector = Projector::default();
        let kept: Vec<Object> =
            (0..100).map(|number| projector.object(pod(number)).expect("a pod")).collect();
        for number in 100..20_000 {
            drop(projector.object(pod(number)).expect("a pod"));
        }
        let known = projector.specs.len() + projector.maps.len() + projector.texts.len();
        assert!(known <= FULL_MIN + 5, "{known}");
        // What is there is shared still.
        let again = projector.object(pod(7)).expect("a pod");
        let (Object::Pod(again), Object::Pod(before)) = (&again, &kept[7]) else { panic!("they are pods") };
        assert!(Arc::ptr_eq(&again.spec, &before.spec));
        assert!(Arc::ptr_eq(&again.status.conditions[0].r#type, &before.status.conditions[0].r#type));
    }
}
