//! What the nodes of a Workflow are called, and their pods (argo-workflows `workflow/controller/steps.go`, `dag.go`, `util/pod_name.go`).
//!
//! A node is called by its way from the Workflow: `w[0].fetch` is a step of the first group, `w.fetch` a task, `w[0].fetch(2:eu)` the one of its
//! third item, and `w[0].fetch(2:eu)(1)` the second attempt of that.

use replank_model::object::pod::Pod;
use replank_model::text::Name;
use serde_json::Value;

/// Annotation of a pod: its node in the Workflow's status.
const NODE_ID: &str = "workflows.argoproj.io/node-id";
/// Annotation of a pod: the name of that node.
pub(super) const NODE_NAME: &str = "workflows.argoproj.io/node-name";
/// Before the name of a pod of which nobody can say which step it is.
pub(super) const UNNAMED: &str = "pod ";
/// The part of a pod's name before its hash (`maxPrefixLength`).
const PREFIX_MAX: usize = 242;

/// The name of a pod's node: as the pod has it, else the Workflow's status; without both its own.
pub(super) fn node_of(workflow: &Value, pod: &Pod) -> String {
    if let Some(name) = pod.meta.annotations.value(NODE_NAME) {
        return name.to_owned();
    }
    let id = pod.meta.annotations.value(NODE_ID).unwrap_or(pod.meta.name.as_str());
    let node = workflow.pointer("/status/nodes").and_then(|nodes| nodes.get(id));
    node.and_then(|node| name_in_status(workflow, node))
        .unwrap_or_else(|| format!("{UNNAMED}{}", pod.meta.name))
}

/// The name of a node of the status; one that is only displayed stands right below the Workflow.
pub(super) fn name_in_status(workflow: &Value, node: &Value) -> Option<String> {
    let displayed = || {
        let workflow = workflow.pointer("/metadata/name")?.as_str()?;
        Some(format!("{workflow}.{}", node["displayName"].as_str()?))
    };
    node["name"].as_str().map(str::to_owned).or_else(displayed)
}

/// A node's name without what the steps of one template need not be told apart by: groups, attempts, and the text of items.
pub(super) fn step_of(node: &str) -> String {
    let mut step = String::new();
    let mut rest = node;
    while let Some(first) = rest.chars().next() {
        let digits = rest[first.len_utf8()..].bytes().take_while(u8::is_ascii_digit).count();
        let number = &rest[first.len_utf8()..][..digits];
        let after = &rest[first.len_utf8() + digits..];
        match (first, after.chars().next()) {
            ('[', Some(']')) | ('(', Some(')')) if digits > 0 => rest = &after[1..],
            ('(', Some(':')) if digits > 0 => {
                step.push_str(&format!("({number})"));
                rest = after_item(after);
            }
            _ => {
                step.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    step
}

/// What follows the text of an item, which may have brackets of its own.
fn after_item(text: &str) -> &str {
    let ends = text.match_indices(')').map(|(at, _)| &text[at + 1..]);
    let mut ends = ends.filter(|rest| rest.is_empty() || rest.starts_with(['.', '[', '(']));
    ends.next().unwrap_or("")
}

/// A node's name without its attempt, and which attempt it is; `None` for one that is run once.
pub(super) fn attempt_of(node: &str) -> (&str, Option<i64>) {
    let found = node.strip_suffix(')').and_then(|open| open.rsplit_once('('));
    match found.and_then(|(base, number)| Some((base, number.parse().ok()?))) {
        Some((base, number)) => (base, Some(number)),
        None => (node, None),
    }
}

/// The name of a node's pod (`GeneratePodName`, second version).
pub(super) fn pod_name(workflow: &str, template: &str, node: &str) -> Name {
    if workflow == node {
        return Name::from(workflow);
    }
    let prefix: String = format!("{workflow}-{template}").chars().take(PREFIX_MAX).collect();
    hashed(&prefix, node)
}

/// A name that ends in the hash of a text: FNV-1a of 32 bits.
pub(super) fn hashed(prefix: &str, text: &str) -> Name {
    let hash =
        text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    Name::from(format!("{prefix}-{hash}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_attempts_and_texts_of_items_do_not_tell_steps_apart() {
        for (node, step) in [
            ("w", "w"),
            ("w(0)", "w"),
            ("w[0].fetch", "w.fetch"),
            ("w[0].fetch(2:eu)(1)", "w.fetch(2)"),
            ("w.each(0:size:1 (small))[1].do(3:a.b)", "w.each(0).do(3)"),
            ("w.brackets[x](y)", "w.brackets[x](y)"),
        ] {
            assert_eq!(step_of(node), step, "{node}");
        }
        assert_eq!(attempt_of("w.fetch(2:eu)(1)"), ("w.fetch(2:eu)", Some(1)));
        assert_eq!(attempt_of("w.fetch(2:eu)"), ("w.fetch(2:eu)", None));
        assert_eq!(attempt_of("w"), ("w", None));
    }

    #[test]
    fn pods_are_called_by_workflow_template_and_the_hash_of_their_node() {
        assert_eq!(pod_name("w", "main", "w").as_str(), "w");
        // Test vectors of FNV-1a: "a" is e40c292c, "foobar" is bf9cf968.
        assert_eq!(pod_name("w", "main", "a").as_str(), "w-main-3826002220");
        assert_eq!(hashed("w-main", "foobar").as_str(), "w-main-3214735720");
    }
}
