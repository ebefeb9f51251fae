//! What stands before a step of the control plane.

use std::collections::BTreeMap;

use replank_model::object::meta::Key;
use replank_model::object::{Object, render};

use super::super::addons::Addon;
use super::super::controllers::{Controller, Goes};
use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::minor::{Hop, Minor};
use super::super::routes::{Route, Way};
use super::super::skew;
use super::super::survey::{KnownBy, Platform, Survey};
use super::super::usage::{ApiUse, Certainty, User};
use super::{Input, Scanned};
use replank_facts::cluster_name::cluster_name;
use replank_facts::finding::counted;
use replank_model::text::Text;
use replank_protocol::provisioner::Provisioner;

/// Free addresses that EKS asks for in the subnets of the control plane (EKS user guide "Update existing cluster to new Kubernetes version").
const ADDRESSES: u64 = 5;

/// Places that are named in one finding.
const NAMED_MAX: usize = 5;

/// A step of the control plane, and where it stands among the others.
pub(super) struct AtHop<'a> {
    pub(super) hop: Hop,
    pub(super) is_first: bool,
    pub(super) is_last: bool,
    pub(super) route: &'a Route,
    pub(super) inventory: &'a [Controller],
}

pub(super) fn find(input: &Input<'_>, survey: &Survey, at: &AtHop<'_>) -> Vec<Finding> {
    let hop = at.hop;
    let mut findings = apis(input.uses, hop, at.is_first);
    findings.extend(at.inventory.iter().filter_map(|one| controller(one, at)));
    if at.is_first {
        findings.extend(webhooks(input));
        findings.extend(newer(survey));
        findings.extend(guessed(input, survey));
    }
    match survey.platform {
        Platform::Eks => {
            findings.extend(behind(survey, at));
            findings.extend(eks(input, at));
        }
        Platform::Other => {}
    }
    findings
}

/// The cluster's name, for commands.
fn cluster(input: &Input<'_>) -> Option<Text> {
    input.facts.cluster.as_ref().map(|cluster| cluster.name.clone()).or_else(|| cluster_name(input.view))
}

fn object(kind: &str, name: &str) -> ObjectName {
    ObjectName::new(kind, Key::cluster(name))
}

/// One finding for each API version that goes with this step, and on the first step for those that are gone already.
fn apis(uses: &[ApiUse], hop: Hop, is_first: bool) -> Vec<Finding> {
    let mut by_api: BTreeMap<&str, Vec<&ApiUse>> = BTreeMap::new();
    for one in uses.iter().filter(|one| one.removed == hop.to || (is_first && one.removed <= hop.from)) {
        by_api.entry(&one.api).or_default().push(one);
    }
    by_api.into_iter().filter_map(|(api, uses)| of_api(api, &uses, hop)).collect()
}

fn of_api(api: &str, uses: &[&ApiUse], hop: Hop) -> Option<Finding> {
    let first = uses.first()?;
    let blocks = |one: &&&ApiUse| match (one.user, one.certainty) {
        (User::Source | User::Reference | User::Writer, Certainty::Sure | Certainty::Likely) => true,
        (User::Source | User::Reference | User::Writer, Certainty::WorthALook) | (User::Rule, _) => false,
    };
    let is_gone = first.removed <= hop.from;
    let severity = match uses.iter().any(|one| blocks(&one)) {
        // What is gone already fails already: this step changes nothing.
        true if !is_gone => Severity::Blocking,
        true | false => Severity::Warning,
    };
    let mut places: Vec<&str> = uses.iter().map(|one| one.place.as_str()).collect();
    places.sort_unstable();
    places.dedup();
    let more = places.len().saturating_sub(NAMED_MAX);
    let named = places.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join("; ");
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let writers = match uses.iter().filter(|one| one.user == User::Writer).count() {
        0 => String::new(),
        count => format!(" ({count} of them write or read it, and fail from then on)"),
    };
    let when = if is_gone {
        format!("is gone since {}", first.removed)
    } else {
        format!("is no longer served as of {}", hop.to)
    };
    let instead = match (&first.replacement, first.replacement_from) {
        (Some(to), Some(from)) if from > hop.from => {
            format!("{to} is served from {from} only: change it between that step and this one")
        }
        (Some(to), _) => format!(
            "use {to} instead before this step: replank scan PATH --target-version {} shows every place and what else changes",
            hop.to
        ),
        (None, _) => "it has no replacement: remove it".to_owned(),
    };
    Some(Finding {
        rule: Rule::ApiRemoved,
        severity,
        object: object("API", api),
        reason: format!("{when}, and used at {}{writers}: {named}{more}", counted(places.len(), "place")),
        remedy: instead.into(),
    })
}

