//! Pods that no node of the cluster could take, however empty: they wait, or cannot come back where they run.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::requests::{self, Counting};
use replank_model::object::resources::MEMORY;
use replank_model::quantity::Quantity;

use super::super::engine::{Answer, Engine};
use super::super::remedy::{keep_off, patch};
use super::super::rule::{Finding, Rule, Severity};
use super::super::survey::{Sample, Subject, Survey};
use super::selector_matches_nothing::matches_some_node;
use replank_facts::finding::pods;
use replank_facts::remedy::Remedy;
use replank_schedule::Reason;

pub(super) fn find(survey: &Survey<'_>, engine: &mut Engine) -> Vec<Finding> {
    let mut findings = Vec::new();
    for subject in survey.scheduled().filter(|_| survey.ground.nodes() > 0) {
        let nowhere = |sample: &&Sample| !sample.answers.contains(&Answer::Lands);
        let Some(sample) = subject.samples.iter().find(nowhere) else { continue };
        // That a selector matches no node is another finding.
        if !matches_some_node(survey, &sample.pod) {
            continue;
        }
        let specs: Vec<_> = subject.samples.iter().filter(nowhere).map(|one| &one.pod.spec).collect();
        let stuck = subject
            .pods
            .iter()
            .filter(|pod| specs.iter().any(|spec| std::sync::Arc::ptr_eq(spec, &pod.spec)));
        let (running, waiting): (Vec<_>, Vec<_>) = stuck.partition(|pod| pod.node.is_some());
        let who = match (running.len(), waiting.len()) {
            (0, 0) => "the next run".to_owned(),
            (0, waiting) => format!("{}, Pending", pods(waiting)),
            (running, 0) => format!("{} that could not be scheduled again", pods(running)),
            (running, waiting) => {
                format!("{} Pending and {running} that could not be scheduled again", pods(waiting))
            }
        };
        // Spot nodes are the last choice, and none for what the cluster needs or has one of.
        let spot = survey.ground.kinds().filter(|(_, kind)| kind.is_spot()).map(|(id, _)| id).collect();
        let is_dear = subject.system.is_some() || (subject.is_service() && subject.replicas == 1);
        let change = keep_off(survey, engine, subject, &spot)
            .or_else(|| if is_dear { None } else { keep_off(survey, engine, subject, &BTreeSet::new()) });
        findings.push(Finding {
            rule: Rule::FitsNowhere,
            severity: if subject.pods.is_empty() { Severity::Warning } else { Severity::Blocking },
            object: subject.name.clone(),
            reason: format!("{who}: it does not fit even on empty nodes: {}", objections(survey, sample)),
            remedy: cause(subject, sample)
                .map(Remedy::look)
                .or_else(|| change.map(|change| patch(survey, subject, &change.to_json())))
                .unwrap_or_else(|| Remedy::look(sizes(survey, subject))),
        });
    }
    findings
}

/// What stands in the way, as the scheduler words it, with the number of nodes.
fn objections(survey: &Survey<'_>, sample: &Sample) -> String {
    let mut reasons: BTreeMap<&Reason, usize> = BTreeMap::new();
    for (id, kind) in survey.ground.kinds() {
        if let Answer::Fails(failures) = &sample.answers[id.0] {
            for reason in failures.iter().flat_map(|failure| &failure.reasons) {
                *reasons.entry(reason).or_default() += kind.nodes.len();
            }
        }
    }
    let mut told: Vec<(usize, String)> =
        reasons.into_iter().map(|(reason, nodes)| (nodes, format!("{nodes} {reason}"))).collect();
    told.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    told.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(", ")
}

/// What to do about volumes and claims, which no change of the placement helps.
fn cause(subject: &Subject, sample: &Sample) -> Option<String> {
    let failures = sample.answers.iter().filter_map(|answer| match answer {
        Answer::Fails(failures) => Some(failures),
        Answer::Lands => None,
    });
    // What refuses the pod on some nodes only may be met on others.
    let mut refusals: Option<BTreeSet<&Reason>> = None;
    for failures in failures {
        let reasons: BTreeSet<&Reason> = failures.iter().flat_map(|failure| &failure.reasons).collect();
        refusals = Some(match refusals {
            Some(known) => known.intersection(&reasons).copied().collect(),
            None => reasons,
        });
    }
    refusals.into_iter().flatten().find_map(|reason| remedy_of(subject, reason))
}

