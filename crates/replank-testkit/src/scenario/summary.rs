//! Before and after the story: pods and nodes, findings, the outcome.

use std::fmt::Write as _;

use replank_advice::check::Finding;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_rehearse::{Ending, RehearsalResult, Stop};
use replank_sim::Sent;

use super::names::Names;
use super::story::{marks, size, template};

/// Waits that are summed up: the longest.
const WAITS_MAX: usize = 6;

/// Which pods are on which node, those of DaemonSets aside.
pub(super) fn places(title: &str, view: &View, names: &Names) -> String {
    let mut text = format!("{title}\n");
    let mut rows: Vec<(String, String)> = view
        .nodes
        .sorted()
        .iter()
        .map(|(_, node)| {
            let pods = view.sorted_pods_on(&node.name());
            let moving = pods.iter().filter(|pod| {
                let is_daemon = pod.meta.controller().is_some_and(|owner| &*owner.kind == "DaemonSet");
                !is_daemon && !pod.is_terminal()
            });
            let mut moving: Vec<String> = moving.map(|pod| names.pod(&pod.meta.key())).collect();
            moving.sort();
            let zone = node.zone().map(ToString::to_string).unwrap_or_default();
            (format!("{} ({zone})", names.node(&node.name())), moving.join(" "))
        })
        .collect();
    rows.sort();
    let loose = view.pods.sorted();
    let loose = loose.iter().filter(|(_, pod)| pod.node.is_none() && pod.is_active());
    let mut loose: Vec<String> = loose.map(|(_, pod)| names.pod(&pod.meta.key())).collect();
    loose.sort();
    if !loose.is_empty() {
        rows.push(("nowhere".to_owned(), loose.join(" ")));
    }
    for (place, pods) in rows {
        line(&mut text, format_args!("  {place:12} {}", if pods.is_empty() { "-" } else { &pods }));
    }
    text
}

pub(super) fn findings(findings: &[Finding], is_whole: bool, names: &Names) -> String {
    if findings.is_empty() {
        return "no findings\n".to_owned();
    }
    let mut text = "findings\n".to_owned();
    for finding in findings {
        let object = names.readable(&finding.object.to_string());
        line(&mut text, format_args!("  {} {}: {object}", finding.severity.as_str(), finding.rule.id()));
        if is_whole {
            line(&mut text, format_args!("      {}", names.readable(&finding.reason)));
            for remedy in finding.remedy.text().lines() {
                line(&mut text, format_args!("      > {}", names.readable(remedy)));
            }
        }
    }
    text
}

