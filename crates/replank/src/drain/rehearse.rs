//! `--rehearse`: the same drain on a copy of the cluster as it is now, in virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_core::drain::{DryRun, OnInterrupt, Request};
use replank_facts::coverage::Question;
use replank_intake::source::Source;
use replank_model::text::NodeName;
use replank_model::time::Span;
use replank_protocol::decision::End;
use replank_rehearse::rehearse_drain;
use replank_sim::{Durations, KubeletModel, Settings};

use super::args::NodesArgs;
use crate::failure::Failure;
use crate::live::{Read, read};
use crate::printer::Printer;
use crate::report::words;
use crate::snapshot::{self, ReadArgs};

/// When each node is drained, by name.
pub(super) type Times = BTreeMap<NodeName, Span>;

/// How long a drain may take in a rehearsal.
const LIMIT: Span = Span::from_minutes(48 * 60);
/// Pods that are named one by one.
const PODS_SHOWN: usize = 5;

/// Rehearses, says what it comes to, and when each node is drained.
///
/// # Errors
/// Where the cluster cannot be read.
pub(super) fn run(args: &NodesArgs, request: &Request, printer: &mut Printer) -> Result<Times, Failure> {
    let Read { name, bytes, .. } = read(&args.live, printer)?;
    let reading =
        ReadArgs { group_label: args.group_label.clone(), allow_incomplete: Vec::new(), strict: false };
    let sources = vec![Source::bytes(name.as_str(), bytes)];
    let snapshot::Cluster { view, now, .. } =
        snapshot::read_at(sources, &reading, None, Question::Migration, printer)?;
    let durations = Arc::new(Durations::learn(&view, now));
    let settings = Settings {
        start: now,
        seed: 1,
        kubelet: KubeletModel::Learnt(durations.clone()),
        cloud: durations.cloud(),
    };
    let mut rehearsed = request.clone();
    rehearsed.options.dry_run = DryRun::None;
    rehearsed.options.on_interrupt = OnInterrupt::Keep;
    let result = rehearse_drain(view, settings, rehearsed, LIMIT);
    let drained = result.nodes.values().filter(|times| times.drained.is_some()).count();
    let all = words::count(request.nodes.len(), "node");
    match &result.end {
        Some(End::Done) => {
            printer.story(&format!("rehearsed: {all} drained in {}", words::span(result.took)));
        }
        Some(End::Blocked(waiting)) => {
            printer.story(&format!("rehearsed: {drained} of {all} drained in {}", words::span(result.took)));
            for one in waiting {
                printer.warning(&one.to_string());
            }
        }
        Some(End::RolledBack(_) | End::Cancelled(_) | End::Refused(_)) | None => {
            printer.story(&format!(
                "rehearsed: {drained} of {all} drained, and no end within {}",
                words::span(LIMIT)
            ));
            for one in result.waiting.iter().take(PODS_SHOWN) {
                printer.warning(&one.to_string());
            }
        }
    }
    if !result.pending.is_empty() {
        let shown: Vec<String> = result.pending.iter().take(PODS_SHOWN).map(ToString::to_string).collect();
        let more = result.pending.len().saturating_sub(PODS_SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        printer.warning(&format!(
            "{} would find no node: {}{more}",
            words::count(result.pending.len(), "pod"),
            shown.join(", ")
        ));
    }
    let times = result.nodes.into_iter().filter_map(|(node, times)| Some((node, times.drained?)));
    Ok(times.collect())
}
