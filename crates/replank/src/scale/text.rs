//! What would be added and taken away, for a person.

use std::collections::BTreeMap;

use replank_core::scale::{NotAsked, Refusal, Round, Unneeded};
use replank_facts::workload::workload_of;
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, Zone};
use replank_protocol::scaling::GroupWhy;

use super::Simulated;
use crate::coverage;
use crate::report::words::count;
use crate::report::{Cell, Lean, Look, Page, Tone};

pub(super) fn page(simulated: &Simulated, look: Look) -> String {
    let mut page = Page::new(look);
    up(&mut page, simulated);
    refusals(&mut page, simulated);
    not_asked(&mut page, simulated);
    down(&mut page, simulated);
    groups(&mut page, simulated);
    assumptions(&mut page, simulated);
    page.into_text() + &coverage::section(&simulated.coverage, look)
}

fn up(page: &mut Page, simulated: &Simulated) {
    let up = &simulated.up;
    let nodes: usize = up.rounds.iter().map(|round| round.nodes.len()).sum();
    let stay = up.stay_pending();
    let summary = match (nodes, stay) {
        (0, 0) if up.fits.is_empty() => "no pod is pending".to_owned(),
        (0, 0) => format!("no node is added: {} on existing nodes", fit(up.fits.len())),
        (nodes, 0) => format!("{} would be added", count(nodes, "node")),
        (0, stay) => format!("no group helps: {} pending", count(stay, "pod")),
        (nodes, stay) => {
            format!("{} would be added, {} still pending", count(nodes, "node"), count(stay, "pod"))
        }
    };
    let tone = if stay == 0 { Tone::Good } else { Tone::Warning };
    let summary = page.paint(&summary, tone);
    page.heading("Scale up", &summary);
    page.wrapped(2, &format!("{} at {}; {}", simulated.name, simulated.now, simulated.settings), Tone::Faint);
    for (group, number) in &up.upcoming {
        page.line(&format!("  group {group}: {} already launching", count(*number as usize, "instance")));
    }
    if !up.fits.is_empty() {
        page.line(&format!("  {} on existing or launching nodes", fit(up.fits.len())));
    }
    if up.rounds.is_empty() {
        return;
    }
    page.gap();
    let title = ["GROUP", "NODES", "ZONES", "PODS", "CHOSEN BY"].map(|title| cell(title, Tone::Faint));
    let mut rows = vec![title.to_vec()];
    rows.extend(up.rounds.iter().flat_map(rows_of));
    page.table(&[Lean::Left, Lean::Right, Lean::Left, Lean::Right, Lean::Left], &rows);
}

fn rows_of(round: &Round) -> Vec<Vec<Cell>> {
    let mut by_group: BTreeMap<&GroupName, (BTreeMap<&Zone, usize>, usize)> = BTreeMap::new();
    for node in &round.nodes {
        let (zones, pods) = by_group.entry(&node.group).or_default();
        *zones.entry(&node.zone).or_default() += 1;
        *pods += node.pods.len();
    }
    let decided = match round.choices.len() {
        1 => round.decided.to_string(),
        number => format!("{}, of {}", round.decided, count(number, "group")),
    };
    let rows = by_group.into_iter().map(|(group, (zones, pods))| {
        let nodes: usize = zones.values().sum();
        let zones: Vec<String> = zones.iter().map(|(zone, number)| format!("{zone} +{number}")).collect();
        vec![
            cell(group.as_str(), Tone::Plain),
            cell(format!("+{nodes}"), Tone::Good),
            cell(zones.join(", "), Tone::Plain),
            cell(pods.to_string(), Tone::Plain),
            cell(decided.clone(), Tone::Faint),
        ]
    });
    rows.collect()
}

fn fit(pods: usize) -> String {
    format!("{} {}", count(pods, "pod"), if pods == 1 { "fits" } else { "fit" })
}

/// Who makes a pod, or the pod.
pub(super) fn made_by(simulated: &Simulated, pod: &Key) -> String {
    let pod_object = simulated.view.pods.by_key(pod);
    let workload = pod_object.and_then(|pod| workload_of(&simulated.view, pod));
    workload.map_or_else(|| format!("Pod {pod}"), |workload| workload.to_string())
}

/// Pods that go on waiting, one block for each workload.
fn refusals(page: &mut Page, simulated: &Simulated) {
    for refusal in &simulated.up.refusals {
        let Some(first) = refusal.pods.first() else { continue };
        page.heading(
            &made_by(simulated, first),
            &format!("{} still pending", count(refusal.pods.len(), "pod")),
        );
        for (names, why) in by_reason(refusal) {
            page.labelled(4, "", &format!("{names}: {why}"));
        }
        if refusal.groups.is_empty() {
            page.line("    no group can grow");
        }
    }
}

