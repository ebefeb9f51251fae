//! The Job in a cluster: created, or found; waited for; its pods' results collected.

use std::collections::BTreeMap;
use std::time::Duration;

use replank_live::{Connection, LiveError, Missing, Rule, create};
use serde_json::Value;

use super::manifest::Manifests;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::permitted;
use crate::printer::Printer;
use crate::progress::Meter;

/// How often the Job is looked at.
const BETWEEN: Duration = Duration::from_secs(2);
/// Pods in one answer to a list.
const PAGE: usize = 200;
/// On a pod of an Indexed Job: which part it is.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";
const PATIENCE: u32 = 60;

const RULES: [Rule; 3] = [
    Rule { group: "", resource: "configmaps", verbs: &["create"] },
    Rule { group: "batch", resource: "jobs", verbs: &["create", "get"] },
    Rule { group: "", resource: "pods", verbs: &["list"] },
];

/// What has become of the Job.
pub(super) enum Followed {
    /// Each part's result.
    Complete(BTreeMap<u64, String>),
    /// Not all parts are there, and why.
    Failed { results: BTreeMap<u64, String>, why: String },
    /// Ctrl-C.
    Interrupted { done: usize },
}

/// Whether the Job was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Was {
    Created,
    There,
}

/// Creates what is not there yet. What is there has the same name, which is a hash of what it does.
pub(super) async fn begin(
    connection: &Connection,
    namespace: &str,
    manifests: &Manifests,
) -> Result<Was, Failure> {
    permitted(connection, Some(namespace), &RULES).await?;
    for map in &manifests.config_maps {
        created(connection, &format!("/api/v1/namespaces/{namespace}/configmaps"), map).await?;
    }
    created(connection, &format!("/apis/batch/v1/namespaces/{namespace}/jobs"), &manifests.job).await
}

async fn created(connection: &Connection, collection: &str, object: &Value) -> Result<Was, Failure> {
    let answer = create(connection, collection, object).await?;
    match answer.code {
        200..300 => Ok(Was::Created),
        409 if answer.message().contains("already exists") => Ok(Was::There),
        code => {
            let message = answer.message();
            Err(LiveError::Refused { path: collection.to_owned(), code, message }.into())
        }
    }
}

/// Waits for the Job's end, and collects the results of its parts as they come. It is told once that the Job is suspended.
pub(super) async fn follow(
    connection: &Connection,
    (namespace, name): (&str, &str),
    parts: u64,
    (printer, interrupt): (&mut Printer, &Interrupt),
) -> Result<Followed, Failure> {
    interrupt.hold();
    let meter = Meter::of_parts(parts);
    let mut results = BTreeMap::new();
    let (mut seen, mut failures, mut is_told) = (0, 0, false);
    loop {
        if interrupt.is_pressed() {
            return Ok(Followed::Interrupted { done: results.len() });
        }
        let looked = look(connection, (namespace, name), seen, &mut results).await;
        meter.at(results.len() as u64);
        let job = match looked {
            Ok(job) => job,
            // The cluster is away for a moment.
            Err(failure) if failures < PATIENCE && is_passing(&failure) => {
                failures += 1;
                tokio::time::sleep(BETWEEN).await;
                continue;
            }
            Err(failure) => return Err(failure),
        };
        failures = 0;
        seen = succeeded(&job);
        if results.len() as u64 == parts {
            return Ok(Followed::Complete(results));
        }
        if let Some(why) = ended(&job) {
            return Ok(Followed::Failed { results, why });
        }
        if is_suspended(&job) && !std::mem::replace(&mut is_told, true) {
            printer.story(&format!(
                "job.batch/{name} is suspended: a queue (Kueue) may let it go on; or: kubectl -n {namespace} patch job/{name} --type=merge -p '{{\"spec\":{{\"suspend\":false}}}}'"
            ));
        }
        tokio::time::sleep(BETWEEN).await;
    }
}

