//! Objects of a snapshot in the versions in which the model reads them.
//!
//! What `kubectl get` printed years ago says `extensions/v1beta1`, or `autoscaling/v1`: the same objects, in other words and
//! with other defaults. The code that loads a snapshot passes a [`Reader`] to intake, and every command sees them as they are. A scan
//! reads the texts themselves, and sees the versions as they were written.
//!
//! | object | is converted to |
//! |---|---|
//! | of a kind that the model types | the version that the model has, whether the written one is gone or not |
//! | of another kind of Kubernetes' own, in a version that is gone | what takes its place, as the table says |
//! | of a kind that nothing takes the place of, or of a product | nothing: no decision reads it, or nobody knows its fields |
//!
//! | Node with the labels of before 1.17 only | the same, with those of today beside them, as the 1.17 control plane writes them |
//!
//! References go along: owners by the version of their kind, what an autoscaler scales by the rule at [`Reader::settle`].

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_intake::convert::{Conversion, Converted, Converter, Stands};
use replank_model::object::node::{LABEL_INSTANCE_TYPE, LABEL_REGION, LABEL_ZONE};
use replank_model::object::{Kind, Object};
use replank_model::text::Text;
use serde_json::Value;

use crate::convert::{Purpose, convert_for, leads};
use crate::release::Release;
use crate::table::{DATA_NEWEST, Gvk, Product, Stage, Table};
use crate::tree::Tree;

/// Brings objects to the versions in which they are read.
#[derive(Clone, Debug)]
pub struct Reader {
    table: Table,
    newest: Release,
    /// By version and kind, what it is converted to; a snapshot has few of them and many objects.
    known: BTreeMap<String, BTreeMap<String, Option<Arc<Gvk>>>>,
}

impl Default for Reader {
    fn default() -> Self {
        Self::new(Table::embedded())
    }
}

impl Reader {
    /// One that goes by a table.
    ///
    /// # Panics
    /// Never: the newest version of the built-in data is a version.
    pub fn new(table: Table) -> Self {
        let newest = DATA_NEWEST.parse().expect("the newest version of the data is a version");
        Self { table, newest, known: BTreeMap::new() }
    }

    /// What takes the place of a version of a kind where it is read; `None` where it is read as it is.
    fn successor(&mut self, api_version: &str, kind: &str) -> Option<Arc<Gvk>> {
        if let Some(known) = self.known.get(api_version).and_then(|kinds| kinds.get(kind)) {
            return known.clone();
        }
        let found = self.look_up(api_version, kind).map(Arc::new);
        let kinds = self.known.entry(api_version.to_owned()).or_default();
        kinds.insert(kind.to_owned(), found.clone());
        found
    }

    fn look_up(&self, api_version: &str, kind: &str) -> Option<Gvk> {
        let from = Gvk::of(api_version, kind);
        let typed = Kind::TYPED.iter().filter(|typed| typed.as_str() == kind);
        let mut typed = typed.map(|typed| Gvk::of(typed.api_version(), kind)).filter(|to| leads(&from, to));
        if let Some(to) = typed.next() {
            return (to != from).then_some(to);
        }
        let row = self.table.lookup_gvk(&from).filter(|row| row.product == Product::Kubernetes)?;
        let is_gone = row.stage(self.newest) == Stage::Removed;
        let to = self.table.replacement(row, self.newest).filter(|_| is_gone)?;
        leads(&from, to).then(|| to.clone())
    }

    /// References within an object that name it by an older version of the same kind.
    fn references(&mut self, object: &mut Value) {
        let owners = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
        for owner in owners.into_iter().flatten() {
            if let Some(to) = self.referred(owner) {
                owner["apiVersion"] = to.api_version().into();
            }
        }
        // The autoscaler's controller asks for kind and group and takes the version that is served.
        if object["kind"] == "HorizontalPodAutoscaler"
            && let Some(target) = object.pointer_mut("/spec/scaleTargetRef")
            && let Some(to) = self.referred(target)
            && target["apiVersion"]
                .as_str()
                .and_then(|of| of.split_once('/'))
                .is_some_and(|of| of.0 == to.group)
        {
            target["apiVersion"] = to.api_version().into();
        }
    }