/// A controller stops at the first step after which it would; what it is not made for is told at the end.
fn controller(one: &Controller, at: &AtHop<'_>) -> Option<Finding> {
    let (severity, reason, remedy) = match (one.goes(at.hop.from), one.goes(at.hop.to)) {
        (Goes::Stops { .. }, Goes::Stops { .. }) if !at.is_first => return None,
        (_, Goes::Stops { least: (major, minor) }) => (
            Severity::Blocking,
            format!(
                "{} of {} requests API versions that {} does not serve, and stops working",
                one.known.name, one.image, at.hop.to
            ),
            format!("update it to {major}.{minor} or later first: {}", one.known.look),
        ),
        (_, Goes::NotMadeFor { least }) if at.is_last => (
            Severity::Warning,
            format!("{} of {} does not support {}", one.known.name, one.image, at.hop.to),
            match least {
                Some((major, minor)) => format!(
                    "update it to {major}.{minor} or later once the control plane runs {}: {}",
                    at.hop.to, one.known.look
                ),
                None => format!("update it to a later version: {}", one.known.look),
            },
        ),
        (_, Goes::TooNew { oldest }) if at.is_last => (
            Severity::Warning,
            format!("{} of {} is for {oldest} and later, not for {}", one.known.name, one.image, at.hop.to),
            format!("take an older version of it until the control plane runs {oldest}: {}", one.known.look),
        ),
        (_, Goes::BestEffort { client, built }) if at.is_last && client < at.hop.to => (
            Severity::Info,
            format!(
                "{} of {} is built with the client-go of {client}: its project supports {} on a best-effort basis only",
                one.known.name, one.image, at.hop.to
            ),
            match built {
                Some((major, minor)) => format!(
                    "update it to {major}.{minor} once the control plane runs {}: {}",
                    at.hop.to, one.known.look
                ),
                None => format!("look for a version with the client-go of {}: {}", at.hop.to, one.known.look),
            },
        ),
        (
            _,
            Goes::NotMadeFor { .. }
            | Goes::BestEffort { .. }
            | Goes::TooNew { .. }
            | Goes::Yes
            | Goes::Unknown,
        ) => return None,
    };
    let (kind, key) = &one.workload;
    Some(Finding {
        rule: Rule::ControllerVersion,
        severity,
        object: ObjectName::new(kind, key.clone()),
        reason,
        remedy: remedy.into(),
    })
}

/// Webhooks that see one version of an API only: "webhooks must handle the versions that the new API server sends" (Version Skew Policy,
/// "Pre-requisites" of kube-apiserver), or say `matchPolicy: Equivalent`, which is the default of v1.
fn webhooks(input: &Input<'_>) -> Vec<Finding> {
    const KINDS: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
    let mut findings = Vec::new();
    for other in input
        .view
        .others()
        .filter(|other| other.group() == "admissionregistration.k8s.io" && KINDS.contains(&&*other.kind))
    {
        let value = render(&Object::Other(other.clone()));
        for webhook in value["webhooks"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|webhook| webhook["matchPolicy"] == "Exact")
        {
            let rules = webhook["rules"].as_array().into_iter().flatten();
            let mut versions: Vec<&str> = rules
                .flat_map(|rule| rule["apiVersions"].as_array().into_iter().flatten())
                .filter_map(|version| version.as_str())
                .collect();
            versions.sort_unstable();
            versions.dedup();
            if versions.is_empty() || versions.contains(&"*") {
                continue;
            }
            let name = webhook["name"].as_str().unwrap_or_default();
            findings.push(Finding {
                rule: Rule::WebhookExact,
                severity: Severity::Warning,
                object: ObjectName::new(&other.kind, other.meta.key()),
                reason: format!("webhook {name} has matchPolicy: Exact and matches {} only: requests at other versions bypass it", versions.join(", ")),
                remedy: "set matchPolicy: Equivalent, or also name the versions that the next API server serves".to_owned().into(),
            });
        }
    }
    findings
}

