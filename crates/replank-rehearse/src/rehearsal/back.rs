//! What a rollback has come to, counted on the cluster itself: which nodes are those of before, which are new ones like them, and which are neither.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::release::made_of;
use replank_model::object::cloud::{Instance, LaunchTemplate};
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, InstanceId};
use replank_model::view::View;
use replank_protocol::record::MadeOf;
use serde::Serialize;

/// Node groups before the run.
#[derive(Debug, Default)]
pub(super) struct Before {
    instances: BTreeSet<InstanceId>,
    groups: BTreeMap<GroupName, (LaunchTemplate, usize)>,
    /// Whether somebody else replaces nodes: what they have replaced is nobody's to take back.
    are_replaced_by_others: bool,
}

/// How far nodes are what they were before the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rollback {
    /// Nodes that were there before the run.
    pub kept: usize,
    /// Nodes that came since, in the places of others, made from the launch template that their group had before.
    pub renewed: usize,
    /// Nodes that came since, made from something else or in a group that had fewer, sorted by name.
    pub other: Vec<OtherNode>,
    /// Nodes that groups had before and have no more, by group.
    pub missing: BTreeMap<GroupName, usize>,
    /// What those that came since are made of, as before the run, by group, where that is known.
    pub images: Vec<GroupImage>,
}

/// What nodes of a group are made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupImage {
    /// The group.
    pub group: GroupName,
    /// Release and image.
    #[serde(flatten)]
    pub made_of: MadeOf,
}

/// A node that is not as before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OtherNode {
    /// Its name, or its instance's id while it has none.
    pub node: String,
    /// Its group.
    pub group: String,
    /// Pods on it, those of DaemonSets aside.
    pub pods: usize,
}

impl Rollback {
    /// Whether every group has the nodes that it had, or others like them.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.other.is_empty() && self.missing.is_empty()
    }
}

impl Before {
    pub(super) fn of(view: &View) -> Self {
        let alive: Vec<&Instance> = alive(view).collect();
        let count = |name: &GroupName| alive.iter().filter(|one| one.group == *name).count();
        let groups = view.groups().values();
        Self {
            groups: groups
                .map(|group| (group.name.clone(), (group.template().clone(), count(&group.name))))
                .collect(),
            are_replaced_by_others: false,
            instances: alive.iter().map(|one| one.id.clone()).collect(),
        }
    }

    /// Somebody else replaces nodes, and nobody takes that back.
    pub(super) fn let_others_replace(&mut self) {
        self.are_replaced_by_others = true;
    }

    /// What of it is there.
    pub(super) fn compare(&self, view: &View) -> Rollback {
        let mut found = Rollback::default();
        for (name, (template, before)) in &self.groups {
            let of_group: Vec<&Instance> = alive(view).filter(|one| one.group == *name).collect();
            let (kept, new): (Vec<&Instance>, Vec<&Instance>) =
                of_group.iter().partition(|one| self.instances.contains(&one.id));
            let made_from = |one: &Instance| view.groups().get(name).and_then(|group| group.made_from(one));
            let (like, unlike): (Vec<&Instance>, Vec<&Instance>) = new
                .into_iter()
                .partition(|one| self.are_replaced_by_others || made_from(one) == Some(template));
            found.kept += kept.len();
            let places = before.saturating_sub(kept.len());
            let beyond = like.iter().skip(places);
            let renewed = like.len().min(places);
            found.renewed += renewed;
            if let Some(made_of) = made_of(template).filter(|_| renewed > 0) {
                found.images.push(GroupImage { group: name.clone(), made_of });
            }
            found.other.extend(unlike.iter().chain(beyond).map(|one| other(view, one)));
            let missing = places.saturating_sub(like.len());
            if missing > 0 {
                found.missing.insert(name.clone(), missing);
            }
        }
        found.other.sort();
        found
    }
}

fn alive(view: &View) -> impl Iterator<Item = &Instance> {
    view.instances().values().map(|one| &**one).filter(|one| one.is_counted())
}

fn is_daemon(pod: &Pod) -> bool {
    pod.meta.controller().is_some_and(|owner| &*owner.kind == "DaemonSet" || &*owner.kind == "Node")
}

fn other(view: &View, instance: &Instance) -> OtherNode {
    let pods = instance.node.iter().flat_map(|name| view.pods_on(name)).map(|ix| &view.pods[*ix]);
    OtherNode {
        node: instance.node.as_ref().map_or_else(|| instance.id.to_string(), ToString::to_string),
        group: instance.group.to_string(),
        pods: pods.filter(|pod| !pod.is_terminal() && !is_daemon(pod)).count(),
    }
}

#[cfg(test)]
mod tests {
    use replank_facts::groups::{GroupBy, from_nodes};
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::json;

    use super::*;

    /// Nodes of a group, each with one pod.
    fn view(names: &[&str]) -> View {
        let objects = names.iter().flat_map(|name| {
            let node = json!({"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "uid": name, "labels": {"eks.amazonaws.com/nodegroup": "web"}},
                "spec": {"providerID": format!("aws:///a/{name}")}});
            let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "uid": name},
                "spec": {"nodeName": name, "containers": [{"name": "c"}]}, "status": {"phase": "Running"}});
            [node, pod]
        });
        let put = |value| Delta::Put(Object::from_json(value).expect("an object"));
        let mut view: View = objects.map(put).collect();
        for learnt in from_nodes(&view, &GroupBy::Label("eks.amazonaws.com/nodegroup".into())) {
            view.apply(Delta::Group(learnt.group.into()));
            learnt.instances.into_iter().for_each(|one| drop(view.apply(Delta::Instance(one.into()))));
        }
        view
    }

    fn compared(after: &[&str]) -> (usize, usize, Vec<String>, usize) {
        let back = Before::of(&view(&["a", "b", "c"])).compare(&view(after));
        let other = back.other.iter().map(|one| format!("{} with {}", one.node, one.pods)).collect();
        assert_eq!(back.is_complete(), back.other.is_empty() && back.missing.is_empty());
        (back.kept, back.renewed, other, back.missing.values().sum())
    }

    #[test]
    fn nodes_are_counted_by_what_is_there() {
        assert_eq!(compared(&["a", "b", "c"]), (3, 0, vec![], 0));
        assert_eq!(compared(&["a", "d", "e"]), (1, 2, vec![], 0));
        assert_eq!(compared(&["a", "b"]), (2, 0, vec![], 1));
        assert_eq!(compared(&["a", "b", "c", "d"]), (3, 0, vec!["d with 1".to_owned()], 0));
    }
}
