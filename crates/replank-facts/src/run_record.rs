//! Between a plan and the record of its run ([`replank_protocol::record`]): what is written of it, and what is made of it again.

use replank_model::selector::LabelSelector;
use replank_model::text::{GroupName, RunId, Text};
use replank_protocol::intent::Intent;
use replank_protocol::record::RunRecord;
use serde_json::{Value, json};

use crate::groups::GroupBy;
use crate::plan::{Plan, RunOptions, selector_json};

/// What a record tells a process that knows nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The run.
    pub run: RunId,
    /// Its plan.
    pub plan: Plan,
    /// What it was told besides.
    pub options: RunOptions,
    /// What is wanted of it.
    pub intent: Intent,
}

/// Why a record that can be read tells nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToldError {
    /// How groups are told was changed by hand.
    #[error("groupBy cannot be read")]
    GroupBy,
    /// Its plan is not valid.
    #[error("its plan is not valid: {why}")]
    Plan {
        /// What is wrong with it.
        why: String,
    },
}

/// Reads what a record tells.
///
/// # Errors
/// Where its plan, or how groups are told, was changed into something that cannot be read.
pub fn told(record: &RunRecord) -> Result<Told, ToldError> {
    let group_by = read_group_by(&record.group_by).ok_or(ToldError::GroupBy)?;
    Ok(Told {
        run: record.run.clone(),
        plan: Plan::read(&record.plan).map_err(|errors| ToldError::Plan { why: errors.to_string() })?,
        options: RunOptions { started: record.begin, group_by },
        intent: record.intent,
    })
}

/// How groups are told, as it is written.
#[must_use]
pub fn group_by_json(by: &GroupBy) -> Value {
    match by {
        GroupBy::Label(label) => json!({"label": &**label}),
        GroupBy::Selector(name, selector) => {
            json!({"group": name.as_str(), "selector": selector_json(selector)})
        }
    }
}

fn read_group_by(value: &Value) -> Option<GroupBy> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    match (text("label"), text("group")) {
        (Some(label), None) => Some(GroupBy::Label(Text::from(label))),
        (None, Some(group)) => {
            let selector: LabelSelector = serde_json::from_value(value.get("selector")?.clone()).ok()?;
            Some(GroupBy::Selector(GroupName::from(group), selector.compile().ok()?))
        }
        (_, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use replank_model::time::Time;

    use super::*;
    use crate::plan::Target;

    fn record(by: &GroupBy) -> RunRecord {
        RunRecord {
            run: "r".into(),
            plan: Plan::of_groups("web", vec!["web".into()], Target::default()).to_json(),
            begin: Time::from_millis(5_000),
            expires: Time::from_millis(9_000),
            group_by: group_by_json(by),
            intent: Intent::Undo,
            groups: BTreeMap::new(),
        }
    }

    #[test]
    fn a_record_tells_all_that_a_run_was_told() {
        let chosen = "tier in (a,b),!old,app=web".parse().expect("a selector");
        for by in [GroupBy::default(), GroupBy::Selector("chosen".into(), chosen)] {
            let told = told(&record(&by)).expect("it can be read");
            assert_eq!(told.options, RunOptions { started: Time::from_millis(5_000), group_by: by });
            assert_eq!((told.run.as_str(), told.plan.name.as_ref(), told.intent), ("r", "web", Intent::Undo));
        }
    }

    #[test]
    fn what_was_changed_by_hand_is_named() {
        let mut plan = record(&GroupBy::default());
        plan.plan["spec"]["budget"] = json!({"surge": "many"});
        let Err(ToldError::Plan { why }) = told(&plan) else { panic!("the plan is not valid") };
        assert!(why.contains("surge"), "{why}");
        for by in [json!({}), json!({"label": "a", "group": "b"}), json!({"group": "b"}), json!("label")] {
            let record = RunRecord { group_by: by, ..record(&GroupBy::default()) };
            assert_eq!(told(&record), Err(ToldError::GroupBy));
        }
    }
}