    fn referred(&mut self, reference: &Value) -> Option<Arc<Gvk>> {
        let text = |key: &str| reference.get(key).and_then(Value::as_str);
        self.successor(text("apiVersion")?, text("kind")?)
    }

    /// What autoscalers scale by a group that has moved since (`extensions`): it is found as long as the cluster serves that
    /// group, which the newest of its kubelets tells; behind that, the autoscaler scales nothing (`no matches for kind`).
    pub fn settle(&mut self, objects: &mut [Object]) {
        let versions = objects.iter().filter_map(|object| {
            let Object::Node(node) = object else { return None };
            node.status.node_info.kubelet_version.parse::<Release>().ok()
        });
        let Some(cluster) = versions.max() else { return };
        for object in objects {
            let Object::HorizontalPodAutoscaler(scaler) = object else { continue };
            let target = &scaler.spec.scale_target_ref;
            let is_served = self
                .table
                .lookup(&target.api_version, &target.kind)
                .is_some_and(|row| row.stage(cluster) != Stage::Removed);
            let (api_version, kind) = (target.api_version.clone(), target.kind.clone());
            if is_served && let Some(to) = self.successor(&api_version, &kind) {
                Arc::make_mut(scaler).spec.scale_target_ref.api_version = Text::from(to.api_version());
            }
        }
    }
}

impl Converter for Reader {
    fn convert(&mut self, object: &mut Value) -> Converted {
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
            return Converted::AsWritten;
        };
        let Some(to) = self.successor(api_version, kind) else {
            if (api_version, kind) == ("v1", "Node") {
                return labels_of_today(object);
            }
            self.references(object);
            return Converted::AsWritten;
        };
        let conversion =
            Conversion::Version { kind: kind.to_owned(), from: api_version.to_owned(), to: to.api_version() };
        let stands = match Kind::of(api_version, kind) {
            // Its group is another one: under the old one nobody would find it.
            None if Kind::of(&to.api_version(), kind).is_some() => Stands::Unknown,
            None | Some(_) => Stands::Read,
        };
        let mut tree = Tree::from_value(object);
        match convert_for(Purpose::Read, &self.table, &mut tree, &to, self.newest) {
            Ok(_) => {
                *object = tree.value();
                self.references(object);
                Converted::To(conversion)
            }
            Err(hold) => {
                self.references(object);
                Converted::Not { why: hold.to_string(), stands }
            }
        }
    }

    fn leaves(&mut self, api_version: &str, kind: &str) -> bool {
        self.successor(api_version, kind).is_none()
    }

    fn another(&self) -> Box<dyn Converter + Send> {
        Box::new(self.clone())
    }
}

/// Labels of nodes that got other keys with 1.17 (KEP-895), and 1.14 those of system and architecture.
const LABELS: [(&str, &str); 5] = [
    ("failure-domain.beta.kubernetes.io/zone", LABEL_ZONE),
    ("failure-domain.beta.kubernetes.io/region", LABEL_REGION),
    ("beta.kubernetes.io/instance-type", LABEL_INSTANCE_TYPE),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
];

/// A node with old label keys also gets the present ones: zones are read from these.
fn labels_of_today(node: &mut Value) -> Converted {
    let Some(labels) = node.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) else {
        return Converted::AsWritten;
    };
    let mut added = false;
    for (old, today) in LABELS {
        if let Some(value) = labels.get(old).cloned().filter(|_| !labels.contains_key(today)) {
            labels.insert(today.to_owned(), value);
            added = true;
        }
    }
    if !added {
        return Converted::AsWritten;
    }
    Converted::To(Conversion::Labels {
        kind: "Node",
        from: "beta.kubernetes.io/*",
        to: "topology.kubernetes.io/* and node.kubernetes.io/*",
    })
}

#[cfg(test)]
mod tests;
