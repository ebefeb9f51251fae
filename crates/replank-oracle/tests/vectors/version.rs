//! Versions and API version priority.

use anyhow::Context;
use replank_model::version::{self, Version, VersionError};
use replank_oracle::recordings::{self, Differences};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum Input {
    Parse { input: String },
    Compare { a: String, b: String },
    KubeAware { a: String, b: String },
}

pub(crate) fn check(line: &str) -> anyhow::Result<Differences> {
    let recorded: Value = serde_json::from_str(line)?;
    let mut ours = match serde_json::from_str(line)? {
        Input::Parse { input } => parse(&input),
        Input::Compare { a, b } => compare(&a, &b)?,
        Input::KubeAware { a, b } => {
            json!({"a": a, "b": b, "sign": version::compare_api_versions(&a, &b) as i8})
        }
    };
    for name in ["id", "kind"] {
        ours[name] = recorded[name].clone();
    }
    Ok(recordings::differences(&recorded, &ours))
}

fn parse(input: &str) -> Value {
    let mut ours = json!({"input": input});
    let mut put = |name: &str, result: Result<Value, VersionError>| match result {
        Ok(value) => ours[name] = value,
        Err(error) => ours[format!("{name}Error")] = error.to_string().into(),
    };
    let generic = |version: Version| {
        json!({
            "string": version.to_string(),
            "major": version.major(),
            "minor": version.minor(),
            "patch": version.patch(),
            "components": version.components(),
        })
    };
    let semantic = |version: Version| {
        json!({
            "string": version.to_string(),
            "preRelease": version.pre_release(),
            "build": version.build(),
        })
    };
    put("generic", Version::parse_generic(input).map(generic));
    put("semantic", Version::parse_semantic(input).map(semantic));
    put("majorMinor", Version::parse_major_minor(input).map(|version| version.to_string().into()));
    ours
}

fn compare(a: &str, b: &str) -> anyhow::Result<Value> {
    let read = |text: &str| text.parse::<Version>().with_context(|| format!("reading {text}"));
    let (left, right) = (read(a)?, read(b)?);
    let order = left.compare(&right);
    let mut ours = json!({
        "a": a,
        "b": b,
        "lessThan": order.is_lt(),
        "greaterThan": order.is_gt(),
        "equalTo": order.is_eq(),
        "atLeast": left.is_at_least(&right),
    });
    match left.compare_text(b) {
        Ok(order) => ours["compare"] = (order as i8).into(),
        Err(error) => ours["compareError"] = error.to_string().into(),
    }
    Ok(ours)
}
