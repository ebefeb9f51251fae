//! S3: whose a cordon is.

use std::collections::BTreeSet;

use replank_core::command::Mark;
use replank_core::decision::End;
use replank_model::text::NodeName;
use replank_model::time::Time;

use super::truth::Truth;
use super::{Found, Promise, Promised};

const RUN: &str = "replank.dev/run";
const EXCLUDE: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

/// Nodes that somebody else had cordoned before the run.
#[derive(Debug, Default)]
pub(super) struct Marks {
    foreign: BTreeSet<NodeName>,
    /// Nodes that somebody else had said something of to load balancers.
    excluded: BTreeSet<NodeName>,
}

impl Marks {
    pub(super) fn begin(truth: &Truth) -> Self {
        let cordoned = truth.nodes.iter().filter(|(_, node)| node.spec.unschedulable);
        let excluded = truth.nodes.iter().filter(|(_, node)| node.meta.labels.contains_key(EXCLUDE));
        Self {
            foreign: cordoned.map(|(name, _)| name.clone()).collect(),
            excluded: excluded.map(|(name, _)| name.clone()).collect(),
        }
    }

    pub(super) fn cordoned(
        &self,
        truth: &Truth,
        name: &NodeName,
        mark: &Mark,
        at: Time,
        found: &mut Found<'_>,
    ) {
        if mark.since > mark.expires || mark.since > at {
            found.broken(
                Promise::S3,
                format!("node {name} is marked from {} to {}", mark.since, mark.expires),
            );
        }
        let node = truth.nodes.get(name);
        if node.is_none() {
            found.broken(Promise::S3, format!("node {name} is cordoned and not there"));
        }
    }

    /// At the end a foreign cordon still stands, and none of ours stands on a node that the run did not begin or leave out.
    pub(super) fn finish(
        &self,
        promised: &Promised,
        truth: &Truth,
        end: Option<&End>,
        found: &mut Found<'_>,
    ) {
        for (name, node) in &truth.nodes {
            let role = node.meta.annotations.value("replank.dev/role");
            if self.foreign.contains(name) && !node.spec.unschedulable {
                found.broken(Promise::S3, format!("somebody else's cordon of node {name} is undone"));
            }
            if self.excluded.contains(name) && !node.meta.labels.contains_key(EXCLUDE) {
                found.broken(
                    Promise::S3,
                    format!("somebody else's label for load balancers of node {name} is gone"),
                );
            }
            if role.is_some() && !node.meta.annotations.contains_key(RUN) {
                found.broken(Promise::S3, format!("node {name} has a mark that names no run"));
            }
            if role.is_none() && node.meta.annotations.contains_key("replank.dev/excluded") {
                found.broken(
                    Promise::S3,
                    format!("node {name} is kept out of load balancers by nobody's mark"),
                );
            }
            let may_stay = match role {
                None | Some("skipped") => true,
                Some("draining" | "retained") => matches!(end, Some(End::Blocked(_))),
                Some(_) => false,
            };
            if !may_stay && promised.old.contains(name) {
                found.broken(Promise::S3, format!("node {name} keeps the mark {role:?}"));
            }
        }
    }
}
