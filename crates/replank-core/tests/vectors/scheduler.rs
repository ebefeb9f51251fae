//! One recorded scheduling cycle, every field of it.

use anyhow::Context;
use replank_model::admission::admit_pod;
use replank_model::time::Time;
use replank_testkit::recordings::{Differences, differences};
use serde_json::Value;

pub(crate) fn check(line: &str) -> anyhow::Result<Differences> {
    let case: Value = serde_json::from_str(line)?;
    let mut found = admission(&case)?;
    found.sort();
    Ok(found)
}

/// The step from the submitted pod to the stored one.
fn admission(case: &Value) -> anyhow::Result<Differences> {
    let mut pod = case.get("podSubmitted").context("a case has podSubmitted")?.clone();
    admit_pod(&mut pod, Time::from_millis(0));
    Ok(deep_differences("pod", &case["pod"], &pod))
}

fn deep_differences(path: &str, recorded: &Value, ours: &Value) -> Differences {
    match (recorded, ours) {
        (Value::Object(theirs), Value::Object(mine)) => theirs
            .keys()
            .chain(mine.keys().filter(|key| !theirs.contains_key(*key)))
            .flat_map(|key| deep_differences(&format!("{path}.{key}"), &recorded[key], &ours[key]))
            .collect(),
        (theirs, mine) if theirs == mine => Differences::new(),
        (theirs, mine) => {
            differences(&serde_json::json!({ path: theirs }), &serde_json::json!({ path: mine }))
        }
    }
}