fn newer(survey: &Survey) -> Option<Finding> {
    let server = survey.control_plane.version;
    let nodes = survey.nodes.iter().filter(|nodes| nodes.newest > server).max_by_key(|nodes| nodes.newest)?;
    Some(Finding {
        rule: Rule::KubeletNewer,
        severity: Severity::Warning,
        object: object("NodeGroup", &nodes.name),
        reason: format!("its kubelets run {}, newer than the control plane ({server}), which the version skew policy never allows", nodes.newest),
        remedy: "upgrade the control plane now, or roll these nodes back: until then they may fail in untested ways".to_owned().into(),
    })
}

fn guessed(input: &Input<'_>, survey: &Survey) -> Option<Finding> {
    match survey.control_plane.known_by {
        KnownBy::NewestKubelet => {}
        KnownBy::Eks | KnownBy::Servers | KnownBy::Given => return None,
    }
    let version = survey.control_plane.version;
    Some(Finding {
        rule: Rule::ControlPlaneUnknown,
        severity: Severity::Warning,
        object: object("Cluster", "control plane"),
        reason: format!("its version is unknown; assuming {version}, the version of the newest kubelet"),
        remedy: match cluster(input) {
            Some(name) => format!(
                "aws eks describe-cluster --name {name} > cluster-eks.json   # and pass it: --eks cluster-eks.json; or give the version with --from"
            ),
            None => "pass the output of aws eks describe-cluster with --eks, or give the version with --from".to_owned(),
        }
        .into(),
    })
}

/// EKS's contradictory texts on nodes that are behind when the control plane goes on.
fn behind(survey: &Survey, at: &AtHop<'_>) -> Option<Finding> {
    let hop = at.hop;
    let running = |name: &str, oldest: Minor| {
        let rolled = at
            .route
            .rolls
            .iter()
            .filter(|roll| &*roll.group == name && roll.to <= hop.from)
            .map(|roll| roll.to)
            .max();
        rolled.unwrap_or(oldest)
    };
    let managed = survey.nodes.iter().filter(|nodes| nodes.provisioner == Provisioner::ManagedGroup);
    let mut behind: Vec<(&str, Minor)> = managed
        .map(|nodes| (&*nodes.name, running(&nodes.name, nodes.oldest)))
        .filter(|(_, version)| *version < hop.from)
        .collect();
    behind.sort_by_key(|(name, version)| (*version, *name));
    let (name, _) = behind.first()?;
    let named: Vec<String> = behind.iter().map(|(name, version)| format!("{name} at {version}")).collect();
    let allowed = behind.iter().all(|(_, version)| skew::kubelet(*version, hop.from, hop.to).fits());
    Some(Finding {
        rule: Rule::NodesMatch,
        severity: if allowed { Severity::Warning } else { Severity::Blocking },
        object: object("NodeGroup", name),
        reason: format!(
            "managed groups are behind the control plane of {}: {}. The EKS documentation is contradictory: the API reference of UpdateClusterVersion requires all of them to match first, the user guide lets kubelets of 1.25 and later lag three minor versions, and the best practices guide recommends that they match and allows three",
            hop.from,
            named.join(", ")
        ),
        remedy: format!("if EKS refuses, roll them to {} first: --route {}", hop.from, Way::EveryStep.word())
            .into(),
    })
}

