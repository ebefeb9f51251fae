//! Label and field selectors.

use std::collections::BTreeMap;

use anyhow::Context;
use replank_model::selector::{FieldSelector, LabelSelector, Selector};
use replank_oracle::recordings::{self, Differences};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Input {
    String { input: String },
    Object { selector: Option<LabelSelector> },
    Field { input: String },
}

type Texts = BTreeMap<String, String>;

/// What was matched against; the answer stands beside it.
#[derive(Deserialize)]
struct Matched {
    #[serde(default)]
    matches: Vec<Match>,
}

#[derive(Deserialize)]
struct Match {
    labels: Option<Texts>,
    fields: Option<Texts>,
}

pub(crate) fn check(line: &str) -> anyhow::Result<Differences> {
    let recorded: Value = serde_json::from_str(line)?;
    let matched: Matched = serde_json::from_str(line)?;
    let mut ours = match serde_json::from_str(line)? {
        Input::String { input } => string(&input, &matched)?,
        // As it came, not as it was read: what an unknown field would be is not asked here.
        Input::Object { selector } => object(selector.as_ref(), &recorded["selector"], &matched)?,
        Input::Field { input } => field(&input, &matched)?,
    };
    for name in ["id", "kind"] {
        ours[name] = recorded[name].clone();
    }
    Ok(recordings::differences(&recorded, &ours))
}

fn label_matches(selector: &Selector, matched: &Matched) -> anyhow::Result<Value> {
    let one = |one: &Match| {
        let labels = one.labels.as_ref().context("a match of labels")?;
        let matches = selector.matches(|key| labels.get(key).map(String::as_str));
        Ok(json!({"labels": labels, "matches": matches}))
    };
    matched.matches.iter().map(one).collect::<anyhow::Result<Vec<Value>>>().map(Value::Array)
}

fn string(input: &str, matched: &Matched) -> anyhow::Result<Value> {
    let selector: Selector = match input.parse() {
        Ok(selector) => selector,
        Err(error) => {
            let error: replank_model::selector::parse::SelectorError = error;
            return Ok(json!({"input": input, "valid": false, "error": error.to_string()}));
        }
    };
    let requirements: Vec<Value> = selector
        .requirements()
        .iter()
        .map(|one| json!({"key": one.key(), "operator": one.operator().name(), "values": one.values()}))
        .collect();
    let canonical = selector.to_string();
    anyhow::ensure!(canonical.parse().as_ref() == Ok(&selector), "{canonical} reads back as something else");
    Ok(json!({
        "input": input,
        "valid": true,
        "canonical": canonical,
        "empty": selector.is_empty(),
        "requirements": requirements,
        "matches": label_matches(&selector, matched)?,
    }))
}

fn object(selector: Option<&LabelSelector>, as_recorded: &Value, matched: &Matched) -> anyhow::Result<Value> {
    let errors = selector.map(|selector| selector.validate("spec.selector")).unwrap_or_default();
    let errors: Vec<Value> = errors
        .iter()
        .map(|error| json!({"field": error.path, "type": error.problem.reason(), "message": error.to_string()}))
        .collect();
    let mut ours = json!({
        "selector": as_recorded,
        "formatted": LabelSelector::formatted(selector),
        "validationErrors": errors,
    });
    match LabelSelector::compile_option(selector) {
        Ok(compiled) => {
            ours["valid"] = true.into();
            ours["canonical"] = compiled.to_string().into();
            ours["empty"] = compiled.is_empty().into();
            ours["matches"] = label_matches(&compiled, matched)?;
        }
        Err(error) => {
            ours["valid"] = false.into();
            ours["error"] = error.to_string().into();
        }
    }
    Ok(ours)
}

fn field(input: &str, matched: &Matched) -> anyhow::Result<Value> {
    let selector: FieldSelector = match input.parse() {
        Ok(selector) => selector,
        Err(error) => {
            let error: replank_model::selector::field::FieldSelectorError = error;
            return Ok(json!({"input": input, "valid": false, "error": error.to_string()}));
        }
    };
    let requirements: Vec<Value> = selector
        .terms()
        .iter()
        .map(|term| json!({"field": term.field, "operator": term.operator.name(), "value": term.value}))
        .collect();
    let one = |one: &Match| {
        let fields = one.fields.as_ref().context("a match of fields")?;
        let matches = selector.matches(|name| fields.get(name).map(String::as_str));
        Ok(json!({"fields": fields, "matches": matches}))
    };
    Ok(json!({
        "input": input,
        "valid": true,
        "canonical": selector.to_string(),
        "requirements": requirements,
        "matches": matched.matches.iter().map(one).collect::<anyhow::Result<Vec<Value>>>()?,
    }))
}
