//! The records of runs, as they are found in a cluster, and what is wanted of a run.

use std::sync::Arc;

use replank_facts::run_record::{Told, told};
use replank_live::{Connection, LiveError, Missing, patch};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::cluster::Other;
use replank_model::text::RunId;
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::intent::Intent;
use replank_protocol::record::{self, FoundRecord, RECORD};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::failure::Failure;

/// On a record: who wants what is wanted of the run, and why.
const WHY: &str = "replank.dev/intent-why";
/// How often a change is tried where another one comes before it.
const TRIES: usize = 10;

/// A run that was begun.
pub(super) struct Begun {
    pub(super) run: RunId,
    pub(super) told: Told,
    holder: Arc<Other>,
}

/// The records in a namespace, and the server's time.
pub(super) async fn all(
    connection: &Connection,
    namespace: &str,
) -> Result<(Vec<FoundRecord>, Time), Failure> {
    listed(connection, &format!("/api/v1/namespaces/{namespace}/configmaps")).await
}

/// The records in all other namespaces; nothing where they may not be read.
pub(super) async fn elsewhere(
    connection: &Connection,
    namespace: &str,
) -> Result<Option<Vec<FoundRecord>>, Failure> {
    match listed(connection, "/api/v1/configmaps").await {
        Ok((mut found, _)) => {
            found.retain(|one| one.holder.meta.namespace != *namespace);
            Ok(Some(found))
        }
        Err(failure) => match failure.error.downcast_ref() {
            Some(LiveError::Forbidden { .. }) => Ok(None),
            Some(_) | None => Err(failure),
        },
    }
}

async fn listed(connection: &Connection, collection: &str) -> Result<(Vec<FoundRecord>, Time), Failure> {
    let path = format!("{collection}?labelSelector={}", RECORD.replace('/', "%2F"));
    let answer = connection.get(&path, "application/json").await?;
    let missing =
        Missing { group: String::new(), resource: "configmaps".to_owned(), verbs: &["get", "list"] };
    let message = answer.message();
    match answer.code {
        200 => {}
        403 => return Err(LiveError::Forbidden { message, missing }.into()),
        code => return Err(LiveError::Refused { path, code, message }.into()),
    }
    let body: Value = serde_json::from_slice(&answer.body).map_err(Failure::internal)?;
    let items = body["items"].as_array().cloned().unwrap_or_default();
    let objects = items.into_iter().filter_map(|mut item| {
        item["apiVersion"] = "v1".into();
        item["kind"] = "ConfigMap".into();
        Object::from_json(item).ok()
    });
    let view: View = objects.map(Delta::Put).collect();
    let now = answer.date.unwrap_or_else(|| connection.now());
    Ok((record::all(&view), now))
}

/// The run of this name, or the only one.
pub(super) async fn one(
    connection: &Connection,
    namespace: &str,
    name: Option<&str>,
) -> Result<Begun, Failure> {
    let (mut found, _) = all(connection, namespace).await?;
    let names = |found: &[FoundRecord]| -> Vec<String> {
        found.iter().filter_map(|one| one.run.as_ref().map(ToString::to_string)).collect()
    };
    let known = names(&found);
    found.retain(|one| name.is_none_or(|name| one.run.as_ref().is_some_and(|run| run.as_str() == name)));
    match found.as_slice() {
        [one] => begun(one),
        [] if known.is_empty() => Err(Failure::usage_message(format!(
            "there is no run in namespace {namespace}: none was begun, or all are over"
        ))
        .next("-n names the namespace of a plan that has metadata.namespace; to begin one: replank roll -f PLAN")),
        [] => Err(Failure::usage_message(format!("there is no run {}", name.unwrap_or_default()))
            .next(format!("name one of {}", known.join(", ")))),
        [_, _, ..] => Err(Failure::usage_message("there are several runs").next(format!("name one of {}", known.join(", ")))),
    }
}

/// Whether a run has no record any more.
pub(super) async fn is_over(connection: &Connection, namespace: &str, run: &RunId) -> Result<bool, Failure> {
    let (found, _) = all(connection, namespace).await?;
    Ok(found.iter().all(|one| one.run.as_ref() != Some(run)))
}

/// What a record tells.
pub(super) fn begun(found: &FoundRecord) -> Result<Begun, Failure> {
    let key = found.holder.meta.key();
    let unreadable = |why: String| {
        Failure::usage_message(format!("the record in ConfigMap {key} cannot be read: {why}"))
            .next("see docs/record.md")
    };
    let record = found.record.as_ref().map_err(|error| unreadable(error.to_string()))?;
    let told = told(record).map_err(|error| unreadable(error.to_string()))?;
    Ok(Begun { run: told.run.clone(), told, holder: found.holder.clone() })
}

/// Why what is wanted is wanted, where somebody has said so.
pub(super) fn why(found: &FoundRecord) -> Option<&str> {
    found.holder.meta.annotations.value(WHY)
}

impl Begun {
    /// Namespace and name of its record, and of its Lease.
    pub(super) fn place(&self) -> (String, String) {
        let key = self.holder.meta.key();
        (key.namespace.to_string(), key.name.to_string())
    }
}

/// Writes down what is wanted of a run, whatever else is written on its record meanwhile.
pub(super) async fn intend(
    connection: &Connection,
    (namespace, run): (&str, &RunId),
    (intent, why): (Intent, &str),
) -> Result<(), Failure> {
    for _ in 0..TRIES {
        let begun = one(connection, namespace, Some(run.as_str())).await?;
        let meta = &begun.holder.meta;
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/{}", meta.name);
        let change = [
            json!({"op": "replace", "path": "/data/intent", "value": intent.as_str()}),
            json!({"op": "add", "path": format!("/metadata/annotations/{}", WHY.replace('/', "~1")), "value": why}),
        ];
        let version = meta.resource_version.0.to_string();
        let answer = patch(connection, &path, (meta.uid.as_str(), &version), &change).await?;
        let message = answer.message();
        match answer.code {
            200..=299 => return Ok(()),
            404 | 409 | 422 => {}
            403 => {
                let missing =
                    Missing { group: String::new(), resource: "configmaps".to_owned(), verbs: &["patch"] };
                return Err(LiveError::Forbidden { message, missing }.into());
            }
            code => return Err(LiveError::Refused { path, code, message }.into()),
        }
    }
    Err(Failure {
        exit: Exit::Internal,
        ..Failure::usage_message(format!("the record of run {run} changes all the time"))
    }
    .next("try again"))
}

/// Who this process is to others.
pub(crate) fn identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|text| text.trim().to_owned());
    let host = host.filter(|host| !host.is_empty()).or_else(|| std::env::var("HOSTNAME").ok());
    let user = std::env::var("USER").or_else(|_| std::env::var("USERNAME"));
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    format!("{user}{} (process {})", host.unwrap_or_else(|| "unknown host".to_owned()), std::process::id())
}