fn remedy_of(subject: &Subject, reason: &Reason) -> Option<String> {
    let namespace = subject.namespace();
    let remedy = match reason {
        Reason::ClaimNotFound(claim) | Reason::ClaimLookUp { claim, .. } => format!(
            "create the claim {namespace}/{claim}, or correct its name in the pod template: kubectl -n {namespace} get pvc"
        ),
        Reason::EphemeralClaimMissing(claim) | Reason::ClaimOfAnother { claim, .. } => {
            format!(
                "kubectl -n {namespace} describe pvc {claim}   # it must be owned by the pod, which creates it"
            )
        }
        Reason::ClaimLost { claim, .. } | Reason::ClaimDeleted(claim) => format!(
            "kubectl -n {namespace} describe pvc {claim}   # recreate it from a snapshot or backup of its volume: the data does not come back"
        ),
        Reason::UnboundImmediateClaims | Reason::ClaimWithoutVolume => {
            format!(
                "kubectl -n {namespace} get pvc,events   # its claims must be bound first: the provisioner's events say why they are not"
            )
        }
        Reason::ClaimWithoutClass => {
            format!(
                "kubectl -n {namespace} get pvc   # give the claim a storage class, or the cluster a default one"
            )
        }
        Reason::VolumeGone | Reason::VolumeNotFound(_) => {
            format!(
                "kubectl -n {namespace} get pvc   # a claim's volume does not exist: recreate the claim from a snapshot or backup"
            )
        }
        Reason::StorageClassNotFound(class) => {
            format!(
                "create the storage class {class}, or name another in the claim: kubectl get storageclass"
            )
        }
        Reason::NoBindingMode(class) => {
            format!("recreate the storage class {class} with volumeBindingMode: WaitForFirstConsumer")
        }
        Reason::NoVolumeToBind | Reason::NotEnoughStorage => {
            format!(
                "kubectl -n {namespace} get pvc   # no volume matches the claim: create one, or use a storage class with a provisioner"
            )
        }
        Reason::VolumeNodeAffinity | Reason::NoVolumeZone => {
            "add nodes where its volumes can be reached: kubectl get pv -o yaml   # see nodeAffinity"
                .to_owned()
        }
        Reason::NodeUnschedulable
        | Reason::OtherNodeName
        | Reason::UntoleratedTaint
        | Reason::NodeAffinity
        | Reason::AffinityTermsConflict
        | Reason::OutsideNarrowing
        | Reason::PortTaken
        | Reason::TooManyPods
        | Reason::Insufficient(_)
        | Reason::DiskConflict
        | Reason::ReadWriteOncePodConflict
        | Reason::MaxVolumeCount
        | Reason::Spread
        | Reason::SpreadLabelMissing
        | Reason::UnreadableTerms(_)
        | Reason::PodAffinity
        | Reason::PodAntiAffinity
        | Reason::ExistingPodAntiAffinity
        | Reason::ResourceClaimNotFound { .. }
        | Reason::ResourceClaimNotMade { .. }
        | Reason::DeclaredFeatures
        | Reason::NoVictims
        | Reason::PreemptionNotHelpful => return None,
    };
    Some(remedy)
}

/// Allocatable memory is written in Ki, which nobody reads.
fn gibibytes(memory: &Quantity) -> String {
    format!("{:.1}Gi", memory.approximate_f64() / f64::from(1 << 30))
}

/// What it asks for beside the most that any node gives.
fn sizes(survey: &Survey<'_>, subject: &Subject) -> String {
    let wants = requests::of_spec(subject.spec(), Counting::default());
    let mut lines = Vec::new();
    for (name, wanted) in wants.iter() {
        let given = survey.ground.kinds().filter_map(|(_, kind)| kind.sample.status.allocatable.get(name));
        let most = given.max();
        match most {
            None => lines.push(format!("{name}: {wanted} requested, and no node has any")),
            Some(most) if most < wanted => {
                let most = if &**name == MEMORY { gibibytes(most) } else { most.to_string() };
                lines.push(format!("{name}: {wanted} requested, {most} on the largest node"));
            }
            Some(_) => {}
        }
    }
    let what = "request less, or add nodes that have it";
    if lines.is_empty() {
        "make its selectors, tolerations and requests fit one node group".to_owned()
    } else {
        format!("{}: {what}", lines.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, node, remedies, service, tainted};
    use super::*;

    fn asking(cpu: &str) -> serde_json::Value {
        json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}})
    }

    #[test]
    fn what_is_too_large_for_every_node_is_found_and_what_is_only_full_is_not() {
        let big = || [vec![node("n", "web", "a")], service("big", &[""], &asking("5"))].concat();
        assert_eq!(
            found(Rule::FitsNowhere, big()),
            [
                "blocking fits-nowhere Deployment shop/big: 1 pod, Pending: it does not fit even on empty nodes: 1 Insufficient cpu"
            ]
        );
        assert_eq!(
            remedies(Rule::FitsNowhere, big()),
            ["cpu: 5 requested, 4 on the largest node: request less, or add nodes that have it"]
        );
        let full = [
            vec![node("n", "web", "a")],
            service("one", &["n"], &asking("4")),
            service("two", &[""], &asking("4")),
        ];
        assert_eq!(found(Rule::FitsNowhere, full.concat()), [""; 0], "a full node has room tomorrow");
    }

    #[test]
    fn what_taints_alone_keep_off_gets_the_tolerations() {
        let nodes = vec![tainted(node("n", "web", "a"), &["dedicated=db:NoSchedule"])];
        let objects = [nodes, service("db", &[""], &json!({}))].concat();
        assert!(found(Rule::FitsNowhere, objects.clone())[0].contains("1 node(s) had untolerated taint(s)"));
        assert!(
            remedies(Rule::FitsNowhere, objects)[0]
                .contains(r#""tolerations":[{"effect":"NoSchedule","key":"dedicated","#)
        );
    }
}
