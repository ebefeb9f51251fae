//! Batch pods that were ended before they were done: what became of their work, and who is alerted.

use crate::document::{EndedPod, Rehearsal};
use crate::markup::Markup;
use crate::page;
use crate::tables::{more, table};

/// Rows of the table.
const ROWS_MAX: usize = 200;

pub(crate) fn write(rehearsal: &Rehearsal, out: &mut Markup) {
    let batch = &rehearsal.batch;
    let by_run = batch.ended_by_run.iter().map(|one| ("the run", one));
    let by_others = batch.ended_by_others.iter().map(|one| ("something else", one));
    let mut all: Vec<(&str, &EndedPod)> = by_run.chain(by_others).collect();
    if all.is_empty() {
        return;
    }
    all.sort_by_key(|(_, one)| !is_failure(one));
    page::section("batch", "Batch work", "pods that were ended before they were done", out);
    let rows: Vec<Vec<String>> = all.iter().take(ROWS_MAX).map(|(by, one)| row(by, one)).collect();
    table(
        "Batch pods ended",
        &["Pod", "Ended by", "Belongs to", "What became of it", "Who is alerted"],
        &rows,
        out,
    );
    more(all.len(), ROWS_MAX, "pod", out);
    page::end_section(out);
}

fn row(by: &str, one: &EndedPod) -> Vec<String> {
    let alerted = match (is_failure(one), one.alerted.as_slice()) {
        (true, []) => "nothing in the snapshot says who is alerted".to_owned(),
        (_, all) => all.join("; "),
    };
    vec![
        one.pod.clone(),
        ended_by(&one.by).unwrap_or(by).to_owned(),
        one.owner.clone(),
        words(&one.outcome).to_owned(),
        alerted,
    ]
}

fn is_failure(one: &EndedPod) -> bool {
    matches!(&*one.outcome, "failed" | "lost")
}

/// Who or what ended a pod; nothing where the document does not say it in a word that is known.
fn ended_by(word: &str) -> Option<&'static str> {
    match word {
        "replank" => Some("the run"),
        "hand" => Some("a person"),
        "eks" => Some("EKS"),
        "eviction" => Some("an eviction by something else"),
        "deletion" => Some("a deletion by something else"),
        "kubelet" => Some("its kubelet"),
        "scheduler" => Some("the scheduler: preempted"),
        "taint" => Some("a taint of its node"),
        "nodeGone" => Some("the loss of its node"),
        _ => None,
    }
}

fn words(outcome: &str) -> &str {
    match outcome {
        "running" => "still running: retried",
        "failed" => "Failed",
        "lost" => "lost: nothing makes the pod again",
        "unknown" => "not known",
        other => other,
    }
}
