//! Rows of what remains: configuration, namespaces, events, quotas, classes, leases.

use serde_json::Value;

use crate::table::look::{Look, text, word_or};

/// The cells of a resource of this file.
pub(super) fn cells(plural: &str, look: Look<'_>) -> Option<Vec<Value>> {
    Some(match plural {
        "configmaps" => {
            let count = |path: &str| look.at(path).as_object().map_or(0, serde_json::Map::len);
            vec![look.name(), (count("/data") + count("/binaryData")).into(), look.age()]
        }
        "secrets" => {
            let count = look.at("/data").as_object().map_or(0, serde_json::Map::len);
            vec![look.name(), look.text("/type").into(), count.into(), look.age()]
        }
        "serviceaccounts" => vec![look.name(), look.age()],
        "namespaces" => vec![look.name(), look.text("/status/phase").into(), look.age()],
        "componentstatuses" => component(look),
        "events" => event(look),
        "resourcequotas" => quota(look),
        "priorityclasses" => vec![
            look.name(),
            look.number("/value").into(),
            look.flag("/globalDefault", false).into(),
            look.age(),
            look.text("/preemptionPolicy").into(),
        ],
        "runtimeclasses" => vec![look.name(), look.text("/handler").into(), look.age()],
        "leases" => vec![look.name(), look.text("/spec/holderIdentity").into(), look.age()],
        "flowschemas" => flow_schema(look),
        "prioritylevelconfigurations" => priority_level(look),
        _ => return None,
    })
}

fn component(look: Look<'_>) -> Vec<Value> {
    let healthy = look.list("/conditions").iter().find(|one| one["type"] == "Healthy");
    let status = match healthy.map(|one| text(&one["status"])) {
        None => "Unknown",
        Some("True") => "Healthy",
        Some(_) => "Unhealthy",
    };
    let word = |member: &str| -> Value { healthy.map_or("", |one| text(&one[member])).into() };
    vec![look.name(), status.into(), word("message"), word("error")]
}

/// Events are one resource in two groups, which name the same things differently.
fn event(look: Look<'_>) -> Vec<Value> {
    let either = |core: &str, events: &str| match look.at(core) {
        Value::Null => look.at(events),
        value @ (Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_)) => value,
    };
    let time = |value: &Value| look.ago(value);
    let began = either("/firstTimestamp", "/deprecatedFirstTimestamp");
    let began = if began.is_null() { look.since("/eventTime") } else { time(began) };
    let ended = either("/lastTimestamp", "/deprecatedLastTimestamp");
    let series = look.at("/series");
    let last = match (series, ended) {
        (Value::Null, Value::Null) => began.clone(),
        (Value::Null, ended) => time(ended),
        (series, _) => time(&series["lastObservedTime"]),
    };
    let count = match series {
        Value::Null => either("/count", "/deprecatedCount").as_i64().filter(|count| *count != 0).unwrap_or(1),
        series @ (Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_)) => series["count"].as_i64().unwrap_or(0),
    };
    let object = either("/involvedObject", "/regarding");
    let kind = text(&object["kind"]).to_lowercase();
    let target = match text(&object["name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let source = either("/source", "/deprecatedSource");
    let first =
        |texts: [&str; 2]| texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default().to_owned();
    let reporting = text(either("/reportingComponent", "/reportingController"));
    let component = first([text(&source["component"]), reporting]);
    let instance = first([text(&source["host"]), look.text("/reportingInstance")]);
    let source = if instance.is_empty() { component } else { format!("{component}, {instance}") };
    vec![
        last.into(),
        look.text("/type").into(),
        look.text("/reason").into(),
        target.into(),
        text(&object["fieldPath"]).into(),
        source.into(),
        text(either("/message", "/note")).trim().into(),
        began.into(),
        count.into(),
        look.name(),
    ]
}

fn quota(look: Look<'_>) -> Vec<Value> {
    let hard = look.at("/status/hard").as_object().into_iter().flatten();
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (name, hard) in hard {
        let used = word_or(&look.at("/status/used")[name], "0");
        let told = format!("{name}: {used}/{}", word_or(hard, "0"));
        if name.starts_with("limits.") { limits.push(told) } else { requests.push(told) }
    }
    vec![look.name(), requests.join(", ").into(), limits.join(", ").into(), look.age()]
}

fn flow_schema(look: Look<'_>) -> Vec<Value> {
    let dangling = look.list("/status/conditions").iter().find(|one| one["type"] == "Dangling");
    vec![
        look.name(),
        look.text("/spec/priorityLevelConfiguration/name").into(),
        look.number("/spec/matchingPrecedence").into(),
        look.text_or("/spec/distinguisherMethod/type", "<none>"),
        look.age(),
        dangling.map_or("?", |one| text(&one["status"])).into(),
    ]
}

fn priority_level(look: Look<'_>) -> Vec<Value> {
    let or_none = |path: &str| match look.at(path) {
        Value::Null => "<none>".into(),
        value @ (Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_)) => value.clone(),
    };
    vec![
        look.name(),
        look.text("/spec/type").into(),
        or_none("/spec/limited/nominalConcurrencyShares"),
        or_none("/spec/limited/limitResponse/queuing/queues"),
        or_none("/spec/limited/limitResponse/queuing/handSize"),
        or_none("/spec/limited/limitResponse/queuing/queueLengthLimit"),
        look.age(),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_told_alike_in_both_groups() {
        let core = json!({"metadata": {"name": "e"}, "type": "Normal", "reason": "R", "message": " m\n", "involvedObject": {"kind": "Pod", "name": "p"},
            "firstTimestamp": "1970-01-01T00:00:00Z", "lastTimestamp": "1970-01-01T00:00:30Z", "count": 3, "source": {"component": "kubelet", "host": "n"}});
        let events = json!({"metadata": {"name": "e"}, "type": "Normal", "reason": "R", "note": "m", "regarding": {"kind": "Pod", "name": "p"},
            "deprecatedFirstTimestamp": "1970-01-01T00:00:00Z", "deprecatedLastTimestamp": "1970-01-01T00:00:30Z", "deprecatedCount": 3,
            "deprecatedSource": {"component": "kubelet", "host": "n"}});
        let told = [core, events]
            .map(|object| event(Look { object: &object, now: crate::table::Moment::At(60_000) }));
        assert_eq!(told[0], told[1]);
        let cells = json!(["30s", "Normal", "R", "pod/p", "", "kubelet, n", "m", "60s", 3, "e"]);
        assert_eq!(Value::from(told[0].clone()), cells);
    }

    #[test]
    fn a_quota_has_requests_and_limits() {
        let object = json!({"metadata": {"name": "q"}, "status": {"hard": {"limits.cpu": "2", "pods": "5"}, "used": {"pods": "1"}}});
        let told = quota(Look { object: &object, now: crate::table::Moment::At(0) });
        assert_eq!(told[1..3], ["pods: 1/5", "limits.cpu: 0/2"]);
    }
}
