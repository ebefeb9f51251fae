//! Short forms become Kubernetes objects, as a cluster's own controllers would have left them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::case::Case;
use super::entry::{Entry, merge};
use super::nodes::Node;
use super::{jobs, nodes, others, workloads};

/// What has been made so far.
#[derive(Default)]
pub(crate) struct Cluster {
    /// Nodes, in the order in which pods are put on them.
    pub(crate) nodes: Vec<Node>,
    /// Everything else.
    pub(crate) objects: Vec<Value>,
}

impl Cluster {
    /// A case's cluster.
    pub(crate) fn of(case: &Case) -> Self {
        let mut cluster = Self::default();
        for (index, entry) in case.cluster.iter().enumerate() {
            let place = format!("{}: entry {}", case.full_name(), index + 1);
            let mut entry = Entry::of(entry.clone(), &place);
            cluster.add(&mut entry, &place);
            entry.end();
        }
        cluster
    }

    fn add(&mut self, entry: &mut Entry, place: &str) {
        if let Some(text) = entry.text("nodes") {
            return nodes::several(self, &text, entry);
        }
        if let Some(name) = entry.text("node") {
            return nodes::one(self, name, entry);
        }
        for kind in workloads::KINDS {
            if let Some(named) = entry.counted(kind.word()) {
                return workloads::add(self, *kind, named, entry);
            }
        }
        if let Some(named) = entry.counted("job") {
            return jobs::job(self, named, entry);
        }
        if let Some(named) = entry.counted("cronjob") {
            return jobs::cron_job(self, named, entry);
        }
        if let Some(named) = entry.counted("workflow") {
            return jobs::workflow(self, named, entry);
        }
        if let Some(named) = entry.counted("cronworkflow") {
            return jobs::cron_workflow(self, named, entry);
        }
        if let Some(named) = entry.counted("pdb") {
            return others::budget(self, named, entry);
        }
        if let Some(text) = entry.text("hpa") {
            return others::autoscaler(self, &text, entry);
        }
        if let Some(name) = entry.text("webhook") {
            return others::webhook(self, &name, entry);
        }
        if let Some(named) = entry.counted("service") {
            return others::service(self, named, entry);
        }
        match entry.take("object") {
            Some(object) => self.objects.push(object),
            None => panic!("{place}: none of the short forms"),
        }
    }

    /// Names of nodes for so many pods: those that `at` lists, in turn, else those of `group`, else all.
    pub(crate) fn places(&self, entry: &mut Entry, number: usize) -> Vec<String> {
        let mut names = entry.texts("at");
        let group = entry.text("group");
        if names.is_empty() {
            let fits = |node: &&Node| group.is_none() || node.group == group;
            names = self.nodes.iter().filter(fits).map(|node| node.name.clone()).collect();
        }
        assert!(!names.is_empty() || number == 0, "no node for pods");
        (0..number).map(|index| names[index % names.len()].clone()).collect()
    }

    /// The zone of a node.
    pub(crate) fn zone(&self, node: &str) -> String {
        let found = self.nodes.iter().find(|known| known.name == node);
        found.unwrap_or_else(|| panic!("no node {node}")).zone.clone()
    }

    /// What `kubectl get -o json` would print.
    pub(crate) fn snapshot(&self) -> Value {
        let spaces: BTreeSet<&str> =
            self.objects.iter().filter_map(|object| object["metadata"]["namespace"].as_str()).collect();
        let spaces = spaces.into_iter().map(|name| {
            json!({"apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": name, "uid": format!("u-namespace-{name}"), "labels": {"kubernetes.io/metadata.name": name}},
                "status": {"phase": "Active"}})
        });
        let nodes = self.nodes.iter().map(|node| node.object.clone());
        let items: Vec<Value> = spaces.chain(nodes).chain(self.objects.iter().cloned()).collect();
        json!({"apiVersion": "v1", "kind": "List", "items": items})
    }

    /// What AWS's command line would print: an answer on groups gets their instances, and any other is whole.
    pub(crate) fn answer(&self, given: &Value) -> Value {
        match given["AutoScalingGroups"].as_array() {
            Some(groups) => self.groups(groups),
            None => given.clone(),
        }
    }

    /// What `aws autoscaling describe-auto-scaling-groups` would print.
    pub(crate) fn groups(&self, given: &[Value]) -> Value {
        let groups: Vec<Value> = given
            .iter()
            .map(|given| {
                let name = given["AutoScalingGroupName"].as_str().expect("a group has a name");
                let own = self.nodes.iter().filter(|node| node.group.as_deref() == Some(name));
                let instances: Vec<Value> = own
                    .clone()
                    .map(|node| {
                        json!({"InstanceId": node.instance, "AvailabilityZone": node.zone, "InstanceType": "m6i.xlarge",
                            "LifecycleState": "InService", "HealthStatus": "Healthy", "ProtectedFromScaleIn": false})
                    })
                    .collect();
                let zones: BTreeSet<&String> = own.map(|node| &node.zone).collect();
                let mut group = json!({"AvailabilityZones": zones, "Instances": instances, "SuspendedProcesses": [], "Tags": []});
                merge(&mut group, given.clone());
                group
            })
            .collect();
        json!({"AutoScalingGroups": groups})
    }
}

/// An object's uid, made of what it is.
pub(crate) fn uid(kind: &str, namespace: &str, name: &str) -> String {
    format!("u-{}-{namespace}-{name}", kind.to_lowercase())
}

/// A controller's reference.
pub(crate) fn owner(api_version: &str, kind: &str, namespace: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid(kind, namespace, name), "controller": true, "blockOwnerDeletion": true})
}
