//! Remedies: changes of a workload's placement, tried on the scheduler first, and how they are written down.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use replank_model::object::affinity::{Taint, TaintEffect, Toleration, TolerationOperator};
use replank_model::object::pod::Pod;
use replank_model::text::Text;
use serde_json::{Map, Value, json};

use super::engine::{Answer, Engine};
use super::ground::KindId;
use super::survey::{Subject, Survey};
use replank_facts::cluster_name::cluster_name;
use replank_facts::remedy::{
    AddonPods, Edit, EksAddon, Remedy, Target, TargetKind, of_stack, of_terraform, update_addon,
};
use replank_schedule::Plugin;

/// A changed placement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// Labels to be selected besides those that are.
    pub(super) selector: Vec<(Text, Text)>,
    /// All tolerations that there are to be, where they change.
    pub(super) tolerations: Option<Vec<Toleration>>,
}

impl Change {
    /// The pod with this change.
    pub(super) fn of(&self, pod: &Pod) -> Pod {
        let mut spec = (*pod.spec).clone();
        for (key, value) in &self.selector {
            spec.node_selector = spec.node_selector.with(key.clone(), value.clone());
        }
        if let Some(tolerations) = &self.tolerations {
            spec.tolerations.clone_from(tolerations);
        }
        Pod { spec: Arc::new(spec), ..pod.clone() }
    }

    /// As a part of a pod's spec.
    pub(super) fn to_json(&self) -> Value {
        let mut spec = Map::new();
        if !self.selector.is_empty() {
            let labels: Map<String, Value> =
                self.selector.iter().map(|(key, value)| (key.to_string(), json!(&**value))).collect();
            spec.insert("nodeSelector".into(), Value::Object(labels));
        }
        if let Some(tolerations) = &self.tolerations {
            spec.insert("tolerations".into(), json!(tolerations));
        }
        Value::Object(spec)
    }

    /// Where every pod of a workload could land with this change; nothing if some could not land at all.
    pub(super) fn lands(
        &self,
        survey: &Survey<'_>,
        engine: &mut Engine,
        subject: &Subject,
    ) -> BTreeSet<KindId> {
        let mut all = BTreeSet::new();
        for sample in &subject.samples {
            let lands = engine.lands(&survey.ground, &self.of(&sample.pod), &sample.near);
            if lands.is_empty() {
                return BTreeSet::new();
            }
            all.extend(lands);
        }
        all
    }
}

/// Tolerations of a pod less those that the API server's admission adds (plugin DefaultTolerationSeconds).
pub(super) fn own_tolerations(pod: &Pod) -> Vec<Toleration> {
    const ADDED: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    let is_added = |one: &Toleration| {
        ADDED.contains(&&*one.key)
            && one.effect == Some(TaintEffect::NoExecute)
            && one.toleration_seconds == Some(300)
    };
    pod.spec.tolerations.iter().filter(|one| !is_added(one)).cloned().collect()
}

/// The toleration of exactly one taint.
pub(super) fn toleration_of(taint: &Taint) -> Toleration {
    let (operator, value) = if taint.value.is_empty() {
        (TolerationOperator::Exists, Text::default())
    } else {
        (TolerationOperator::Equal, taint.value.clone())
    };
    Toleration {
        key: taint.key.clone(),
        operator: Some(operator),
        value,
        effect: Some(taint.effect),
        toleration_seconds: None,
    }
}