/// Reads the Job, and the results of its parts where there may be more than were seen.
async fn look(
    connection: &Connection,
    (namespace, name): (&str, &str),
    seen: u64,
    results: &mut BTreeMap<u64, String>,
) -> Result<Value, Failure> {
    let path = format!("/apis/batch/v1/namespaces/{namespace}/jobs/{name}");
    let job = got(connection, &path, "jobs").await?;
    if succeeded(&job) > seen || ended(&job).is_some() {
        collect(connection, (namespace, name), results).await?;
    }
    Ok(job)
}

fn succeeded(job: &Value) -> u64 {
    job["status"]["succeeded"].as_u64().unwrap_or(0)
}

/// Whether it may pass: nobody answers, the server is busy or fails, or a list took so long that its rest is gone (410) and it is to begin anew.
fn is_passing(failure: &Failure) -> bool {
    match failure.error.downcast_ref::<LiveError>() {
        Some(LiveError::Unreachable { .. }) => true,
        Some(LiveError::Refused { code, .. }) => *code == 410 || *code >= 429,
        Some(_) | None => false,
    }
}

async fn got(connection: &Connection, path: &str, resource: &str) -> Result<Value, Failure> {
    let missing = Missing { group: "batch".to_owned(), resource: resource.to_owned(), verbs: &["get"] };
    Ok(connection.json(path, "application/json", missing).await?)
}

/// Why a Job goes on no more; `None` while it does.
fn ended(job: &Value) -> Option<String> {
    let conditions = job["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find_map(|one| {
        let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
        match (text("type").as_str(), text("status").as_str()) {
            ("Complete", "True") => Some("the Job is complete".to_owned()),
            ("Failed", "True") => {
                Some(format!("the Job has failed: {}: {}", text("reason"), text("message")))
            }
            _ => None,
        }
    })
}

/// Whether nothing of a Job runs until somebody lets it: a person, or a queue such as Kueue, which has Jobs begin so.
fn is_suspended(job: &Value) -> bool {
    job["spec"]["suspend"] == true
}

/// Takes in the results of the pods that have succeeded.
async fn collect(
    connection: &Connection,
    (namespace, name): (&str, &str),
    results: &mut BTreeMap<u64, String>,
) -> Result<(), Failure> {
    let mut token = String::new();
    loop {
        let path = format!(
            "/api/v1/namespaces/{namespace}/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3D{name}&limit={PAGE}&continue={token}"
        );
        let missing = Missing { group: String::new(), resource: "pods".to_owned(), verbs: &["list"] };
        let list = connection.json(&path, "application/json", missing).await?;
        for pod in list["items"].as_array().into_iter().flatten() {
            if pod["status"]["phase"] != "Succeeded" {
                continue;
            }
            let index = pod["metadata"]["annotations"][INDEX].as_str().and_then(|index| index.parse().ok());
            let ended = &pod["status"]["containerStatuses"][0]["state"]["terminated"]["message"];
            if let (Some(index), Some(message)) = (index, ended.as_str()) {
                results.insert(index, message.to_owned());
            }
        }
        match list["metadata"]["continue"].as_str() {
            Some(next) if !next.is_empty() => next.clone_into(&mut token),
            Some(_) | None => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_suspended_job_is_waited_for_and_others_end() {
        let job = |kind: &str, suspend: bool| json!({"spec": {"suspend": suspend}, "status": {"conditions": [{"type": kind, "status": "True", "reason": "R", "message": "m"}]}});
        let suspended = job("Suspended", true);
        assert_eq!((ended(&suspended), is_suspended(&suspended)), (None, true));
        let failed = job("Failed", false);
        assert_eq!(
            (ended(&failed), is_suspended(&failed)),
            (Some("the Job has failed: R: m".to_owned()), false)
        );
        assert_eq!(ended(&job("Complete", false)).as_deref(), Some("the Job is complete"));
    }

    #[test]
    fn a_busy_server_and_a_list_that_is_too_old_pass() {
        let refused =
            |code| Failure::from(LiveError::Refused { path: "/".to_owned(), code, message: String::new() });
        let passing: Vec<u16> = [400, 404, 410, 422, 429, 500, 503]
            .into_iter()
            .filter(|code| is_passing(&refused(*code)))
            .collect();
        assert_eq!(passing, [410, 429, 500, 503]);
    }
}
