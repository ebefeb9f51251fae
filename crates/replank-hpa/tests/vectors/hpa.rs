//! A recorded sequence of syncs of the horizontal pod autoscaler, everything that it wrote and remembered.

use anyhow::{Context, bail};
use replank_hpa::{
    self, Config, Down, Given, Memory, Metrics, Outcome, Recommendation, Rival, Scale, ScaleError, ScaleEvent,
};
use replank_model::object::Object;
use replank_model::object::autoscaling::{HorizontalPodAutoscaler, HorizontalPodAutoscalerStatus};
use replank_model::text::Name;
use replank_model::time::{Span, Time};
use replank_oracle::recordings::{Differences, differences};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::recorded::{pod, typed};

/// Kinds with a scale that the recording's control plane knows.
const SCALED: [(&str, &str); 4] =
    [("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("", "ReplicationController")];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Flags {
    tolerance: f64,
    downscale_stabilization_seconds: i64,
    cpu_initialization_period_seconds: i64,
    initial_readiness_delay_seconds: i64,
    #[serde(rename = "featureHPAScaleToZero")]
    scale_to_zero: bool,
    #[serde(rename = "otherHPAs", default)]
    others: Vec<Other>,
}

#[derive(Deserialize)]
struct Other {
    name: Name,
    selector: String,
}

pub(crate) fn check(line: &str) -> anyhow::Result<Differences> {
    let case: Value = serde_json::from_str(line)?;
    let flags: Flags = read(&case["config"])?;
    let config = Config {
        tolerance: flags.tolerance,
        downscale_stabilization: Span::from_secs(flags.downscale_stabilization_seconds),
        cpu_initialization_period: Span::from_secs(flags.cpu_initialization_period_seconds),
        initial_readiness_delay: Span::from_secs(flags.initial_readiness_delay_seconds),
        scale_to_zero: flags.scale_to_zero,
    };
    let rivals: Vec<Rival> = flags
        .others
        .into_iter()
        .map(|other| Ok(Rival { name: other.name, selector: other.selector.parse()? }))
        .collect::<anyhow::Result<_>>()?;
    let mut hpa = autoscaler(&case)?;
    let mut memory = Memory::default();
    let mut found = Differences::new();
    for (number, step) in case["steps"].as_array().context("a case has steps")?.iter().enumerate() {
        let outcome = sync(&hpa, step, &rivals, config, memory).with_context(|| format!("step {number}"))?;
        let mut recorded = step["expect"].clone();
        let mut ours = expectation(&outcome);
        sort_names(&mut recorded);
        sort_names(&mut ours);
        found.extend(differences(&recorded, &ours).into_iter().map(|line| format!("step {number}: {line}")));
        if !found.is_empty() {
            // What follows is another story.
            break;
        }
        hpa.status = outcome.status;
        memory = outcome.memory;
    }
    Ok(found)
}

fn sync(
    hpa: &HorizontalPodAutoscaler,
    step: &Value,
    rivals: &[Rival],
    config: Config,
    memory: Memory,
) -> anyhow::Result<Outcome> {
    let pods = step["pods"].as_array().into_iter().flatten().map(pod).collect::<anyhow::Result<Vec<_>>>()?;
    let metrics = metrics(&step["metrics"])?;
    let given = Given {
        hpa,
        scale: scale(hpa, step),
        pods: &pods,
        metrics: &metrics,
        rivals,
        now: read::<Time>(&step["now"])?,
        config,
    };
    let refused = step["scaleUpdateError"].as_str();
    Ok(replank_hpa::judge(&given, memory).close(|_| refused.map_or(Ok(()), |error| Err(error.to_owned()))))
}

fn scale(hpa: &HorizontalPodAutoscaler, step: &Value) -> Result<Scale, ScaleError> {
    let target = &hpa.spec.scale_target_ref;
    let (group, _) = target.api_version.split_once('/').unwrap_or_default();
    if !SCALED.contains(&(group, &*target.kind)) {
        let words = format!("no matches for kind \"{}\" in group \"{group}\"", target.kind);
        return Err(ScaleError::Kind(words));
    }
    if let Some(error) = step["scaleGetError"].as_str() {
        return Err(ScaleError::Read(error.to_owned()));
    }
    let number = |path: &str| {
        let number = step["scale"].pointer(path).and_then(Value::as_i64).unwrap_or_default();
        i32::try_from(number).unwrap_or(i32::MAX)
    };
    let selector = step["scale"].pointer("/status/selector").and_then(Value::as_str).unwrap_or_default();
    Ok(Scale {
        spec_replicas: number("/spec/replicas"),
        status_replicas: number("/status/replicas"),
        selector: selector.to_owned(),
    })
}

fn metrics(recorded: &Value) -> anyhow::Result<Metrics> {
    let error = |api: &str| recorded["errors"][api].as_str().map(ToOwned::to_owned);
    Ok(Metrics {
        pods: list(&recorded["podMetrics"])?,
        custom: list(&recorded["customMetrics"])?,
        external: list(&recorded["externalMetrics"])?,
        down: Down { resource: error("resource"), custom: error("custom"), external: error("external") },
    })
}

fn autoscaler(case: &Value) -> anyhow::Result<HorizontalPodAutoscaler> {
    let object = typed(&case["hpa"], "autoscaling/v2", "HorizontalPodAutoscaler");
    let object = Object::from_json(object)?;
    let Object::HorizontalPodAutoscaler(hpa) = &object else {
        bail!("{} is not an autoscaler", object.reference());
    };
    let mut hpa = (**hpa).clone();
    if let Some(status) = case.get("initialStatus") {
        hpa.status = read::<HorizontalPodAutoscalerStatus>(status)?;
    }
    Ok(hpa)
}

fn list<T: DeserializeOwned>(recorded: &Value) -> anyhow::Result<Vec<T>> {
    recorded.as_array().into_iter().flatten().map(read).collect()
}

fn read<T: DeserializeOwned>(recorded: &Value) -> anyhow::Result<T> {
    Ok(serde_json::from_value(recorded.clone())?)
}

/// What we say, in the form of the recordings.
fn expectation(outcome: &Outcome) -> Value {
    let status = &outcome.status;
    let mut ours = Map::new();
    ours.insert("scaledTo".into(), json!(outcome.scaled_to));
    ours.insert("statusCurrentReplicas".into(), json!(status.current_replicas));
    ours.insert("statusDesiredReplicas".into(), json!(status.desired_replicas));
    ours.insert("conditions".into(), json!(status.conditions));
    ours.insert("currentMetrics".into(), json!(status.current_metrics));
    ours.insert("statusWritten".into(), json!(outcome.is_changed));
    let events = outcome.events.iter().map(|event| {
        let kind = if event.is_warning { "Warning" } else { "Normal" };
        json!({"type": kind, "reason": event.reason, "message": event.message})
    });
    ours.insert("events".into(), events.collect());
    let recommended = outcome.memory.recommendations.iter().map(of_recommendation);
    ours.insert("recommendations".into(), recommended.collect());
    let optional = [
        ("lastScaleTime", status.last_scale_time.map(|time| json!(time))),
        ("error", outcome.error.as_ref().map(|error| json!(error))),
        ("scaleUpEvents", remembered(&outcome.memory.ups)),
        ("scaleDownEvents", remembered(&outcome.memory.downs)),
    ];
    ours.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    Value::Object(ours)
}

fn remembered(list: &[ScaleEvent]) -> Option<Value> {
    (!list.is_empty()).then(|| list.iter().map(of_event).collect())
}

fn of_recommendation(of: &Recommendation) -> Value {
    json!({"n": of.replicas, "t": of.at})
}

fn of_event(of: &ScaleEvent) -> Value {
    json!({"n": of.change, "t": of.at})
}

/// Upstream names the HPAs that want the same pods in no order.
fn sort_names(value: &mut Value) {
    match value {
        Value::String(text) => {
            let Some(at) = text.find("are controlled by multiple HPAs: [") else { return };
            let Some(open) = text[at..].find('[').map(|open| at + open + 1) else { return };
            let Some(close) = text[open..].find(']').map(|close| open + close) else { return };
            let mut names: Vec<&str> = text[open..close].split(' ').collect();
            names.sort_unstable();
            *text = format!("{}{}{}", &text[..open], names.join(" "), &text[close..]);
        }
        Value::Array(items) => items.iter_mut().for_each(sort_names),
        Value::Object(members) => members.values_mut().for_each(sort_names),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
