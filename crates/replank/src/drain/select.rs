//! The nodes that were named, or chosen by what they are.

use std::sync::Arc;

use replank_facts::groups::{GroupBy, group_of};
use replank_facts::plan::VersionBound;
use replank_live::{Connection, nodes};
use replank_model::object::Object;
use replank_model::object::node::Node;
use replank_model::selector::Selector;
use replank_model::time::Time;

use super::args::NodesArgs;
use crate::failure::Failure;

/// What is chosen.
pub(super) struct Chosen {
    /// The nodes.
    pub(super) nodes: Vec<Arc<Node>>,
}

/// Checks that something is said, before the cluster is asked.
///
/// # Errors
/// Where nothing is, or the selector cannot be read.
pub(super) fn check(args: &NodesArgs, verb: &str) -> Result<(), Failure> {
    let is_chosen = args.selector.is_some()
        || !args.node_group.is_empty()
        || args.kubelet_version.is_some()
        || args.older_than.is_some();
    if args.nodes.is_empty() && !is_chosen {
        return Err(Failure::usage_message("no node is named").next(format!(
            "name nodes, as in `replank {verb} NODE`, or choose them: -l, --node-group, --kubelet-version, --older-than"
        )));
    }
    match args.selector.as_deref().map(str::parse::<Selector>) {
        Some(Err(error)) => Err(Failure::usage_message(format!("--selector: {error}"))),
        Some(Ok(_)) | None => Ok(()),
    }
}

/// The nodes, in the order in which they were named; those that were chosen by name.
///
/// # Errors
/// Where the cluster cannot be asked, or a node that is named does not exist.
pub(super) async fn choose(args: &NodesArgs, connection: &Connection, now: Time) -> Result<Chosen, Failure> {
    let listed = nodes(connection, args.selector.as_deref(), args.chunk_size).await?;
    let mut all: Vec<Arc<Node>> = Vec::new();
    for mut value in listed {
        value["apiVersion"] = "v1".into();
        value["kind"] = "Node".into();
        let name = value["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        match Object::from_json(value) {
            Ok(Object::Node(node)) => all.push(node),
            Ok(_) => {}
            Err(error) if args.nodes.contains(&name) => {
                return Err(Failure::usage(
                    anyhow::Error::new(error).context(format!("node {name} cannot be read")),
                ));
            }
            Err(_) => {}
        }
    }
    if !args.nodes.is_empty() {
        return named(args, &all);
    }
    let by = GroupBy::Label(args.group_label.clone());
    all.retain(|node| {
        let is_of_group = || group_of(node, &by).is_some_and(|group| args.node_group.contains(&group));
        let is_of_version = |bound: &VersionBound| bound.matches(&node.status.node_info.kubelet_version);
        let is_old = |age| node.meta.creation_timestamp.is_some_and(|made| now - made > age);
        (args.node_group.is_empty() || is_of_group())
            && args.kubelet_version.as_ref().is_none_or(is_of_version)
            && args.older_than.is_none_or(is_old)
    });
    Ok(Chosen { nodes: all })
}

fn named(args: &NodesArgs, all: &[Arc<Node>]) -> Result<Chosen, Failure> {
    let mut chosen: Vec<Arc<Node>> = Vec::new();
    let mut unknown = Vec::new();
    for text in &args.nodes {
        // kubectl takes both.
        let name = text.strip_prefix("node/").or_else(|| text.strip_prefix("nodes/")).unwrap_or(text);
        match all.iter().find(|node| node.meta.name.as_str() == name) {
            Some(node) if chosen.iter().any(|known| known.meta.uid == node.meta.uid) => {}
            Some(node) => chosen.push(node.clone()),
            None => unknown.push(format!("{name:?}")),
        }
    }
    if unknown.is_empty() {
        return Ok(Chosen { nodes: chosen });
    }
    let words = format!("nodes {} not found", unknown.join(", "));
    Err(Failure::usage_message(words).next("see which there are: kubectl get nodes"))
}