/// Groups that say the same are one line.
fn by_reason(refusal: &Refusal) -> Vec<(String, String)> {
    let mut reasons: Vec<(&GroupWhy, Vec<&str>)> = Vec::new();
    for (group, why) in &refusal.groups {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(group.as_str()),
            None => reasons.push((why, vec![group.as_str()])),
        }
    }
    reasons.into_iter().map(|(why, names)| (names.join(", "), why.to_string())).collect()
}

fn not_asked(page: &mut Page, simulated: &Simulated) {
    if simulated.up.not_asked.is_empty() {
        return;
    }
    page.heading("No node is added for", &count(simulated.up.not_asked.len(), "pod"));
    for (pod, why) in &simulated.up.not_asked {
        page.labelled(4, "", &format!("{pod}: {}", no_node(why)));
    }
}

pub(super) fn no_node(why: &NotAsked) -> String {
    match why {
        NotAsked::Gated(gates) => {
            let gates: Vec<&str> = gates.iter().map(|gate| &**gate).collect();
            format!("waits for the gate {}", gates.join(", "))
        }
        NotAsked::Expendable { priority, cutoff } => {
            format!("priority {priority} is below --expendable-pods-priority-cutoff={cutoff}")
        }
        NotAsked::TooYoung { from } => format!("counts from {from}"),
        NotAsked::Daemon => "belongs to a DaemonSet on one node".to_owned(),
        NotAsked::Preempts(node) => format!("preempts others on {node}"),
    }
}

/// Nodes that nobody needs, then why the others stay: nodes of which the same is said are one line.
fn down(page: &mut Page, simulated: &Simulated) {
    let down = &simulated.down;
    let going = down.unneeded.iter().filter(|one| one.hold.is_none()).count();
    let summary = match (going, down.unneeded.len()) {
        (0, 0) => "every node is needed".to_owned(),
        (0, all) => format!("{} not needed, none removed now", are(all)),
        (going, all) if going == all => format!("{} would be removed", count(going, "node")),
        (going, all) => format!("{} not needed, {going} would be removed now", are(all)),
    };
    page.heading("Scale down", &summary);
    if !down.unneeded.is_empty() {
        let title = ["NODE", "GROUP", "IN USE", "PODS", "WHEN"].map(|title| cell(title, Tone::Faint));
        let mut rows = vec![title.to_vec()];
        rows.extend(down.unneeded.iter().map(row_of));
        page.table(&[Lean::Left, Lean::Left, Lean::Left, Lean::Right, Lean::Left], &rows);
        page.gap();
    }
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for (node, keep) in &down.kept {
        let words = keep.to_string();
        match reasons.iter_mut().find(|(known, _)| *known == words) {
            Some((_, nodes)) => nodes.push(node.as_str()),
            None => reasons.push((words, vec![node.as_str()])),
        }
    }
    for (words, nodes) in reasons {
        page.labelled(4, "", &format!("{}: {words}", nodes.join(", ")));
    }
}

fn row_of(one: &Unneeded) -> Vec<Cell> {
    let (when, tone) = match &one.hold {
        None => ("now".to_owned(), Tone::Good),
        Some(hold) => (hold.to_string(), Tone::Faint),
    };
    vec![
        cell(one.node.as_str(), Tone::Plain),
        cell(one.group.as_str(), Tone::Plain),
        cell(one.usage.to_string(), Tone::Plain),
        cell(one.moves.len().to_string(), Tone::Plain),
        cell(when, tone),
    ]
}

fn are(nodes: usize) -> String {
    format!("{} {}", count(nodes, "node"), if nodes == 1 { "is" } else { "are" })
}

fn groups(page: &mut Page, simulated: &Simulated) {
    if simulated.groups.left_out.is_empty() {
        return;
    }
    page.heading("Not scaled", &count(simulated.groups.left_out.len(), "group"));
    for (group, why) in &simulated.groups.left_out {
        page.labelled(4, "", &format!("{group}: {why}"));
    }
}

/// What was assumed; groups of which the same was assumed are one line.
fn assumptions(page: &mut Page, simulated: &Simulated) {
    let mut assumed: Vec<(String, Vec<&str>)> = Vec::new();
    for one in &simulated.groups.assumed {
        let words = one.words();
        match assumed.iter_mut().find(|(known, _)| *known == words) {
            Some((_, names)) => names.push(one.group().as_str()),
            None => assumed.push((words, vec![one.group().as_str()])),
        }
    }
    if assumed.is_empty() {
        return;
    }
    page.heading("Assumptions", &assumed.len().to_string());
    for (words, names) in assumed {
        page.labelled(4, "", &format!("{}: {words}", names.join(", ")));
    }
}

fn cell(text: impl Into<String>, tone: Tone) -> Cell {
    (text.into(), tone)
}
