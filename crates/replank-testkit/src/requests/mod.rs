//! Recorded requests about disruption budgets: each scenario is played to a simulated control plane of its own, and every
//! answer is compared with the recorded one.
//!
//! A recording is a file of records with `op`: `meta` opens a scenario, `http` is a request with its answer, `setpods`
//! plays the kubelet once, `age` and `sleep` let time pass. Answers are compared whole, after what differs from run to
//! run by its nature (uids, times, versions, generated names) has been replaced; an answer that is a Table is compared
//! by its cells.

mod normal;
mod play;
mod step;
mod table;

use std::collections::BTreeSet;

use anyhow::Context;
use serde_json::Value;

use crate::dynamics::report::RequestTally;
use play::Player;

use step::{Compare, Meta, Mode, Step};

/// Scenarios that are shown, and differences of each.
const SHOWN_FAILURES: usize = 5;
const SHOWN_DIFFERENCES: usize = 6;

/// Plays the scenarios about disruption budgets, or only one. The groups of those about other things are named.
#[must_use]
pub fn run(records: &[Value], only: Option<&str>) -> RequestTally {
    let mut tally = RequestTally::default();
    let mut left_out = BTreeSet::new();
    for (meta, steps) in scenarios(records, &mut tally) {
        if !meta.group.starts_with("pdb") {
            left_out.insert(meta.group);
            continue;
        }
        if only.is_some_and(|only| meta.scenario != only) {
            continue;
        }
        tally.scenarios += 1;
        let differences = Player::new(&meta).play(&steps);
        tally.answers += differences.compared;
        tally.equal += differences.compared - differences.lines.len().min(differences.compared);
        if differences.lines.is_empty() {
            tally.passed += 1;
        } else if tally.shown.len() < SHOWN_FAILURES {
            let mut lines = differences.lines;
            if lines.len() > SHOWN_DIFFERENCES {
                let more = lines.len() - SHOWN_DIFFERENCES;
                lines.truncate(SHOWN_DIFFERENCES);
                lines.push(format!("… {more} more"));
            }
            tally.shown.push((meta.scenario, lines));
        }
    }
    if !left_out.is_empty() {
        println!(
            "not about disruption budgets, not played: {}",
            left_out.into_iter().collect::<Vec<_>>().join(", ")
        );
    }
    tally
}

/// Records by scenario, in order. One that cannot be read fails.
fn scenarios(records: &[Value], tally: &mut RequestTally) -> Vec<(Meta, Vec<Step>)> {
    let mut all: Vec<(Meta, Vec<Step>)> = Vec::new();
    for record in records {
        match read(record, &mut all) {
            Ok(()) => {}
            Err(error) => {
                tally.scenarios += 1;
                tally.shown.push(("(a record)".to_owned(), vec![format!("cannot be read: {error:#}")]));
            }
        }
    }
    all
}

fn read(record: &Value, all: &mut Vec<(Meta, Vec<Step>)>) -> anyhow::Result<()> {
    if record["op"] == "meta" {
        let meta = serde_json::from_value(record.clone()).context("what opens a scenario")?;
        all.push((meta, Vec::new()));
        return Ok(());
    }
    let scenario = record["scenario"].as_str().context("a step without scenario")?;
    let (_, steps) = all
        .iter_mut()
        .rev()
        .find(|(meta, _)| meta.scenario == scenario)
        .context("a step of a scenario that was not opened")?;
    steps.push(serde_json::from_value(record.clone()).with_context(|| format!("a step of {scenario}"))?);
    Ok(())
}
