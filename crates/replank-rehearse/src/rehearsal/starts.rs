//! The next runs of CronJobs and CronWorkflows whose pods may land on the nodes that are replaced: known before a node is cordoned, and, after the
//! rehearsal, how many came while it went on and what they met.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_facts::batch::starts::{self, Series};
use replank_facts::workload::series_of;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Text, Uid};
use replank_model::time::Time;
use replank_model::view::View;
use serde::Serialize;

/// The next runs of a CronJob or CronWorkflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StartEntry {
    /// Kind: `CronJob` or `CronWorkflow`.
    pub kind: Text,
    /// Namespace.
    pub namespace: Text,
    /// Name.
    pub name: Text,
    /// Its schedules as they are written, and the zone.
    pub schedule: String,
    /// The first time after the rehearsal's start; none if it is more than five years away, or never.
    pub next: Option<Time>,
    /// Its times while the rehearsal went on.
    pub within: usize,
    /// Runs among them that began on a node which is replaced: they hold it until they are over.
    pub on_old_nodes: usize,
}

/// What is noted of them.
#[derive(Debug, Default)]
pub(super) struct Starts {
    series: Vec<Series>,
    /// The nodes of the groups, as they were.
    nodes: BTreeMap<NodeName, Arc<Node>>,
    /// Jobs and Workflows that began on such a node, and on which.
    begun: BTreeMap<Uid, (Text, Text, Text, BTreeSet<NodeName>)>,
}

impl Starts {
    /// What is known before a node is cordoned.
    pub(super) fn known(view: &View, nodes: impl Iterator<Item = NodeName>) -> Self {
        let held = |series: &Series| series.is_held;
        let series = starts::all(view).0.into_iter().filter(|series| !held(series)).collect();
        let wanted: BTreeSet<NodeName> = nodes.collect();
        let named = view.nodes.sorted().into_iter().map(|(_, node)| (node.name(), node.clone()));
        let nodes = named.filter(|(name, _)| wanted.contains(name)).collect();
        Self { series, nodes, begun: BTreeMap::new() }
    }

    /// A pod was bound to a node.
    pub(super) fn bound(&mut self, view: &View, pod: &Pod) {
        let Some(owner) = pod.meta.controller().filter(|owner| may_be_run(&owner.kind)) else { return };
        let Some(node) = pod.node.as_ref().filter(|node| self.nodes.contains_key(*node)) else { return };
        let Some(of) = series_of(view, pod) else { return };
        let (kind, name) = (of.kind, of.key.name.text().clone());
        let namespace = Text::from(of.key.namespace.as_str());
        let run = self.begun.entry(owner.uid.clone());
        run.or_insert_with(|| (kind, namespace, name, BTreeSet::new())).3.insert(node.clone());
    }

    /// Their outcome until a moment, for the nodes that are replaced; `None`: all.
    pub(super) fn entries(
        &self,
        from: Time,
        until: Time,
        chosen: Option<&BTreeSet<NodeName>>,
    ) -> Vec<StartEntry> {
        let is_chosen = |name: &NodeName| chosen.is_none_or(|chosen| chosen.contains(name));
        let nodes: Vec<&Arc<Node>> =
            self.nodes.iter().filter(|(name, _)| is_chosen(name)).map(|(_, node)| node).collect();
        let may_land = |series: &&Series| nodes.iter().any(|node| series.may_land_on(node));
        let entry = |series: &Series| {
            let of = &series.workload;
            let (namespace, name) = (Text::from(of.key.namespace.as_str()), of.key.name.text().clone());
            let is_of = |run: &(Text, Text, Text, BTreeSet<NodeName>)| {
                *run.0 == *of.kind && run.1 == namespace && run.2 == name && run.3.iter().any(is_chosen)
            };
            StartEntry {
                kind: Text::from(&*of.kind),
                schedule: series.written.clone(),
                next: series.next(from),
                within: series.between(from, until).count(),
                on_old_nodes: self.begun.values().filter(|run| is_of(run)).count(),
                namespace,
                name,
            }
        };
        let mut all: Vec<StartEntry> = self.series.iter().filter(may_land).map(entry).collect();
        all.sort_by(|a, b| {
            let order = |entry: &StartEntry| (entry.next.is_none(), entry.next);
            order(a).cmp(&order(b))
        });
        all
    }
}

