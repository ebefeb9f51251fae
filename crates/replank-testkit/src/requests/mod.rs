//! Recorded requests about disruption budgets: each scenario is played to a simulated control plane of its own, and every
//! answer is compared with the recorded one.
//!
//! A recording is a file of records with `op`: `meta` opens a scenario, `http` is a request with its answer, `setpods`
//! plays the kubelet once, `age` and `sleep` let time pass. Answers are compared whole, after what differs from run to
//! run by its nature (uids, times, versions, generated names) has been replaced; an answer that is a Table is compared
//! by its cells.

mod normal;
mod play;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use crate::dynamics::report::RequestTally;
use play::Player;

/// Scenarios that are shown, and differences of each.
const SHOWN_FAILURES: usize = 5;
const SHOWN_DIFFERENCES: usize = 6;

/// What opens a scenario.
#[derive(Clone, Debug, Deserialize)]
struct Meta {
    scenario: String,
    group: String,
    ns: String,
}

/// One step of a scenario.
#[derive(Clone, Debug, Deserialize)]
struct Step {
    seq: u64,
    op: String,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    request: Value,
    #[serde(default)]
    response: Value,
    /// JSON-pointer globs of what is not compared.
    #[serde(default)]
    ignore: Vec<String>,
    #[serde(default)]
    compare: Compare,
    /// Variables, and where in the answer their values are.
    #[serde(default)]
    save: BTreeMap<String, String>,
    /// How often a request is made at most, and after which codes again.
    retry: Option<u32>,
    #[serde(default)]
    retry_on: Vec<u16>,
    /// Codes that a request of setup may be refused with.
    #[serde(default)]
    ok: Vec<u16>,
    timeout_s: Option<f64>,
    seconds: Option<f64>,
    /// What `setpods` is to do.
    #[serde(default)]
    ns: String,
    #[serde(default)]
    selector: String,
    #[serde(default)]
    count: usize,
    #[serde(default)]
    ready: usize,
    #[serde(default)]
    unready: usize,
    phase: Option<String>,
    prefix: Option<String>,
    #[serde(default)]
    only_new: bool,
    /// How the answer is made comparable: `sort` names a list.
    #[serde(default)]
    norm: Value,
}

/// What a step is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// The answer is compared.
    #[default]
    Exact,
    /// The request is made until the answer is as recorded, or time is up.
    Eventually,
    /// The request must succeed.
    Setup,
    /// Leaves nothing behind. Here the whole world goes.
    Cleanup,
}

/// How much of an answer is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Compare {
    /// All of it.
    #[default]
    Full,
    /// Code and reason.
    Reason,
    /// The code.
    Status,
}

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
