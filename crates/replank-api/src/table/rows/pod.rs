//! Rows of pods.

use serde_json::{Value, json};

use crate::table::look::{Look, items, millis, text};

/// What is found out about a pod from its containers.
struct Found<'a> {
    reason: String,
    ready: usize,
    restarts: i64,
    last_restart: Option<(i64, &'a Value)>,
}

/// Name, readiness, status, restarts, age, addresses.
pub(super) fn pod(look: Look<'_>) -> Vec<Value> {
    let total = look.list("/spec/containers").len()
        + look.list("/spec/initContainers").iter().filter(|one| is_sidecar(one)).count();
    let found = found(look);
    let restarts = match found.last_restart {
        Some((_, time)) if found.restarts != 0 => format!("{} ({} ago)", found.restarts, look.ago(time)),
        _ => found.restarts.to_string(),
    };
    vec![
        look.name(),
        format!("{}/{total}", found.ready).into(),
        found.reason.into(),
        restarts.into(),
        look.age(),
        look.filled_or("/status/podIPs/0/ip", "<none>"),
        look.filled_or("/spec/nodeName", "<none>"),
        look.filled_or("/status/nominatedNodeName", "<none>"),
        gates(look).into(),
    ]
}

/// A pod that has ended is completed.
pub(super) fn conditions(look: Look<'_>) -> Option<Value> {
    let (reason, message) = match look.text("/status/phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]))
}

fn found(look: Look<'_>) -> Found<'_> {
    let phase = look.text("/status/phase");
    let status_reason = look.text("/status/reason");
    let mut reason = if status_reason.is_empty() { phase } else { status_reason }.to_owned();
    let is_gated =
        |one: &&Value| text(&one["type"]) == "PodScheduled" && text(&one["reason"]) == "SchedulingGated";
    if look.list("/status/conditions").iter().any(|one| is_gated(&one)) {
        "SchedulingGated".clone_into(&mut reason);
    }
    let mut found = Found { reason, ready: 0, restarts: 0, last_restart: None };
    let mut of_sidecars = Found { reason: String::new(), ready: 0, restarts: 0, last_restart: None };
    let is_initializing = init_containers(look, &mut found, &mut of_sidecars);
    if !is_initializing || condition(look, "Initialized") == Some("True") {
        found.restarts = of_sidecars.restarts;
        found.last_restart = of_sidecars.last_restart;
        containers(look, &mut found);
    }
    if look.is_going() {
        let is_ended = matches!(phase, "Succeeded" | "Failed");
        if status_reason == "NodeLost" {
            "Unknown".clone_into(&mut found.reason);
        } else if !is_ended {
            "Terminating".clone_into(&mut found.reason);
        }
    }
    found
}

/// Looks at the init containers until one has not done its part; whether there is one.
fn init_containers<'a>(look: Look<'a>, found: &mut Found<'a>, of_sidecars: &mut Found<'a>) -> bool {
    let specs = look.list("/spec/initContainers");
    for (index, one) in look.list("/status/initContainerStatuses").iter().enumerate() {
        restarted(found, one);
        let is_sidecar = specs.iter().any(|spec| spec["name"] == one["name"] && is_sidecar(spec));
        if is_sidecar {
            restarted(of_sidecars, one);
        }
        let (ended, waiting) = (&one["state"]["terminated"], text(&one["state"]["waiting"]["reason"]));
        if !ended.is_null() && ended["exitCode"].as_i64().unwrap_or(0) == 0 {
            continue;
        }
        if is_sidecar && one["started"] == true {
            found.ready += usize::from(one["ready"] == true);
            continue;
        }
        found.reason = if !ended.is_null() {
            format!("Init:{}", ended_reason(ended))
        } else if !waiting.is_empty() && waiting != "PodInitializing" {
            format!("Init:{waiting}")
        } else {
            format!("Init:{index}/{}", specs.len())
        };
        return true;
    }
    false
}

fn containers<'a>(look: Look<'a>, found: &mut Found<'a>) {
    let (mut has_running, mut error) = (false, None);
    for one in look.list("/status/containerStatuses").iter().rev() {
        restarted(found, one);
        let (ended, waiting) = (&one["state"]["terminated"], text(&one["state"]["waiting"]["reason"]));
        if !waiting.is_empty() {
            waiting.clone_into(&mut found.reason);
        } else if !ended.is_null() {
            found.reason = ended_reason(ended);
            if ended["exitCode"].as_i64().unwrap_or(0) != 0 {
                error = Some(found.reason.clone());
            }
        } else if one["ready"] == true && !one["state"]["running"].is_null() {
            has_running = true;
            found.ready += 1;
        }
    }
    if found.reason == "Completed" {
        if has_running && condition(look, "Ready") == Some("True") {
            "Running".clone_into(&mut found.reason);
        } else if let Some(error) = error {
            found.reason = error;
        } else if has_running {
            "NotReady".clone_into(&mut found.reason);
        }
    }
}