/// Whether an owner of pods may be a run: most pods are of owners that are none.
fn may_be_run(kind: &str) -> bool {
    !matches!(kind, "ReplicaSet" | "StatefulSet" | "DaemonSet" | "ReplicationController")
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::{Value, json};

    use super::*;

    fn view(objects: Vec<Value>) -> View {
        objects.into_iter().map(|value| Delta::Put(Object::from_json(value).expect("an object"))).collect()
    }

    fn node(name: &str, pool: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name, "labels": {"pool": pool}}})
    }

    fn cron(name: &str, schedule: &str, pool: &str) -> Value {
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name, "namespace": "shop", "uid": name},
            "spec": {"schedule": schedule, "suspend": name == "held",
                "jobTemplate": {"spec": {"template": {"spec": {"nodeSelector": {"pool": pool}, "containers": []}}}}}})
    }

    fn told(entries: &[StartEntry]) -> Vec<String> {
        let line = |entry: &StartEntry| {
            let next = entry.next.map_or("-".to_owned(), |at| at.to_string());
            format!("{} {next} {} {}", entry.name, entry.within, entry.on_old_nodes)
        };
        entries.iter().map(line).collect()
    }

    #[test]
    fn those_are_told_that_may_land_on_the_nodes_and_runs_count_where_they_began() {
        let owned = |kind: &str, api: &str, name: &str, of: Value| {
            json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "shop", "uid": name,
                "ownerReferences": [of], "labels": {"workflows.argoproj.io/cron-workflow": "flow"}}})
        };
        let by = |kind: &str, api: &str, name: &str| json!({"apiVersion": api, "kind": kind, "name": name, "uid": name, "controller": true});
        let flow = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "CronWorkflow",
            "metadata": {"name": "flow", "namespace": "shop", "uid": "flow"},
            "spec": {"schedules": ["30 * * * *"], "workflowSpec": {"entrypoint": "m", "templates": [{"name": "m", "container": {}}]}}});
        let pod = |name: &str, owner: Value, node: &str| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "uid": name, "ownerReferences": [owner]},
                "spec": {"nodeName": node, "containers": []}})
        };
        let pods = [
            pod("a", by("Job", "batch/v1", "j"), "old"),
            pod("b", by("Job", "batch/v1", "j"), "old"),
            pod("c", by("Workflow", "argoproj.io/v1alpha1", "w"), "old"),
            pod("d", by("Job", "batch/v1", "k"), "else"),
        ];
        let mut all = vec![
            node("old", "a"),
            node("else", "a"),
            flow,
            cron("often", "*/10 * * * *", "a"),
            cron("away", "* * * * *", "b"),
            cron("held", "* * * * *", "a"),
            cron("never", "0 0 30 2 *", "a"),
            owned("Job", "batch/v1", "j", by("CronJob", "batch/v1", "often")),
            owned("Job", "batch/v1", "k", by("CronJob", "batch/v1", "often")),
            owned(
                "Workflow",
                "argoproj.io/v1alpha1",
                "w",
                by("CronWorkflow", "argoproj.io/v1alpha1", "flow"),
            ),
        ];
        all.extend(pods);
        let view = view(all);
        let mut starts = Starts::known(&view, [NodeName::from("old")].into_iter());
        for (_, pod) in view.pods.sorted() {
            starts.bound(&view, pod);
        }
        let time = |text: &str| text.parse::<Time>().expect("a time");
        let (from, until) = (time("2026-01-05T09:00:00Z"), time("2026-01-05T10:05:00Z"));
        assert_eq!(
            told(&starts.entries(from, until, None)),
            ["often 2026-01-05T09:10:00Z 6 1", "flow 2026-01-05T09:30:00Z 1 1", "never - 0 0"]
        );
        let none = BTreeSet::new();
        assert_eq!(told(&starts.entries(from, until, Some(&none))), [""; 0], "no node of theirs is replaced");
    }
}
