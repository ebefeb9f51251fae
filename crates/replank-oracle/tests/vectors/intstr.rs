//! `util/intstr`: the share of a total.

use replank_model::int_or_string::{IntOrString, Rounding};
use replank_oracle::recordings::{self, Differences};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    value: IntOrString,
    total: i64,
    round_up: bool,
}

pub(crate) fn check(line: &str) -> anyhow::Result<Differences> {
    let recorded: Value = serde_json::from_str(line)?;
    let Input { value, total, round_up } = serde_json::from_str(line)?;
    let rounding = if round_up { Rounding::Up } else { Rounding::Down };
    let mut ours = json!({"id": recorded["id"], "value": value, "total": total, "roundUp": round_up});
    match value.scaled(total, rounding) {
        Ok(result) => ours["result"] = result.into(),
        Err(error) => ours["error"] = error.to_string().into(),
    }
    Ok(recordings::differences(&recorded, &ours))
}