/// What EKS itself asks of a cluster.
fn eks(input: &Input<'_>, at: &AtHop<'_>) -> Vec<Finding> {
    let hop = at.hop;
    let mut findings = Vec::new();
    let name = input.facts.cluster.as_ref().map_or("cluster", |cluster| &*cluster.name);
    for insight in input.facts.insights.iter().filter(|insight| insight.version == hop.to) {
        let severity = match &*insight.status {
            "ERROR" => Severity::Blocking,
            "WARNING" => Severity::Warning,
            "PASSING" => continue,
            // UNKNOWN: EKS could not look.
            _ => Severity::Info,
        };
        findings.push(Finding {
            rule: Rule::Insight,
            severity,
            object: object("Insight", &insight.name),
            reason: format!("EKS says {}: {}", insight.status, insight.reason),
            remedy: "fix what it names; EKS checks again daily or on request (aws eks start-insights-refresh). API usage is counted for 30 days after it has stopped: override an error that is already resolved with --force (replank upgrade run: --ignore-insights)"
                .to_owned().into(),
        });
    }
    if input.not_offered.contains(&hop.to) {
        findings.push(Finding {
            rule: Rule::VersionNotOffered,
            severity: Severity::Blocking,
            object: object("Cluster", name),
            reason: format!("EKS does not offer {} yet", hop.to),
            remedy: "replank upgrade calendar   # shows the dates; pass current ones with --calendar"
                .to_owned()
                .into(),
        });
    }
    if at.is_first {
        findings.extend(not_active(input));
        findings.extend(addresses(input));
    }
    findings
}

fn not_active(input: &Input<'_>) -> Option<Finding> {
    let cluster = input.facts.cluster.as_ref()?;
    let status = cluster.status.as_ref().filter(|status| &***status != "ACTIVE")?;
    Some(Finding {
        rule: Rule::ClusterNotActive,
        severity: Severity::Blocking,
        object: object("Cluster", &cluster.name),
        reason: format!(
            "its status is {status}: EKS accepts one update at a time, and only for an ACTIVE cluster"
        ),
        remedy: format!("aws eks wait cluster-active --name {}", cluster.name).into(),
    })
}

fn addresses(input: &Input<'_>) -> Option<Finding> {
    let cluster = input.facts.cluster.as_ref()?;
    let known: Vec<u64> =
        cluster.subnets.iter().filter_map(|subnet| input.facts.subnets.get(subnet).copied()).collect();
    let free: u64 = known.iter().sum();
    if known.len() < cluster.subnets.len() || known.is_empty() || free >= ADDRESSES {
        return None;
    }
    Some(Finding {
        rule: Rule::SubnetAddresses,
        severity: Severity::Blocking,
        object: object("Cluster", &cluster.name),
        reason: format!(
            "{} free in the {} of the control plane, and EKS needs up to {ADDRESSES} for a new one",
            counted(usize::try_from(free).unwrap_or(usize::MAX), "address").replace("addresss", "addresses"),
            counted(known.len(), "subnet")
        ),
        remedy: "free some, or set other subnets of the same zones for the cluster (aws eks update-cluster-config --resources-vpc-config)".to_owned().into(),
    })
}

pub(super) fn nothing_goes(addon: &Addon, hop: Hop) -> Finding {
    let version =
        addon.version.as_ref().map_or_else(|| "of an unknown version".to_owned(), ToString::to_string);
    Finding {
        rule: Rule::AddonIncompatible,
        severity: Severity::Blocking,
        object: object("Addon", &addon.name),
        reason: format!(
            "{version} is not compatible with {}, and EKS offers no later version that is",
            hop.to
        ),
        remedy: format!(
            "aws eks describe-addon-versions --addon-name {} --kubernetes-version {}   # and wait for one, or remove the add-on",
            addon.name, hop.to
        ).into(),
    }
}

