//! What stands before the replacement of nodes.

use std::collections::BTreeSet;

use replank_model::object::meta::Key;

use super::super::docker;
use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::kubelet::{LABELS_SINCE, Refused, Values, refused, refused_labels};
use super::super::minor::{Hop, Minor};
use super::super::routes::Roll;
use super::super::survey::Nodes;
use super::Input;
use crate::check;
use replank_facts::finding::counted;
use replank_facts::groups::group_of;
use replank_facts::node_labels::is_kept_by_hand;
use replank_facts::plan::{Plan, Target};
use replank_protocol::provisioner::Provisioner;

/// First version for which EKS makes no image of Amazon Linux 2 (EKS user guide "Amazon EKS optimized AMIs").
const WITHOUT_AL2: Minor = Minor(33);

pub(super) fn find(input: &Input<'_>, roll: &Roll) -> Vec<Finding> {
    let mut findings = checked(input, roll);
    findings.extend(refusals(input, roll));
    findings.extend(without_docker(input, roll));
    if !findings.iter().any(|finding| finding.rule == Rule::ImageGone) {
        findings.extend(image(input, roll));
    }
    if let Some(rehearsed) =
        input.rehearsed.get(&roll.group).filter(|rehearsed| !rehearsed.blockers.is_empty())
    {
        findings.push(Finding {
            rule: Rule::RollBlocked,
            severity: Severity::Blocking,
            object: group(roll),
            reason: format!("its rehearsal does not finish: {}", rehearsed.blockers.join("; ")),
            remedy: format!(
                "replank rehearse SNAPSHOT --roll {} --to-version {}   # shows what each one waits for",
                roll.group, roll.to
            )
            .into(),
        });
    }
    findings
}

fn group(roll: &Roll) -> ObjectName {
    ObjectName::new("NodeGroup", Key::cluster(&*roll.group))
}

/// The findings of a plan that rolls the group: those that block.
fn checked(input: &Input<'_>, roll: &Roll) -> Vec<Finding> {
    let target = Target { kubernetes_version: roll.to.to_string().parse().ok(), ..Target::default() };
    let plan = Plan::of_groups("upgrade", vec![roll.group.clone().into()], target);
    let found = check::run(input.view, Some(&plan), input.run);
    found
        .into_iter()
        .filter(|finding| finding.severity == Severity::Blocking)
        // Versions are this plan's own business: it looks at them as they are by then.
        .filter(|finding| finding.rule != check::Rule::VersionSkew)
        .map(|finding| {
            let (rule, reason) = if finding.rule == check::Rule::OldImage {
                (Rule::ImageGone, finding.reason)
            } else {
                (Rule::RollBlocked, format!("{}: {}", finding.rule, finding.reason))
            };
            let (object, remedy) = (finding.object, finding.remedy);
            Finding { rule, severity: Severity::Blocking, object, reason, remedy }
        })
        .collect()
}

/// Labels and arguments that the new kubelets refuse.
fn refusals(input: &Input<'_>, roll: &Roll) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut push = |reason: String, remedy: String| {
        findings.push(Finding {
            rule: Rule::KubeletRefuses,
            severity: Severity::Blocking,
            object: group(roll),
            reason,
            remedy: remedy.into(),
        });
    };
    let label = |key: &str, by: &str| {
        (
            format!("{by} sets the label {key}, and kubelets since {LABELS_SINCE} exit when configured with it: no new node would join"),
            "use a name outside of kubernetes.io and k8s.io, or one under node.kubernetes.io/, and change the selectors of the old label (replank place --audit lists them)"
                .to_owned(),
        )
    };
    if let Some(facts) = input.facts.groups.get(&roll.group) {
        for key in refused_labels(facts.labels.iter().map(|key| &**key), roll.to) {
            let (reason, remedy) = label(&key, "the node group");
            push(reason, remedy);
        }
    }
    for key in labels_of_old_kubelets(input, roll) {
        push(
            format!(
                "its nodes have the label {key}, which kubelets before {LABELS_SINCE} could set; later kubelets exit when configured with it, and the user data is unknown"
            ),
            format!(
                "pass its user data: --kubelet {}=FILE   # if that does not set the label, nothing is blocked; otherwise use a name outside of kubernetes.io and k8s.io",
                roll.group
            ),
        );
    }
    for (line, one) in input.kubelets.get(&roll.group).map(|text| refused(text, roll.to)).unwrap_or_default()
    {
        match one {
            Refused::Label(key) => {
                let (reason, remedy) = label(&key, &format!("line {line} of its user data"));
                push(reason, remedy);
            }
            Refused::Flag(gone) => push(
                format!(
                    "line {line} of its user data passes kubelets --{}{}, with which they do not start since {}: no new node would join",
                    gone.flag,
                    match gone.values {
                        Values::Only(value) => format!("={value}"),
                        Values::Any | Values::AllBut(_) => String::new(),
                    },
                    gone.since
                ),
                gone.instead.to_owned(),
            ),
            Refused::Gate(gate) => push(
                format!(
                    "line {line} of its user data sets the feature gate {}, which kubelets do not support since {}: they do not start, and no new node would join",
                    gate.name, gate.since
                ),
                "remove it: by then the feature is always on or has been removed".to_owned(),
            ),
        }
    }
    findings
}