/// A change that keeps a workload's pods off some kinds of nodes and leaves them a place: by a label of the others on which they
/// can land, else by tolerating the taints of a group. `None` if there is none.
pub(super) fn keep_off(
    survey: &Survey<'_>,
    engine: &mut Engine,
    subject: &Subject,
    avoid: &BTreeSet<KindId>,
) -> Option<Change> {
    let lands = subject.lands();
    let good: BTreeSet<KindId> = lands.difference(avoid).copied().collect();
    let helps = |change: &Change, engine: &mut Engine| {
        let lands = change.lands(survey, engine, subject);
        !lands.is_empty() && lands.is_disjoint(avoid)
    };
    if !good.is_empty() {
        return selectors(survey, &good, avoid).into_iter().find(|change| helps(change, engine));
    }
    for (tolerations, kinds) in behind_taints(survey, subject, avoid) {
        for mut change in selectors(survey, &kinds, avoid) {
            change.tolerations = Some(tolerations.clone());
            if helps(&change, engine) {
                return Some(change);
            }
        }
    }
    None
}

/// A change that gives a workload's pods one more group to land on, by tolerating its taints.
pub(super) fn second_home(
    survey: &Survey<'_>,
    engine: &mut Engine,
    subject: &Subject,
    avoid: &BTreeSet<KindId>,
) -> Option<(Change, BTreeSet<KindId>)> {
    let lands = subject.lands();
    behind_taints(survey, subject, avoid).into_iter().find_map(|(tolerations, _)| {
        let change = Change { selector: Vec::new(), tolerations: Some(tolerations) };
        let more = change.lands(survey, engine, subject);
        let more: BTreeSet<KindId> = more.difference(&lands).copied().collect();
        (!more.is_empty() && more.is_disjoint(avoid)).then_some((change, more))
    })
}

/// Tolerations, and the kinds of nodes that take a workload with them.
type Home = (Vec<Toleration>, BTreeSet<KindId>);

/// The tolerations with which a workload would land on each group that it is kept off by taints alone, with the kinds of that
/// group; the fewest new tolerations first, then the most nodes.
fn behind_taints(survey: &Survey<'_>, subject: &Subject, avoid: &BTreeSet<KindId>) -> Vec<Home> {
    let sample = &subject.samples[0];
    let own = own_tolerations(&sample.pod);
    let mut homes: BTreeMap<Vec<(Text, Text)>, Home> = BTreeMap::new();
    for (id, kind) in survey.ground.kinds().filter(|(id, _)| !avoid.contains(id)) {
        let is_kept_off_by_taints = match sample.answers.get(id.0) {
            Some(Answer::Fails(failures)) => {
                failures.iter().all(|failure| failure.plugin == Plugin::TaintToleration)
            }
            Some(Answer::Lands) | None => false,
        };
        if !is_kept_off_by_taints {
            continue;
        }
        let missing = || kind.taints().filter(|taint| !own.iter().any(|one| one.tolerates(taint, false)));
        let key = missing().map(|taint| (taint.key.clone(), taint.value.clone())).collect();
        let home = homes.entry(key).or_insert_with(|| {
            (own.iter().cloned().chain(missing().map(toleration_of)).collect(), BTreeSet::new())
        });
        home.1.insert(id);
    }
    let mut homes: Vec<_> = homes.into_iter().collect();
    homes.sort_by_key(|(missing, (_, kinds))| {
        (missing.len(), Reverse(survey.ground.nodes_of(kinds)), missing.clone())
    });
    homes.into_iter().map(|(_, home)| home).collect()
}