pub(super) fn nobody_knows(input: &Input<'_>, addon: &Addon, hop: Hop, to: Minor) -> Finding {
    let (what, command) = match &addon.version {
        Some(version) => (
            format!(
                "the compatibility of {version} with {} is unknown",
                if hop.to == to { to.to_string() } else { format!("{} to {to}", hop.to) }
            ),
            format!(
                "aws eks describe-addon-versions --addon-name {} > addon-{}.json   # and pass it: --eks addon-{}.json",
                addon.name, addon.name, addon.name
            ),
        ),
        None => (
            "the running version is unknown".to_owned(),
            match cluster(input) {
                Some(name) => format!(
                    "aws eks describe-addon --cluster-name {name} --addon-name {} > addon.json   # and pass it: --eks addon.json",
                    addon.name
                ),
                None => format!("pass the output of aws eks describe-addon for {} with --eks", addon.name),
            },
        ),
    };
    Finding {
        rule: Rule::AddonUnknown,
        severity: Severity::Warning,
        object: object("Addon", &addon.name),
        reason: what,
        remedy: command.into(),
    }
}

/// A kube-proxy that is updated, beside the oldest kubelets that there are.
pub(super) fn proxy_beside(survey: &Survey, to: Minor) -> Vec<Finding> {
    let nodes = survey.nodes.iter().filter(|nodes| nodes.is_rolled()).min_by_key(|nodes| nodes.oldest);
    let found = nodes.filter(|nodes| {
        to <= survey.control_plane.version && !skew::kube_proxy_beside(to, nodes.oldest).fits()
    });
    found
        .map(|nodes| Finding {
            rule: Rule::KubeProxySkew,
            severity: Severity::Warning,
            object: object("NodeGroup", &nodes.name),
            reason: format!("kube-proxy {to} with kubelets {} exceeds the version skew policy", nodes.oldest),
            remedy: format!(
                "roll them first: replank rehearse SNAPSHOT --roll {} --to-version {to}",
                nodes.name
            )
            .into(),
        })
        .into_iter()
        .collect()
}

/// What nobody gave, and so was not looked at.
pub(super) fn unknown(input: &Input<'_>, survey: &Survey, hops: &[Hop]) -> Vec<String> {
    let mut unknown = Vec::new();
    let mut say = |text: &str| unknown.push(text.to_owned());
    if hops.is_empty() {
        return unknown;
    }
    match input.scanned {
        Scanned::Manifests => {}
        Scanned::ClusterAlone => say("API versions in manifests and charts: pass them with --scan PATH"),
        Scanned::No => say(
            "removed API versions: pass manifests with --scan PATH, or a dump of the cluster with its managed fields",
        ),
    }
    if input.view.nodes.is_empty() {
        say("nodes, add-ons and controllers: pass a snapshot of the cluster");
    }
    for name in &survey.unread {
        say(&format!("node {name}, whose kubelet reports no valid version"));
    }
    if survey.platform == Platform::Other {
        return unknown;
    }
    match &input.facts.cluster {
        None => say("the cluster's status and upgrade policy: aws eks describe-cluster, passed with --eks"),
        Some(cluster) if cluster.subnets.iter().any(|subnet| !input.facts.subnets.contains_key(subnet)) => {
            say(
                "free addresses of the control plane's subnets (EKS needs up to 5): aws ec2 describe-subnets, passed with --eks",
            );
        }
        Some(_) => {}
    }
    if input.facts.insights.is_empty() {
        say("EKS's upgrade insights: aws eks list-insights, passed with --eks");
    }
    let no_arguments = survey
        .nodes
        .iter()
        .filter(|nodes| nodes.is_rolled() && !input.kubelets.contains_key(&nodes.name))
        .count();
    if no_arguments > 0 {
        say(&format!(
            "arguments of the kubelets of {}: pass the user data with --kubelet GROUP=FILE",
            counted(no_arguments, "group")
        ));
    }
    unknown
}
