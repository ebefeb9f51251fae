//! Pods that terminate before their load balancer has deregistered them.
//!
//! `core::shutdown` has the formula and its sources. Of a process that is no Istio proxy nobody knows how long it takes after SIGTERM; that
//! it accepts nothing new from there on is what servers do that end in peace, and those that end at once.

use std::collections::BTreeSet;

use replank_model::object::workload::StatefulSet;
use replank_model::time::Span;
use serde_json::{Value, json};

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods};
use super::super::survey::{Subject, Survey};
use replank_facts::remedy::{Edit, Remedy, Target, TargetKind};
use replank_facts::shutdown::{Leave, Path, Serving, Timing, has_untold_hook, paths_of, proxy_of, timing};
use replank_facts::workload::Workload;

/// Where a pod keeps settings of its proxy.
pub(super) const CONFIG: &str = "proxy.istio.io/config";
/// The API server's default grace: what a process gets that had none left after its hook.
const DEFAULT_GRACE: Span = Span::from_secs(30);

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let found =
        survey.services().filter_map(|(workload, subject, count)| of(survey, workload, subject, count));
    found.collect()
}

/// The ways that lead through a load balancer.
pub(super) fn behind_balancer(paths: &BTreeSet<Path>) -> impl Iterator<Item = Path> {
    paths.iter().copied().filter(|path| *path != Path::Proxy)
}

/// What is wrong on one way, the graver last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    /// What takes longer is cut, though somebody has said how long the load balancer is to wait.
    Cut { beyond: Span },
    /// The hook outlasts the grace.
    HookCut,
    /// Connections come and nobody accepts them.
    Refused { span: Span },
}

fn of(survey: &Survey<'_>, workload: &Workload, subject: &Subject, count: usize) -> Option<Finding> {
    let pod = &subject.pod;
    let is_native = proxy_of(pod)
        .is_some_and(|proxy| pod.spec.init_containers.iter().any(|container| container.name == proxy.name));
    // A native sidecar outlives what it serves, of which nothing is known.
    if is_native || has_untold_hook(pod) {
        return None;
    }
    let leave = Leave::of(survey.view, pod, Span::ZERO);
    let paths = paths_of(survey.view, pod);
    let gaps =
        behind_balancer(&paths).filter_map(|path| Some((gap(&leave, path, proxy_of(pod).is_some())?, path)));
    // Within the cluster, connections stop in no time; a process that is killed for its hook is killed there, too.
    let killed = paths.contains(&Path::Proxy) && is_hook_cut(&leave);
    let (gap, path) = gaps.max().or(killed.then_some((Gap::HookCut, Path::Proxy)))?;
    Some(Finding {
        rule: Rule::ShutdownTiming,
        severity: severity(gap, path),
        object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
        reason: format!("{} behind {}: {}", pods(count), path.as_str(), reason(gap, &leave, path)),
        remedy: remedy(survey, workload, subject, &leave, path),
    })
}

fn gap(leave: &Leave, path: Path, has_proxy: bool) -> Option<Gap> {
    let found = timing(leave, path, Span::ZERO);
    let refused = found.routed_until - found.accepts_until;
    if refused > Span::ZERO {
        return Some(Gap::Refused { span: refused });
    }
    if is_hook_cut(leave) {
        return Some(Gap::HookCut);
    }
    // What the proxy does not wait for is said by `proxy-drain`.
    let stated = stated(path).filter(|_| !has_proxy)?;
    let beyond = at_best(leave, path).safe_length();
    (beyond < stated).then_some(Gap::Cut { beyond })
}

/// Whether the hook leaves nothing of the grace.
fn is_hook_cut(leave: &Leave) -> bool {
    leave.pre_stop >= leave.grace && leave.pre_stop > Span::ZERO
}

/// The delay of a load balancer to pods that is not its default: somebody's word on how long requests may take.
fn stated(path: Path) -> Option<Span> {
    path.delay().filter(|delay| *delay != Path::DELAY)
}

/// If the process uses all the grace that its hook leaves.
fn at_best(leave: &Leave, path: Path) -> Timing {
    let patient = Leave { serving: Serving::For(leave.grace - leave.pre_stop), ..*leave };
    // What the load balancer cuts at its delay is none of the pod's fault.
    Timing { cut_at: None, ..timing(&patient, path, Span::ZERO) }
}

fn severity(gap: Gap, path: Path) -> Severity {
    match (gap, path) {
        // A few seconds, as within the cluster.
        (Gap::Refused { .. }, Path::Nodes { .. }) | (Gap::Cut { .. }, _) => Severity::Info,
        (Gap::Refused { .. } | Gap::HookCut, _) => Severity::Warning,
    }
}