/// Labels that tell good kinds of nodes from bad ones, the best first: what says how the node was bought, then whatever is on
/// the most nodes. Not the group's name: pods that select it cannot move into another group.
///
/// Nodes of one kind may differ in labels that no pod mentions, so every node is looked at: none of a bad kind has the label,
/// and all nodes of each good kind that counts.
fn selectors(survey: &Survey<'_>, good: &BTreeSet<KindId>, bad: &BTreeSet<KindId>) -> Vec<Change> {
    let ground = &survey.ground;
    let all = ground.nodes_of(good);
    let labels: BTreeSet<&(Text, Text)> =
        good.iter().flat_map(|id| ground.kind(*id).sample.meta.labels.pairs()).collect();
    let mut ranked = BTreeSet::new();
    for (key, value) in labels {
        let Some(Rank { tier, tie }) = rank(key) else { continue };
        let mut has: BTreeMap<KindId, usize> = BTreeMap::new();
        for ix in survey.view.nodes_with(key, value) {
            if let Some(id) = ground.kind_of(&survey.view.nodes[*ix].name()) {
                *has.entry(id).or_default() += 1;
            }
        }
        let has_all = |id: &&KindId| has.get(*id) == Some(&ground.kind(**id).nodes.len());
        let nodes = ground.nodes_of(good.iter().filter(has_all));
        // What people write on one node of several may be its serial number.
        let is_told_enough = nodes == all || nodes > 1 || (nodes == 1 && tie == 0);
        if is_told_enough && bad.iter().all(|id| !has.contains_key(id)) {
            ranked.insert((tier, Reverse(nodes), tie, key, value));
        }
    }
    ranked
        .into_iter()
        .map(|(.., key, value)| Change { selector: vec![(key.clone(), value.clone())], tolerations: None })
        .collect()
}

/// How well a label says what nodes are for, the best first: of one tier, what is on more nodes is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    tier: u8,
    /// Between labels on as many nodes; 0 where the label's meaning is known.
    tie: u8,
}

/// `None` for a label that says what nodes are by chance.
fn rank(key: &str) -> Option<Rank> {
    let known = |tier| Some(Rank { tier, tie: 0 });
    const BOUGHT: [&str; 2] = ["eks.amazonaws.com/capacityType", "karpenter.sh/capacity-type"];
    if BOUGHT.contains(&key) {
        return known(0);
    }
    let segment = key.rsplit('/').next().unwrap_or(key);
    let domain = key.rsplit_once('/').map_or("", |(domain, _)| domain);
    if ["lifecycle", "node-lifecycle", "capacity-type"].contains(&segment) {
        return known(1);
    }
    const FOREIGN: [&str; 6] =
        ["kubernetes.io", "k8s.io", "amazonaws.com", "k8s.aws", "karpenter.sh", "eksctl.io"];
    let is_foreign = |owner: &str| domain == owner || domain.ends_with(&format!(".{owner}"));
    if !FOREIGN.iter().any(|owner| is_foreign(owner)) {
        return Some(Rank { tier: 2, tie: 1 });
    }
    (key == "kubernetes.io/role").then_some(Rank { tier: 3, tie: 1 })
}

/// A change of the pods of a workload, or YAML and where it goes if a program cannot make it.
pub(super) fn patch(survey: &Survey<'_>, subject: &Subject, spec: &Value) -> Remedy {
    let by_hand = || Remedy::look(format!("in the pod template of {}:\n{}", subject.name, yaml(spec, 1)));
    let Some(of) = subject.workload.as_ref().and_then(Target::workload) else { return by_hand() };
    let patch = match of.kind {
        TargetKind::Deployment | TargetKind::StatefulSet | TargetKind::DaemonSet | TargetKind::ReplicaSet => {
            json!({"spec": {"template": {"spec": spec}}})
        }
        TargetKind::CronJob => json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": spec}}}}}),
        TargetKind::ReplicationController
        | TargetKind::CronWorkflow
        | TargetKind::PodDisruptionBudget
        | TargetKind::HorizontalPodAutoscaler
        | TargetKind::Node
        | TargetKind::Pod => return by_hand(),
    };
    let managed = subject.system.as_ref().and_then(|system| system.addon()).and_then(|addon| addon.managed);
    match managed {
        Some(addon) => {
            configure(survey, addon, &addon.values_of(AddonPods::Controller, spec.clone()), of, patch)
        }
        None => Remedy::edit(Edit::Patch { of, patch }),
    }
}

