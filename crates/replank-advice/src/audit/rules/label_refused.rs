//! Node labels that kubelets refuse to set: a node that is made anew comes without them.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::affinity::TaintEffect;
use replank_model::object::meta::Key;

use super::super::engine::Engine;
use super::super::ground::keeps_off;
use super::super::rule::{Finding, ObjectName, Rule, Severity};
use super::super::survey::{Subject, Survey};
use replank_facts::finding::counted;
use replank_facts::node_labels::{asks, control_plane_nodes, is_kept_by_hand};
use replank_facts::taints::is_passing;

/// Workloads that are named in one finding.
const NAMED_MAX: usize = 8;

/// Nodes and workloads that have to do with one refused key.
#[derive(Default)]
struct Use<'a> {
    /// Names of the nodes.
    labelled: BTreeSet<&'a str>,
    tainted: BTreeSet<&'a str>,
    /// By value of the label.
    labels: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// By value and effect of the taint.
    taints: BTreeMap<(&'a str, TaintEffect), BTreeSet<&'a str>>,
}

pub(super) fn find(survey: &Survey<'_>, _engine: &mut Engine) -> Vec<Finding> {
    let mut uses: BTreeMap<&str, Use<'_>> = BTreeMap::new();
    let control_plane = control_plane_nodes(survey.view);
    for (_, node) in survey.view.nodes.unordered().filter(|(_, node)| !control_plane.contains(&node.name())) {
        let name = node.meta.name.as_str();
        for (key, value) in node.meta.labels.iter().filter(|(key, _)| is_kept_by_hand(key)) {
            let found = uses.entry(key).or_default();
            found.labelled.insert(name);
            found.labels.entry(value).or_default().insert(name);
        }
        let taints = node.spec.taints.iter().filter(|taint| keeps_off(taint) && !is_passing(taint));
        for taint in taints.filter(|taint| is_kept_by_hand(&taint.key)) {
            let found = uses.entry(&taint.key).or_default();
            found.tainted.insert(name);
            found.taints.entry((&taint.value, taint.effect)).or_default().insert(name);
        }
    }
    uses.into_iter().map(|(key, found)| finding(survey, key, &found)).collect()
}

fn finding(survey: &Survey<'_>, key: &str, found: &Use<'_>) -> Finding {
    let users: Vec<&Subject> = survey
        .subjects
        .iter()
        .filter(|subject| subject.samples.iter().any(|one| asks(&one.pod.spec, key)))
        .collect();
    let what = match (found.labelled.len(), found.tainted.len()) {
        (labelled, 0) => format!("a label of {}", counted(labelled, "node")),
        (0, tainted) => format!("a taint of {}", counted(tainted, "node")),
        (labelled, tainted) => format!("a label of {} and a taint of {tainted}", counted(labelled, "node")),
    };
    let refusal = if found.labelled.is_empty() {
        "the API of EKS managed node groups rejects such a taint"
    } else {
        "kubelets since 1.16 refuse to set such a label, and the API of EKS managed node groups rejects it as label and taint"
    };
    let named: Vec<String> = users.iter().take(NAMED_MAX).map(|subject| subject.name.to_string()).collect();
    let more = users.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let consequence = match users.len() {
        0 => "no workload uses it".to_owned(),
        count => format!(
            "a new node lacks it until it is set by hand, and {} cannot be scheduled there: {}{more}",
            counted(count, "workload"),
            named.join(", ")
        ),
    };
    let kind = if found.labelled.is_empty() { "Taint" } else { "Label" };
    Finding {
        rule: Rule::LabelRefused,
        severity: if users.is_empty() { Severity::Info } else { Severity::Warning },
        object: ObjectName::new(kind, Key::cluster(key)),
        reason: format!("{what}; {refusal}; {consequence}"),
        remedy: remedy(survey, key, found, !users.is_empty()).into(),
    }
}