fn reason(gap: Gap, leave: &Leave, path: Path) -> String {
    let (hook, grace) = (leave.pre_stop, leave.grace);
    let given = format!("preStop {hook}, grace {grace}");
    match gap {
        Gap::Refused { span } => {
            let found = timing(leave, path, Span::ZERO);
            let waits = path.delay().filter(|delay| *delay > grace).map_or_else(String::new, |delay| {
                format!("; the load balancer waits {delay} for open connections, the pod at most {grace}")
            });
            format!(
                "new connections arrive for up to {} after a pod's deletion, but none is accepted after {} ({given}): they are refused for up to {span}{waits}",
                found.routed_until, found.accepts_until
            )
        }
        Gap::HookCut => {
            format!(
                "the preStop hook takes the whole grace period ({given}): the process gets 2s to stop and is then killed"
            )
        }
        Gap::Cut { beyond } => format!(
            "the load balancer waits {} for open connections and sends new ones for up to {}; late connections that take longer than {beyond} are cut ({given})",
            stated(path).unwrap_or_default(),
            path.routed_until()
        ),
    }
}

fn remedy(survey: &Survey<'_>, workload: &Workload, subject: &Subject, leave: &Leave, path: Path) -> Remedy {
    let hook = leave.pre_stop.max(path.routed_until());
    let left = leave.grace - leave.pre_stop;
    let left = if left > Span::ZERO { left } else { DEFAULT_GRACE };
    let grace = hook + left.max(stated(path).unwrap_or_default());
    let whole = |span: Span| span.as_millis().div_euclid(1000);
    let own = own_containers(survey, workload, subject);
    let sleeps = own.iter().map(
        |name| json!({"name": name, "lifecycle": {"preStop": {"exec": null, "sleep": {"seconds": whole(hook)}}}}),
    );
    let mut template = json!({"spec": {"terminationGracePeriodSeconds": whole(grace), "containers": sleeps.collect::<Vec<_>>()}});
    let mut more = String::new();
    if proxy_of(&subject.pod).is_some_and(|proxy| !own.iter().any(|name| **name == *proxy.name)) {
        // An injected proxy has no hook in the template: it has to drain for as long.
        let (accepts, serves) = (whole(hook), whole(grace) - 5);
        let text = match leave.serving {
            Serving::For(_) => {
                json!({"drainDuration": format!("{accepts}s"), "terminationDrainDuration": format!("{serves}s")})
            }
            Serving::UntilIdle { .. } => json!({"drainDuration": format!("{accepts}s"),
                "proxyMetadata": {"EXIT_ON_ZERO_ACTIVE_CONNECTIONS": "true", "MINIMUM_DRAIN_DURATION": format!("{accepts}s")}}),
        };
        let text = text.to_string();
        match subject.pod.meta.annotations.value(CONFIG) {
            None => template["metadata"] = json!({"annotations": {CONFIG: text}}),
            Some(_) => more = format!("; and add {text} to the annotation {CONFIG}"),
        }
    }
    patch(workload, &template).note(format!("preStop sleep: Kubernetes 1.30{more}"))
}

/// Containers of a pod that stand in its workload's template: others were injected.
fn own_containers(survey: &Survey<'_>, workload: &Workload, subject: &Subject) -> Vec<String> {
    let template = match &*workload.kind {
        "Deployment" => {
            survey.view.deployments.by_key(&workload.key).map(|found| found.spec.template.spec.clone())
        }
        "StatefulSet" => {
            survey.view.find::<StatefulSet>(&workload.key).map(|found| found.spec.template.spec.clone())
        }
        _ => None,
    };
    let template = template.filter(|spec| !spec.containers.is_empty());
    let spec = template.unwrap_or_else(|| subject.pod.spec.clone());
    spec.containers.iter().map(|container| container.name.to_string()).collect()
}

/// A change of a workload's pods, to be pasted where `kubectl patch` merges containers by name, to be made by hand elsewhere.
pub(super) fn patch(workload: &Workload, template: &Value) -> Remedy {
    let patch = json!({"spec": {"template": template}});
    match Target::workload(workload) {
        Some(of) if matches!(of.kind, TargetKind::Deployment | TargetKind::StatefulSet) => {
            Remedy::edit(Edit::Merge { of, patch })
        }
        Some(_) | None => format!("in {workload}: {patch}").into(),
    }
}

#[cfg(test)]
mod tests;