fn restarted<'a>(found: &mut Found<'a>, status: &'a Value) {
    found.restarts += status["restartCount"].as_i64().unwrap_or(0);
    let ended = &status["lastState"]["terminated"]["finishedAt"];
    if let Some(moment) = millis(ended)
        && found.last_restart.is_none_or(|(last, _)| last < moment)
    {
        found.last_restart = Some((moment, ended));
    }
}

fn ended_reason(ended: &Value) -> String {
    let number = |member: &str| ended[member].as_i64().unwrap_or(0);
    match (text(&ended["reason"]), number("signal")) {
        ("", 0) => format!("ExitCode:{}", number("exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// An init container that goes on running beside the others.
fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn condition<'a>(look: Look<'a>, wanted: &str) -> Option<&'a str> {
    let all = look.list("/status/conditions").iter();
    all.filter(|one| one["type"] == wanted).map(|one| text(&one["status"])).next()
}

fn gates(look: Look<'_>) -> String {
    let gates = look.list("/spec/readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let is_open = |gate: &&Value| condition(look, text(&gate["conditionType"])) == Some("True");
    format!("{}/{}", items(look.at("/spec/readinessGates")).iter().filter(is_open).count(), gates.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(object: &Value) -> Vec<String> {
        let look = Look { object, now: crate::table::Moment::At(1_795_593_600_000) };
        pod(look).iter().take(4).map(|cell| text(cell).to_owned()).collect()
    }

    #[test]
    fn a_status_is_what_its_containers_say() {
        let running = json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}, "status": {"phase": "Running",
            "containerStatuses": [{"name": "c", "ready": true, "restartCount": 2, "state": {"running": {}},
                "lastState": {"terminated": {"finishedAt": "2026-11-25T07:55:00Z"}}}]}});
        assert_eq!(told(&running), ["a", "1/1", "Running", "2 (5m ago)"]);
        let mut going = running.clone();
        going["metadata"]["deletionTimestamp"] = "2026-11-25T08:00:00Z".into();
        assert_eq!(told(&going)[2], "Terminating");
        let mut crashing = running;
        crashing["status"]["containerStatuses"][0]["state"] =
            json!({"waiting": {"reason": "CrashLoopBackOff"}});
        assert_eq!(told(&crashing)[1..3], ["0/1", "CrashLoopBackOff"]);
    }

    #[test]
    fn init_containers_come_first() {
        let pod = |state: Value| {
            json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}], "initContainers": [{"name": "i"}, {"name": "s",
            "restartPolicy": "Always"}]}, "status": {"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": state}]}})
        };
        assert_eq!(told(&pod(json!({"running": {}})))[1..3], ["0/2", "Init:0/2"]);
        assert_eq!(told(&pod(json!({"terminated": {"exitCode": 3}})))[2], "Init:ExitCode:3");
        assert_eq!(told(&pod(json!({"waiting": {"reason": "ErrImagePull"}})))[2], "Init:ErrImagePull");
        assert_eq!(told(&pod(json!({"terminated": {"exitCode": 0}})))[2], "Pending");
    }

    #[test]
    fn a_pod_that_has_ended_is_completed() {
        let object = json!({"status": {"phase": "Failed"}});
        let found =
            conditions(Look { object: &object, now: crate::table::Moment::At(0) }).expect("it has ended");
        assert_eq!(found[0]["reason"], "Failed");
    }
}