/// Who talks to the Docker of nodes that are the last to have one.
fn without_docker(input: &Input<'_>, roll: &Roll) -> Vec<Finding> {
    if roll.from >= docker::GONE_SINCE || roll.to < docker::GONE_SINCE {
        return Vec::new();
    }
    docker::users(input.view, &roll.group, &input.run.group_by)
        .into_iter()
        .map(|(kind, key, path)| Finding {
            rule: Rule::DockerGone,
            severity: Severity::Warning,
            object: ObjectName::new(kind, key),
            reason: format!(
                "its pods mount {path}, and nodes of {} and later have no Docker: once {} is rolled, the mount is empty",
                docker::GONE_SINCE,
                roll.group
            ),
            remedy: "remove the mount: build images without Docker (BuildKit, kaniko), and query the kubelet or the container runtime's own socket (/run/containerd/containerd.sock)"
                .to_owned().into(),
        })
        .collect()
}

/// Labels that kubelets of a group may have set while they were allowed to, where nobody has said what their arguments are. Later kubelets cannot
/// have set them: on their nodes somebody else does, and goes on.
fn labels_of_old_kubelets(input: &Input<'_>, roll: &Roll) -> BTreeSet<String> {
    if roll.from >= LABELS_SINCE || roll.to < LABELS_SINCE || input.kubelets.contains_key(&roll.group) {
        return BTreeSet::new();
    }
    let nodes = input.view.nodes.unordered().map(|(_, node)| node);
    let own = nodes
        .filter(|node| group_of(node, &input.run.group_by).is_some_and(|group| *group.text() == roll.group));
    own.flat_map(|node| {
        node.meta
            .labels
            .iter()
            .map(|(key, _)| key)
            .filter(|key| is_kept_by_hand(key))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    })
    .collect()
}

/// Groups of an image that is not made any more, by what EKS says of them.
fn image(input: &Input<'_>, roll: &Roll) -> Option<Finding> {
    let image = input.facts.groups.get(&roll.group)?.image.as_ref()?;
    // `AL2_x86_64`, `AL2_x86_64_GPU`, `AL2_ARM_64`, and not `AL2023_…`.
    if !image.starts_with("AL2_") || roll.to < WITHOUT_AL2 {
        return None;
    }
    Some(Finding {
        rule: Rule::ImageGone,
        severity: Severity::Blocking,
        object: group(roll),
        reason: format!("its nodes run {image} (Amazon Linux 2), and EKS publishes no such image for {WITHOUT_AL2} and later"),
        remedy: "create a group with Amazon Linux 2023 and move the nodes into it: target: {group: NAME}; replank explain old-image lists the differences".to_owned().into(),
    })
}

/// Nodes that somebody else replaces.
pub(super) fn of_others(nodes: &Nodes, from: Minor, to: Minor, next: Option<Hop>) -> Vec<Finding> {
    let (rule, remedy) = match &nodes.provisioner {
        Provisioner::Fargate => (
            Rule::FargateBehind,
            "restart the workloads whose pods run there with kubectl rollout restart, or delete the pods: their replacements get nodes of the control plane's version".to_owned(),
        ),
        Provisioner::Karpenter(_) | Provisioner::AutoMode | Provisioner::Hybrid | Provisioner::ManagedGroup | Provisioner::SelfManaged => {
            (Rule::KubeletTooOld, nodes.provisioner.way().to_owned())
        }
    };
    // At the end it is what the step is there for, and nothing stands before it.
    let Some(hop) = next else { return Vec::new() };
    vec![Finding {
        rule,
        severity: Severity::Warning,
        object: ObjectName::new("NodeGroup", Key::cluster(&*nodes.name)),
        reason: format!(
            "{} at {from}: a control plane of {} does not support them, so they are rolled to {to} before it is upgraded",
            counted(nodes.nodes, "node"),
            hop.to
        ),
        remedy: remedy.into(),
    }]
}