/// The same under a name of one's own, in an order in which every pod has a place at any time.
fn remedy(survey: &Survey<'_>, key: &str, found: &Use<'_>, is_asked_for: bool) -> String {
    let name = own_name(survey, key);
    if !is_asked_for && found.taints.is_empty() {
        return format!(
            "nothing depends on it: leave it as it is, or remove it and use {name} in the group's own labels"
        );
    }
    let mut lines = vec![format!(
        "use a name of your own, such as {name}, which a launch template or managed group can set. To avoid a gap:"
    )];
    if !found.labelled.is_empty() {
        lines.push("1. add the new label next to the old one, here and in each group's labels:".to_owned());
        lines.extend(
            labelled_so(survey, key, found)
                .map(|(value, nodes)| format!("kubectl label nodes {nodes} {name}={value}")),
        );
    }
    if found.taints.is_empty() {
        lines.push(format!("2. change every workload to select {name} instead of {key}"));
        lines.push("3. when the workloads are rolled out, remove the old label:".to_owned());
    } else {
        // All of them: a step that is left out is a gap.
        let tainted = || {
            let all = found.taints.iter();
            all.map(|((value, effect), nodes)| (*value, *effect, chosen(survey, key, value, nodes)))
        };
        lines.push(format!(
            "2. change every workload to tolerate {name} as well as {key}, and to select {name}"
        ));
        lines.push(
            "3. when the workloads are rolled out, add the new taint next to the old one, here and in each group's taints:"
                .to_owned(),
        );
        lines.extend(tainted().map(|(value, effect, nodes)| {
            format!("kubectl taint nodes {nodes} {}:{effect}", with_value(&name, value))
        }));
        lines.push("4. remove the old label and taint, and then the old tolerations:".to_owned());
        lines.extend(tainted().map(|(value, effect, nodes)| {
            format!("kubectl taint nodes {nodes} {}:{effect}-", with_value(key, value))
        }));
    }
    if !found.labelled.is_empty() {
        lines.extend(
            labelled_so(survey, key, found).map(|(_, nodes)| format!("kubectl label nodes {nodes} {key}-")),
        );
    }
    lines.join("\n")
}

/// Each value of the label with the nodes that have it, as `kubectl` takes them: those that are told of and no others. A selector where no other node has it.
fn labelled_so<'a>(
    survey: &'a Survey<'_>,
    key: &'a str,
    found: &'a Use<'_>,
) -> impl Iterator<Item = (&'a str, String)> {
    found.labels.iter().map(move |(value, nodes)| (*value, chosen(survey, key, value, nodes)))
}

/// Nodes as `kubectl` takes them: by a label where all that have it are meant, and no others; else by name.
fn chosen(survey: &Survey<'_>, key: &str, value: &str, nodes: &BTreeSet<&str>) -> String {
    let all = survey.view.nodes.unordered().map(|(_, node)| node);
    let labelled: BTreeSet<&str> = all
        .filter(|node| node.meta.labels.value(key) == Some(value))
        .map(|node| node.meta.name.as_str())
        .collect();
    match labelled == *nodes {
        true => format!("-l {key}={value}"),
        false => nodes.iter().copied().collect::<Vec<_>>().join(" "),
    }
}

fn with_value(key: &str, value: &str) -> String {
    if value.is_empty() { key.to_owned() } else { format!("{key}={value}") }
}

