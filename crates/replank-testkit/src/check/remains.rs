//! S3 at the end: whatever of ours is left names its run and when anybody may take it away; after a run that is done nothing is left.
//!
//! Done is a run when nothing is retained any more: so what the plan retains is over by then, too. What may stay is said: a node that was
//! left out keeps its mark, bounds that cannot be given back keep what tells of them.

use replank_model::object::cloud::{GroupKind, NodeGroup};
use replank_model::object::node::Node;
use replank_model::text::{GroupName, NodeName};
use replank_model::time::Time;
use replank_protocol::decision::{Decision, End};

use super::marks::{EXCLUDE, Marks};
use super::size::VERSION;
use super::truth::Truth;
use super::{Found, Promise, Promised};

const OURS: &str = "replank.dev/";
const ROLE: &str = "replank.dev/role";
const RUN: &str = "replank.dev/run";
const EXPIRES: &str = "replank.dev/expires";
const EXCLUDED: &str = "replank.dev/excluded";
/// Tags that name no run: they may stand only beside [`NAMING`], which do; on the group that nodes move into, where they do.
const NAMELESS: [&str; 2] = ["replank.dev/original-size", "replank.dev/original-template"];
const NAMING: [&str; 2] = ["replank.dev/begun", "replank.dev/halted"];

/// The end of a run.
pub(super) struct Ended<'a> {
    pub(super) promised: &'a Promised,
    pub(super) marks: &'a Marks,
    pub(super) truth: &'a Truth,
    pub(super) end: Option<&'a End>,
    pub(super) last: &'a Decision,
}

impl Ended<'_> {
    /// See the module's page.
    pub(super) fn check(&self, found: &mut Found<'_>) {
        for (name, node) in &self.truth.nodes {
            self.of_others(name, node, found);
            self.cordon(name, node, found);
            self.mark(name, node, found);
        }
        for group in self.truth.groups.values() {
            self.tags(group, found);
        }
    }

    /// What somebody else has said of a node still stands.
    fn of_others(&self, name: &NodeName, node: &Node, found: &mut Found<'_>) {
        if self.marks.foreign.contains(name) && !node.spec.unschedulable {
            found.broken(Promise::S3, format!("another actor's cordon of node {name} is removed"));
        }
        let is_excluded = node.meta.labels.contains_key(EXCLUDE);
        if self.marks.excluded.contains(name) && !is_excluded {
            let what = format!("another actor's load balancer label of node {name} is removed");
            found.broken(Promise::S3, what);
        }
    }

    /// What keeps pods and clients off a node says whose it is.
    fn cordon(&self, name: &NodeName, node: &Node, found: &mut Found<'_>) {
        let annotations = &node.meta.annotations;
        if self.marks.cordoned.contains(name) && !annotations.contains_key(ROLE) {
            found.broken(Promise::S3, format!("Replank's cordon of node {name} is left without a mark"));
        }
        let is_excluded = node.meta.labels.contains_key(EXCLUDE) && !self.marks.excluded.contains(name);
        if is_excluded && !self.is_of_eks(node) && !self.is_run(annotations.value(EXCLUDED)) {
            found.broken(
                Promise::S3,
                format!("node {name} is excluded from load balancers, but marked by no run"),
            );
        }
    }

    /// Whether EKS owns a node's group: an update of it labels and cordons nodes, in nobody's name.
    fn is_of_eks(&self, node: &Node) -> bool {
        let group = self.truth.instance_of(node).and_then(|instance| self.truth.groups.get(&instance.group));
        group.is_some_and(|group| group.kind == GroupKind::EksManaged)
    }

    fn mark(&self, name: &NodeName, node: &Node, found: &mut Found<'_>) {
        let annotations = &node.meta.annotations;
        let ours: Vec<&str> =
            annotations.iter().map(|(key, _)| key).filter(|key| key.starts_with(OURS)).collect();
        // An interrupted node carries another owner's mark, which goes with it (see [`super::rest`]); so does a node that the autoscaler drains.
        if ours.is_empty()
            || matches!(annotations.value(RUN), Some(super::interrupted::RUN | super::scaled::RUN))
        {
            return;
        }
        if !self.is_run(annotations.value(RUN)) {
            found.broken(Promise::S3, format!("node {name} has {ours:?}, which name no run"));
        }
        match annotations.value(EXPIRES).map(str::parse::<Time>) {
            Some(Ok(expires)) if expires <= found.at => {}
            Some(Ok(expires)) => {
                let what = format!("the run is over, but its mark on node {name} is valid until {expires}");
                found.broken(Promise::S3, what);
            }
            Some(Err(_)) | None => {
                found.broken(Promise::S3, format!("node {name} has {ours:?}, which never expire"));
            }
        }
        let role = annotations.value(ROLE);
        let may_stay = match role {
            Some("skipped") => true,
            Some("draining" | "drained" | "retained") => matches!(self.end, Some(End::Blocked(_))),
            Some("queued") => self.promised.keeps_cordons && matches!(self.end, Some(End::Blocked(_))),
            Some(_) | None => false,
        };
        if !may_stay {
            found.broken(Promise::S3, format!("node {name} keeps the mark {role:?}"));
        }
    }

    fn tags(&self, group: &NodeGroup, found: &mut Found<'_>) {
        let family = self.promised.family.as_ref().filter(|family| family.before.contains_key(&group.name));
        let landing_name = family.map_or(&group.name, |family| &family.landing);
        let landing = self.truth.groups.get(landing_name);
        let is_named = |key| {
            let value = landing.and_then(|landing| landing.tags.value(key));
            self.is_run(value.and_then(|value| value.strip_prefix(VERSION)))
        };
        let ours = group.tags.iter().filter(|(key, _)| key.starts_with(OURS));
        for (key, value) in ours {
            let name = &group.name;
            let has_name = match NAMELESS.contains(&key) {
                true => NAMING.iter().any(|naming| is_named(*naming)),
                false => self.is_run(value.strip_prefix(VERSION)),
            };
            if !has_name {
                found.broken(Promise::S3, format!("the tag {key} of group {name} names no run: {value}"));
            }
            if self.end == Some(&End::Done) && !self.keeps_bounds(landing_name) {
                found.broken(Promise::S3, format!("the run is done, but group {name} keeps {key}: {value}"));
            }
        }
    }

    /// Whether it is said that a group's bounds cannot be given back; where nodes move, that of the group that they move into.
    fn keeps_bounds(&self, group: &GroupName) -> bool {
        super::size::says_bounds(self.last, self.end, group)
    }

    /// Whether a text begins with the name of a run that was there.
    fn is_run(&self, text: Option<&str>) -> bool {
        let first = text.and_then(|text| text.split(' ').next());
        first.is_some_and(|first| self.marks.runs.iter().any(|run| **run.text() == *first))
    }
}