/// A change of an add-on of EKS (user guide "Create / update an Amazon EKS add-on"; Terraform's `aws_eks_addon`; CloudFormation's `AWS::EKS::Addon`). Which of them manages it, no object of
/// the cluster says. What is set by hand would be set back by the next update of the add-on;
/// the values that are passed replace all that it has.
pub(super) fn configure(
    survey: &Survey<'_>,
    addon: EksAddon,
    values: &Value,
    of: Target,
    patch: Value,
) -> Remedy {
    let command = match cluster_name(survey.view) {
        Some(cluster) => format!(
            "{}\n# if Terraform manages the add-on, in its aws_eks_addon:\n{}\n# if CloudFormation manages it, in its AWS::EKS::Addon:\n{}",
            update_addon(&cluster, addon, values),
            of_terraform(values),
            of_stack(values),
        ),
        None => format!(
            "where EKS manages the add-on {}, add to its configuration values (aws eks update-addon, which replaces all of them): {values}",
            addon.name()
        ),
    };
    Remedy::edit(Edit::Configure { command, of, patch })
}

/// YAML, indented by so many steps of two.
pub(super) fn yaml(value: &Value, depth: usize) -> String {
    let mut text = String::new();
    write_yaml(&mut text, value, depth);
    text.truncate(text.trim_end().len());
    text
}

fn write_yaml(text: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                write!(text, "{indent}{}:", quoted(key)).expect("a string takes everything");
                write_member(text, member, depth + 1);
            }
        }
        Value::Array(items) => {
            for item in items {
                let mut inner = String::new();
                write_yaml(&mut inner, item, depth + 1);
                let inner = inner.trim_start();
                writeln!(text, "{indent}- {}", inner.trim_end()).expect("a string takes everything");
            }
        }
        scalar @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            writeln!(text, "{indent}{}", scalar_text(scalar)).expect("a string takes everything");
        }
    }
}

fn write_member(text: &mut String, member: &Value, depth: usize) {
    match member {
        Value::Object(members) if members.is_empty() => text.push_str(" {}\n"),
        Value::Array(items) if items.is_empty() => text.push_str(" []\n"),
        Value::Object(_) => {
            text.push('\n');
            write_yaml(text, member, depth);
        }
        Value::Array(_) => {
            text.push('\n');
            // A list may stand as far left as its key.
            write_yaml(text, member, depth - 1);
        }
        scalar @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            writeln!(text, " {}", scalar_text(scalar)).expect("a string takes everything");
        }
    }
}

fn scalar_text(value: &Value) -> String {
    if let Value::String(text) = value { quoted(text) } else { value.to_string() }
}

/// In quotes unless it reads as a plain word.
fn quoted(text: &str) -> String {
    let is_plain = !text.is_empty()
        && text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '/'))
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&&*text.to_ascii_lowercase());
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_reads_as_people_write_it() {
        let value = json!({"topologySpreadConstraints": [{"labelSelector": {"matchLabels": {"app": "web", "on": "1"}}, "maxSkew": 1}],
            "tolerations": [], "nodeSelector": {"a/b": "true"}});
        assert_eq!(
            yaml(&value, 1),
            "  nodeSelector:\n    a/b: \"true\"\n  tolerations: []\n  topologySpreadConstraints:\n  - labelSelector:\n      matchLabels:\n        \
             app: web\n        \"on\": \"1\"\n    maxSkew: 1"
        );
    }

    #[test]
    fn labels_that_say_what_nodes_are_for_come_first() {
        let mut keys = vec![
            "kubernetes.io/hostname",
            "eks.amazonaws.com/nodegroup",
            "example.com/role",
            "topology.kubernetes.io/zone",
            "kubernetes.io/role",
            "eks.amazonaws.com/capacityType",
            "eks.amazonaws.com/nodegroup-image",
        ];
        keys.retain(|key| rank(key).is_some());
        keys.sort_by_key(|key| rank(key));
        assert_eq!(keys, ["eks.amazonaws.com/capacityType", "example.com/role", "kubernetes.io/role"]);
    }
}