/// The outcome in figures.
pub(super) fn result(result: &RehearsalResult, stop: Stop, names: &Names) -> String {
    let mut text = String::new();
    let how = match stop {
        Stop::Ended => "ends",
        Stop::TimeUp => "reaches its time limit",
        Stop::Silence => "stalls",
        Stop::RanAway => "runs away",
        Stop::Interrupted => "is interrupted",
    };
    let verdict = result.verdict.as_str();
    let back = if result.ending == Ending::RolledBack { ", rolled back" } else { "" };
    line(&mut text, format_args!("{how} after {}: {verdict}{back}", result.virtual_duration));
    for blocker in &result.blockers {
        let what = names.readable(&blocker.what);
        line(&mut text, format_args!("  {what}: {}", names.readable(&blocker.reason)));
    }
    for cause in result.causes.iter().filter(|cause| cause.kind == "held") {
        let nodes: Vec<String> = cause.nodes.iter().map(|name| names.readable(name)).collect();
        let reason = names.readable(&cause.reason);
        line(
            &mut text,
            format_args!("  {} kept by {}: {reason}", nodes.join(", "), names.readable(&cause.object)),
        );
    }
    if let Some(back) = &result.rollback {
        let (kept, renewed) = (back.kept, back.renewed);
        let (other, missing) = (back.other.len(), back.missing.values().sum::<usize>());
        line(
            &mut text,
            format_args!(
                "  as before: {kept} nodes kept, {renewed} made anew, {other} others, {missing} missing"
            ),
        );
    }
    for stage in &result.stages {
        let name = stage.wave.map_or_else(|| "canary".to_owned(), |wave| format!("wave {wave}"));
        let of = if stage.workloads.is_empty() {
            "nothing of note".to_owned()
        } else {
            stage.workloads.join(", ")
        };
        line(
            &mut text,
            format_args!("  {name} of group {}: {} pods ran on new nodes: {of}", stage.group, stage.pods),
        );
    }
    let (nodes, pods) = (&result.nodes, &result.pods);
    let surge = nodes.surge_max;
    line(
        &mut text,
        format_args!("  nodes: {} of {} replaced, surge at most {surge}", nodes.replaced, nodes.total),
    );
    line(
        &mut text,
        format_args!(
            "  pods: {} moved, {} more than once, {} evictions refused, at most {} unschedulable",
            pods.moved, pods.moved_more_than_once, pods.evictions_refused, pods.unschedulable_max
        ),
    );
    for finding in
        result.findings.iter().filter(|_| pods.preempted > 0).filter(|finding| finding.id == "preempts")
    {
        let reason = names.readable(&finding.reason);
        line(&mut text, format_args!("  preempted: {}; {} {reason}", pods.preempted, finding.object));
    }
    if result.batch.waited + result.batch.killed > 0 {
        let batch = &result.batch;
        line(
            &mut text,
            format_args!("  batch: {} waited for, {} terminated early", batch.waited, batch.killed),
        );
    }
    for budget in &result.budgets {
        let involuntary = match budget.undercut_by_interruptions {
            0 => String::new(),
            number => format!(", {number} by interruptions"),
        };
        line(
            &mut text,
            format_args!(
                "  budget {}/{}: {} must stay healthy, at least {} were, {} violations{involuntary}",
                budget.namespace, budget.name, budget.desired_healthy, budget.min_healthy, budget.violations
            ),
        );
    }
    for workload in &result.workloads {
        line(
            &mut text,
            format_args!(
                "  {} {}/{}: {} wanted, at least {} ready",
                workload.kind, workload.namespace, workload.name, workload.desired, workload.min_ready
            ),
        );
    }
    text
}

/// When the engine last did something.
pub(super) fn watched(span: Span, commands: &[Sent], start: Time) -> String {
    let last = commands.iter().filter_map(|sent| sent.result.as_ref()).map(|(at, _)| *at).max();
    match last {
        Some(last) => format!("watched for {span}: settled after {}\n", last.floor_seconds() - start),
        None => format!("watched for {span}: no action\n"),
    }
}

/// What was waited for the longest.
pub(super) fn waits(result: &RehearsalResult, names: &Names) -> String {
    let told = result.waits.iter().filter(|wait| wait.kind != "effect");
    let mut text = "waited\n".to_owned();
    for wait in told.take(WAITS_MAX) {
        let (what, reason) = (names.readable(&wait.what), names.readable(&wait.reason));
        line(&mut text, format_args!("  {:>8}  {what}: {reason}", wait.waited.to_string()));
    }
    text
}

/// Groups and nodes as they are left behind.
pub(super) fn left(before: &View, after: &View, names: &Names) -> String {
    let mut text = "left\n".to_owned();
    for (name, group) in after.groups() {
        let was = before.groups().get(name);
        let same = if was.map(|was| was.size) == Some(group.size) { "as before" } else { "not as before" };
        let made_from = if was.map(|was| &was.current) == Some(&group.current) {
            String::new()
        } else {
            let word = group.follows.map(|word| format!(", version {word}")).unwrap_or_default();
            format!(", launches {}{word}", template(group.template()))
        };
        let mut tags: Vec<String> = group.tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
        tags.sort();
        let tags = if tags.is_empty() { String::new() } else { format!(", tags {}", tags.join(" ")) };
        let row = format!("  group {name}: {}, {same}{made_from}{tags}", size(group.size));
        line(&mut text, format_args!("{}", names.readable(&row)));
    }
    let nodes = after.nodes.sorted();
    let marked = nodes.iter().filter_map(|(_, node)| Some((names.node(&node.name()), marks(node)?)));
    let mut marked: Vec<(String, String)> = marked.collect();
    marked.sort();
    for (node, how) in marked {
        line(&mut text, format_args!("  node {node}: {how}"));
    }
    text
}

fn line(text: &mut String, words: std::fmt::Arguments<'_>) {
    writeln!(text, "{words}").expect("a string takes all");
}
