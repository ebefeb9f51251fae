//! What was left, for a program.

use replank_facts::coverage::Coverage;
use replank_facts::leftover::{Leftover, State};
use replank_model::text::{RunId, Text};
use replank_model::time::Time;
use serde::Serialize;

use super::Found;
use crate::failure::Failure;

/// The version of the form.
const VERSION: &str = "replank.dev/leftover/v1alpha1";

/// What `-o json` prints; docs/leftover.md describes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Form<'a> {
    version: &'static str,
    snapshot: &'a str,
    moment: Time,
    groups_read: bool,
    coverage: &'a Coverage,
    leftovers: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    object: String,
    what: &'a str,
    keys: &'a [Text],
    run: Option<&'a RunId>,
    since: Option<Time>,
    state: &'static str,
    expires: Option<Time>,
    clear: &'a [String],
    stays: Option<&'a str>,
}

fn entry(one: &Leftover) -> Entry<'_> {
    Entry {
        object: super::object(one),
        what: &one.what,
        keys: &one.keys,
        run: one.run.as_ref(),
        since: one.since,
        state: one.state.as_str(),
        expires: match one.state {
            State::Running { until } => Some(until),
            State::Expired { at } => at,
            State::Unreadable | State::Newer { .. } => None,
        },
        clear: &one.lines,
        stays: one.stays.as_deref(),
    }
}

pub(super) fn json(found: &Found) -> Result<String, Failure> {
    let form = Form {
        version: VERSION,
        snapshot: &found.name,
        moment: found.now,
        groups_read: found.with_groups,
        coverage: &found.coverage,
        leftovers: found.left.iter().map(entry).collect(),
    };
    let text = serde_json::to_string_pretty(&form).map_err(Failure::internal)?;
    Ok(text + "\n")
}