/// `role` for `kubernetes.io/role`, `gateway` for `node-role.kubernetes.io/gateway`: a key without a prefix is the user's own. One that no node has yet.
fn own_name(survey: &Survey<'_>, key: &str) -> String {
    let last = key.rsplit('/').next().unwrap_or(key);
    let is_taken = |name: &str| {
        let mut nodes = survey.view.nodes.unordered().map(|(_, node)| node);
        nodes.any(|node| {
            node.meta.labels.contains_key(name) || node.spec.taints.iter().any(|taint| &*taint.key == name)
        })
    };
    let names = [last.to_owned(), format!("node-{last}"), format!("own-node-{last}")];
    names.iter().find(|name| !is_taken(name)).unwrap_or(&names[2]).clone()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, labelled, node, remedies, service, tainted};
    use super::*;

    #[test]
    fn a_role_by_a_refused_label_is_found_with_who_depends_on_it_and_a_way_out() {
        let objects = || {
            let master = tainted(
                labelled(node("n", "web", "a"), "kubernetes.io/role", "master"),
                &["kubernetes.io/role=master:NoSchedule"],
            );
            let spec = json!({"spec": {"nodeSelector": {"kubernetes.io/role": "master"},
                "tolerations": [{"key": "kubernetes.io/role", "value": "master"}]}});
            let infra = labelled(node("m", "web", "a"), "kubernetes.io/role", "infra");
            [vec![master, infra], service("lead", &["n"], &spec)].concat()
        };
        assert_eq!(
            found(Rule::LabelRefused, objects()),
            [
                "warning label-refused Label kubernetes.io/role: a label of 2 nodes and a taint of 1; kubelets since 1.16 refuse to set such a label, and the API of EKS managed node groups rejects it as label and taint; a new node lacks it until it is set by hand, and 1 workload cannot be scheduled there: Deployment shop/lead"
            ]
        );
        let remedy = remedies(Rule::LabelRefused, objects()).remove(0);
        let at = |text: &str| remedy.find(text).unwrap_or_else(|| panic!("{text} in {remedy}"));
        let order = [
            at("kubectl label nodes -l kubernetes.io/role=master role=master"),
            at("2. change every workload to tolerate"),
            at("kubectl taint nodes -l kubernetes.io/role=master role=master:NoSchedule"),
            at("kubectl taint nodes -l kubernetes.io/role=master kubernetes.io/role=master:NoSchedule-"),
            at("kubectl label nodes -l kubernetes.io/role=infra kubernetes.io/role-"),
        ];
        assert!(order.is_sorted(), "{order:?}");
        assert!(!remedy.contains("infra:NoSchedule"), "what has no taint is given none: {remedy}");
    }

    /// Not a node of EKS.
    fn plain(mut node: serde_json::Value) -> serde_json::Value {
        node["metadata"]["labels"].as_object_mut().expect("labels").retain(|key, _| !key.starts_with("eks."));
        node
    }

    #[test]
    fn labels_of_controllers_and_of_control_planes_are_not_found_and_unused_ones_only_told() {
        let cloud = labelled(node("n", "web", "a"), "k8s.io/cloud-provider-aws", "x");
        let control = tainted(
            labelled(node("c", "", "a"), "node-role.kubernetes.io/control-plane", ""),
            &["node-role.kubernetes.io/control-plane:NoSchedule"],
        );
        assert_eq!(found(Rule::LabelRefused, vec![plain(cloud), plain(control)]), [""; 0]);
        let shown = labelled(node("n", "web", "a"), "node-role.kubernetes.io/web", "");
        assert!(found(Rule::LabelRefused, vec![shown])[0].starts_with("info"));
    }

    #[test]
    fn workers_that_a_person_calls_masters_are_no_control_plane_and_no_node_is_left_out() {
        let key = "node-role.kubernetes.io/master";
        let worker = |name: &str| {
            tainted(
                labelled(node(name, "lead", "a"), key, ""),
                &["node-role.kubernetes.io/master:NoSchedule"],
            )
        };
        let role = |name: &str, value: &str| labelled(worker(name), "kubernetes.io/role", value);
        let spec = json!({"spec": {"nodeSelector": {"kubernetes.io/role": "master"}, "tolerations": [{"key": key, "operator": "Exists"}]}});
        let objects = || {
            let nodes = vec![
                role("a", "master"),
                role("b", "master"),
                labelled(node("c", "web", "a"), "kubernetes.io/role", "infra"),
            ];
            [nodes, service("lead", &["a"], &spec)].concat()
        };
        let told = found(Rule::LabelRefused, objects());
        assert!(told.iter().any(|one| one.contains("kubernetes.io/role: a label of 3 nodes")), "{told:?}");
        assert!(
            told.iter().any(
                |one| one.contains("node-role.kubernetes.io/master: a label of 2 nodes and a taint of 2")
            ),
            "{told:?}"
        );
        let remedy = remedies(Rule::LabelRefused, objects()).join("\n");
        assert!(remedy.contains("kubectl label nodes -l kubernetes.io/role=infra role=infra"), "{remedy}");
        assert!(
            remedy.contains("kubectl label nodes -l kubernetes.io/role=infra kubernetes.io/role-"),
            "{remedy}"
        );
        assert!(
            !remedy.contains("--all") && !remedy.contains("example.com") && !remedy.contains('…'),
            "{remedy}"
        );

        // Of a real control plane only the others are relabelled, by name.
        let server = |name: &str| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("kube-apiserver-{name}"), "namespace": "kube-system",
                "uid": name, "labels": {"component": "kube-apiserver"}}, "spec": {"nodeName": name, "containers": [{"name": "c"}]}})
        };
        let both = || vec![role("a", "master"), role("b", "master")];
        // Labels such as those of EKS do not make its node a worker.
        for nodes in [both().into_iter().map(plain).collect(), both()] {
            let objects = [nodes, vec![server("a")], service("lead", &["b"], &spec)].concat();
            let remedy = remedies(Rule::LabelRefused, objects).join("\n");
            assert!(
                remedy.contains("kubectl label nodes b role=master")
                    && remedy.contains("kubectl label nodes b kubernetes.io/role-"),
                "{remedy}"
            );
        }
    }
}
