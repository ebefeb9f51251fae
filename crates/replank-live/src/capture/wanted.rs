//! Which resources a snapshot has.

use replank_model::object::Kind;

use crate::resource::Resource;
use crate::rights::Rule;

/// What a snapshot is for: what is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// What a rehearsal reads.
    #[default]
    Rehearsal,
    /// What a scan for API versions reads: every resource but Secrets and Events, ConfigMaps without contents.
    Scan {
        /// Whether the Secrets in which Helm keeps releases are read, too.
        helm_releases: bool,
    },
}

/// What no decision has a type for, and rehearsals read all the same.
const UNTYPED: [(&str, &str); 18] = [
    ("", "limitranges"),
    ("coordination.k8s.io", "leases"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    // By which way requests come to a pod that is shut down.
    ("networking.k8s.io", "ingresses"),
    ("networking.k8s.io", "ingressclasses"),
    ("elbv2.k8s.aws", "targetgroupbindings"),
    ("argoproj.io", "workflows"),
    ("argoproj.io", "cronworkflows"),
    ("argoproj.io", "workflowtemplates"),
    ("argoproj.io", "clusterworkflowtemplates"),
    ("argoproj.io", "rollouts"),
    ("karpenter.sh", "nodepools"),
    ("karpenter.sh", "nodeclaims"),
    ("karpenter.k8s.aws", "ec2nodeclasses"),
    ("autoscaling.k8s.io", "verticalpodautoscalers"),
    ("keda.sh", "scaledobjects"),
    // Who is alerted when a Job fails.
    ("monitoring.coreos.com", "prometheusrules"),
];
/// Groups without which there is nothing to rehearse.
const NEEDED: [&str; 2] = ["nodes", "pods"];

/// What nobody keeps in Git, and what changes all the time: no manifest has ever been written for it.
const UNSCANNED: [(&str, &str); 8] = [
    ("", "events"),
    ("events.k8s.io", "events"),
    ("", "endpoints"),
    ("discovery.k8s.io", "endpointslices"),
    ("coordination.k8s.io", "leases"),
    ("", "componentstatuses"),
    ("metrics.k8s.io", "nodes"),
    ("metrics.k8s.io", "pods"),
];
const SECRETS: (&str, &str) = ("", "secrets");

/// Whether a snapshot has a resource.
pub(super) fn is_wanted(resource: &Resource, purpose: Purpose) -> bool {
    match purpose {
        Purpose::Rehearsal => is_rehearsed(resource),
        Purpose::Scan { helm_releases } => match (&*resource.group, &*resource.plural) {
            SECRETS => helm_releases,
            one => !UNSCANNED.contains(&one),
        },
    }
}

/// What narrows a list: of Secrets nothing is read but Helm's releases.
pub(super) fn query(resource: &Resource) -> &'static str {
    match (&*resource.group, &*resource.plural) {
        SECRETS => "&fieldSelector=type%3Dhelm.sh%2Frelease.v1",
        _ => "",
    }
}

fn is_rehearsed(resource: &Resource) -> bool {
    let (group, plural) = (&*resource.group, &*resource.plural);
    let is_typed = |kind: &Kind| {
        kind.plural() == plural && kind.api_version().split_once('/').map_or("", |(group, _)| group) == group
    };
    Kind::TYPED.iter().any(is_typed) || UNTYPED.contains(&(group, plural))
}

/// The rules by which a snapshot may be taken: each resource is listed, or left out and named.
#[must_use]
pub fn snapshot_rules() -> Vec<Rule> {
    let typed = Kind::TYPED.iter().map(|kind| {
        let group = kind.api_version().split_once('/').map_or("", |(group, _)| group);
        Rule { group, resource: kind.plural(), verbs: &["list"] }
    });
    let untyped = UNTYPED.iter().map(|(group, resource)| Rule { group, resource, verbs: &["list"] });
    let mut all: Vec<Rule> = typed.chain(untyped).collect();
    all.sort();
    all.dedup();
    all
}

/// Whether nothing can be rehearsed without it.
pub(super) fn is_needed(resource: &Resource, purpose: Purpose) -> bool {
    purpose == Purpose::Rehearsal && resource.group.is_empty() && NEEDED.contains(&&*resource.plural)
}
