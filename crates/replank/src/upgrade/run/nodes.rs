//! The steps of nodes: those that Replank rolls, and those that somebody else replaces.

use std::time::Duration;

use replank_advice::upgrade::minor::Minor;
use replank_facts::groups::{GroupBy, group_of};
use replank_facts::plan::{Plan, Target};
use replank_live::{Connection, Missing, nodes};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::node::Node;
use replank_model::text::{GroupName, Namespace, NodeName, Text};
use replank_model::time::Span;
use replank_model::view::View;
use replank_protocol::provisioner::Provisioner;
use serde_json::Value;

use super::control_plane::issues;
use super::eyes::described;
use super::ground::{Came, Ground, RESUME, Stop};
use super::record::Kept;
use crate::failure::Failure;
use crate::patience::patiently;

/// How often the cluster is looked at while it is watched.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// How often it is looked whether pods of nodes that are gone are gone, too; and how long, at the most.
const SETTLES: Duration = Duration::from_secs(2);
const SETTLED_WITHIN: Span = Span::from_minutes(5);
/// Nodes that are named.
const NAMED_MAX: usize = 5;

/// The plan of a group's roll: the same that a rehearsal of the upgrade carries out.
pub(super) fn roll(namespace: &Namespace, group: &str, to: &str) -> Plan {
    let target = Target { kubernetes_version: to.parse().ok(), ..Target::default() };
    let mut plan = Plan::of_groups(format!("upgrade-{group}-{to}"), vec![GroupName::from(group)], target);
    plan.namespace = Text::from(namespace.as_str());
    plan
}

/// The nodes of the cluster.
async fn view(connection: &Connection) -> Result<View, Failure> {
    let mut all = nodes(connection, None, 500).await?;
    for node in &mut all {
        (node["apiVersion"], node["kind"]) = ("v1".into(), "Node".into());
    }
    Ok(all.into_iter().filter_map(|one: Value| Object::from_json(one).ok()).map(Delta::Put).collect())
}

/// Names of nodes whose kubelets are older than a version.
fn older(view: &View, to: &str, is_meant: impl Fn(&Node) -> bool) -> Vec<String> {
    let to = Minor::of(to);
    let nodes = view.nodes.sorted().into_iter().map(|(_, node)| node).filter(|node| is_meant(node));
    let is_older = |node: &Node| Minor::of(&node.status.node_info.kubelet_version) < to;
    nodes.filter(|node| is_older(node)).map(|node| node.meta.name.to_string()).collect()
}

/// How far a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rolled {
    /// Every node runs the version.
    Yes,
    /// Some do not.
    No,
    /// It has no nodes: these tell nothing.
    Empty,
}

/// Whether every node of a group runs a version already.
pub(super) async fn rolled(
    connection: &Connection,
    label: &str,
    (group, to): (&str, &str),
) -> Result<Rolled, Failure> {
    let view = patiently(|| view(connection)).await?;
    let by = GroupBy::Label(Text::from(label));
    let is_meant = |node: &Node| group_of(node, &by).is_some_and(|own| own.as_str() == group);
    let is_empty = !view.nodes.unordered().any(|(_, node)| is_meant(node));
    Ok(match (is_empty, older(&view, to, is_meant).is_empty()) {
        (true, _) => Rolled::Empty,
        (false, true) => Rolled::Yes,
        (false, false) => Rolled::No,
    })
}

/// What a group without nodes launches next: EKS tells it of a managed one; of any other, only its launch template does.
pub(super) async fn empty(
    ground: &Ground<'_>,
    index: usize,
    (group, to): (&str, &str),
) -> Result<Came, Failure> {
    let cluster = ground.cluster;
    let known = patiently(async || Ok(ground.aws.nodegroups(cluster).await?)).await?;
    if !known.iter().any(|own| own == group) {
        ground.say(
            index,
            &format!("{group} has no nodes, and nothing is rolled: check that its launch template has an image of {to}"),
        );
        return Ok(Came::Done);
    }
    let told = patiently(async || Ok(ground.aws.described_nodegroup(cluster, group).await?)).await?;
    let version = told["nodegroup"]["version"].as_str().unwrap_or_default();
    if version.is_empty() {
        ground.say(index, &format!("node group {group} has no nodes, and its launch template says which version it launches: check that it has an image of {to}"));
        return Ok(Came::Done);
    }
    if Minor::of(version) >= Minor::of(to) {
        ground.say(index, &format!("node group {group} has no nodes, and launches {version}"));
        return Ok(Came::Done);
    }
    Ok(Stop::blocked(
        format!("node group {group} has no nodes to roll, and launches {version}"),
        format!(
            "aws eks update-nodegroup-version --cluster-name {cluster} --nodegroup-name {group} --kubernetes-version {to}; then: {RESUME}"
        ),
    ))
}

