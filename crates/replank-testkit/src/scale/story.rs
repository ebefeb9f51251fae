//! What is decided, in lines that can be compared.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use replank_core::scale::{Down, Groups, Keep, NotAsked, Refusal, Round, Up};
use replank_facts::workload::workload_of;
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, NodeName, Zone};
use replank_model::time::Time;
use replank_model::view::View;

use crate::scenario::PodNames;

/// Groups that are left alone, and tags that are malformed.
pub(super) fn groups(groups: &Groups) -> String {
    let mut text = String::new();
    for bad in &groups.bad_tags {
        writeln!(text, "malformed  {bad}").expect("a string takes everything");
    }
    for (group, why) in &groups.left_out {
        writeln!(text, "left alone  {group}: {why}").expect("a string takes everything");
    }
    text
}

/// What is added, and why not more.
pub(super) fn up(up: &Up, view: &View, names: &PodNames) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (group, count) in &up.upcoming {
        lines.push(format!("  on the way  {group} {count}"));
    }
    for (node, pods) in by_node(&up.fits) {
        lines.push(format!("  fits on {node}  {}", listed(&pods, view, names)));
    }
    for round in &up.rounds {
        lines.extend(added(round, view, names));
    }
    for refusal in &up.refusals {
        lines.extend(refused(refusal, view, names));
    }
    let not_asked = up
        .not_asked
        .iter()
        .map(|(pod, why)| format!("  not asked for  {}: {}", names.pod(pod), not_asked(why)));
    let mut not_asked: Vec<String> = not_asked.collect();
    not_asked.sort();
    lines.extend(not_asked);
    if lines.is_empty() {
        lines.push("  nothing waits".to_owned());
    }
    format!("up\n{}\n", lines.join("\n"))
}

/// What is taken away, and why not more.
pub(super) fn down(down: &Down, names: &PodNames, now: Time) -> String {
    let mut text = String::from("down\n");
    for one in &down.unneeded {
        let moves: Vec<String> =
            one.moves.iter().map(|(pod, to)| format!("{} to {to}", names.pod(pod))).collect();
        let moves = if moves.is_empty() { "empty".to_owned() } else { format!("moves {}", moves.join(", ")) };
        let hold = one.hold.as_ref().map_or("removed".to_owned(), ToString::to_string);
        let since = now - one.since;
        writeln!(text, "  {} ({}; {moves}), not needed for {since}: {hold}", one.node, one.usage)
            .expect("a string takes everything");
    }
    for (node, keep) in &down.kept {
        writeln!(text, "  {node} stays: {}", kept(keep, names)).expect("a string takes everything");
    }
    text
}

fn kept(keep: &Keep, names: &PodNames) -> String {
    match keep {
        Keep::Pod { pod, why } => format!("{} {why}", names.pod(pod)),
        Keep::Awaited { pod } => format!("is reserved for {}", names.pod(pod)),
        Keep::NoPlace { pod, message } => {
            format!("{} would not be schedulable elsewhere: {message}", names.pod(pod))
        }
        Keep::NoGroup
        | Keep::LeftOut(_)
        | Keep::Disabled
        | Keep::Leaving
        | Keep::Starting
        | Keep::Unready
        | Keep::AtMinimum { .. }
        | Keep::AtLimit(_)
        | Keep::Busy { .. }
        | Keep::Rolling
        | Keep::NewerVersion { .. }
        | Keep::Marked { .. }
        | Keep::Receives { .. } => keep.to_string(),
    }
}

fn by_node(fits: &[(Key, NodeName)]) -> BTreeMap<&NodeName, Vec<Key>> {
    let mut nodes: BTreeMap<&NodeName, Vec<Key>> = BTreeMap::new();
    for (pod, node) in fits {
        nodes.entry(node).or_default().push(pod.clone());
    }
    nodes
}

fn added(round: &Round, view: &View, names: &PodNames) -> Vec<String> {
    let mut groups: BTreeMap<&GroupName, (BTreeMap<&Zone, usize>, Vec<Key>)> = BTreeMap::new();
    for node in &round.nodes {
        let (zones, pods) = groups.entry(&node.group).or_default();
        *zones.entry(&node.zone).or_default() += 1;
        pods.extend(node.pods.iter().cloned());
    }
    let mut lines = Vec::new();
    for (group, (zones, pods)) in groups {
        let count: usize = zones.values().sum();
        let zones: Vec<String> = zones.iter().map(|(zone, count)| format!("{zone} {count}")).collect();
        let what =
            if pods.is_empty() { "nothing, it is in the way".to_owned() } else { listed(&pods, view, names) };
        lines.push(format!("  adds {count} to {group} ({})  for {what}", zones.join(", ")));
    }
    if round.choices.len() > 1 {
        let choices = round.choices.iter().map(|choice| {
            let price =
                choice.price.map(|price| format!(", {} an hour", price as f64 / 1e6)).unwrap_or_default();
            let priority =
                choice.priority.map(|priority| format!(", priority {priority}")).unwrap_or_default();
            let waste = choice.waste as f64 / 20_000.0;
            format!(
                "{} ({} for {}, {waste:.0}% idle{price}{priority})",
                choice.group, choice.nodes, choice.pods
            )
        });
        lines.push(format!("    chosen: {}, of {}", round.decided, choices.collect::<Vec<_>>().join(", ")));
    }
    for (node, pods) in by_node(&round.opened) {
        lines.push(format!("    which opens {node} to {}", listed(&pods, view, names)));
    }
    lines
}

fn refused(refusal: &Refusal, view: &View, names: &PodNames) -> Vec<String> {
    let mut lines = vec![format!("  stays pending  {}", listed(&refusal.pods, view, names))];
    lines.extend(refusal.groups.iter().map(|(group, why)| format!("    {group}: {why}")));
    lines
}

fn not_asked(why: &NotAsked) -> String {
    match why {
        NotAsked::Gated(gates) => format!("gated by {}", gates.join(", ")),
        NotAsked::Expendable { priority, cutoff } => format!("priority {priority} is below {cutoff}"),
        NotAsked::TooYoung { from } => format!("counts from {from}"),
        NotAsked::Daemon => "a DaemonSet's".to_owned(),
        NotAsked::Preempts(node) => format!("preempts others on {node}"),
    }
}

/// `shop/web 3, shop/db-0`: pods of one workload are counted.
fn listed(pods: &[Key], view: &View, names: &PodNames) -> String {
    let mut workloads: BTreeMap<String, usize> = BTreeMap::new();
    for key in pods {
        let workload = view.pods.by_key(key).and_then(|pod| workload_of(view, pod));
        let name = workload.map_or_else(|| names.pod(key), |workload| workload.key.to_string());
        *workloads.entry(name).or_default() += 1;
    }
    let each =
        workloads.into_iter().map(|(name, count)| if count == 1 { name } else { format!("{name} ×{count}") });
    each.collect::<Vec<_>>().join(", ")
}