/// Waits until no pod names a node that is gone: what DaemonSets have left on nodes that a roll has replaced is deleted a minute later. Whoever rehearses before that sees
/// less than everything.
pub(super) async fn settled(ground: &Ground<'_>, index: usize) -> Result<(), Failure> {
    let mut is_told = false;
    let until = ground.now() + SETTLED_WITHIN;
    while !patiently(|| left_behind(ground.connection)).await?.is_empty() && ground.now() < until {
        if !std::mem::replace(&mut is_told, true) {
            ground.say(index, "waiting for the pods of nodes that are gone to be deleted");
        }
        tokio::time::sleep(SETTLES).await;
    }
    Ok(())
}

/// Pods on nodes that are gone.
async fn left_behind(connection: &Connection) -> Result<Vec<String>, Failure> {
    let view = view(connection).await?;
    let (mut left, mut token) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/v1/pods?limit=500&continue={token}");
        let missing = Missing { group: String::new(), resource: "pods".to_owned(), verbs: &["get", "list"] };
        let answer = connection.json(&path, "application/json", missing).await?;
        for pod in answer["items"].as_array().into_iter().flatten() {
            let node = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty());
            if node.is_some_and(|node| view.node(&NodeName::from(node)).is_none()) {
                left.push(pod["metadata"]["name"].as_str().unwrap_or_default().to_owned());
            }
        }
        match answer["metadata"]["continue"].as_str().filter(|token| !token.is_empty()) {
            Some(next) => next.clone_into(&mut token),
            None => return Ok(left),
        }
    }
}

/// Whether whoever looks after some nodes has replaced them.
pub(super) async fn left_to(
    ground: &Ground<'_>,
    (name, provisioner, to, way): (&str, &str, &str, &str),
) -> Result<Came, Failure> {
    let view = patiently(|| view(ground.connection)).await?;
    let is_meant = |node: &Node| {
        let own = Provisioner::of(node);
        own.to_string() == provisioner && own.keeps_its_nodes()
    };
    let left = older(&view, to, is_meant);
    if left.is_empty() {
        return Ok(Came::Done);
    }
    let more = left.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = left.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    Ok(Stop::blocked(
        format!(
            "nodes of {name} ({provisioner}) are older than {to}, and Replank leaves them to their provisioner: {named}{more}"
        ),
        format!("{way}; then: {RESUME}"),
    ))
}

/// Watches the cluster until some time after the control plane's step.
pub(super) async fn bake(
    ground: &Ground<'_>,
    kept: &mut Kept,
    index: usize,
    lasts: Span,
) -> Result<Came, Failure> {
    let since = kept.upgrade.steps[..index].iter().rev().find_map(|step| step.done);
    ground.begin(kept, index).await?;
    let until = since.unwrap_or_else(|| ground.now()) + lasts;
    ground.say(
        index,
        &format!(
            "watching the cluster until {}; Ctrl-C ends this process, {RESUME} goes on",
            until.floor_seconds()
        ),
    );
    let mut not_ready = None;
    loop {
        let issues = issues(&patiently(|| described(ground.aws, ground.cluster)).await?["cluster"]);
        if !issues.is_empty() {
            return Ok(Stop::blocked(
                format!("EKS reports issues of the cluster: {}", issues.join("; ")),
                format!("once they are gone: {RESUME}; the control plane can still be rolled back"),
            ));
        }
        let view = patiently(|| view(ground.connection)).await?;
        let now = view.nodes.unordered().filter(|(_, node)| !node.is_ready()).count();
        if not_ready.replace(now).is_some_and(|before| before < now) {
            ground.teller.warn(ground.now(), &format!("nodes that are not Ready: {now}"));
        }
        let left = until - ground.now();
        if left <= Span::ZERO {
            return Ok(Came::Done);
        }
        let pause = Duration::from_millis(u64::try_from(left.as_millis()).unwrap_or(0)).min(LOOK_EVERY);
        tokio::time::sleep(pause).await;
    }
}
