//! Whether somebody else scales the cluster: two autoscalers would undo each other's work.

use std::fmt;
use std::time::Duration;

use replank_core::scale::own_autoscaler;
use replank_live::{Connection, Holder, Lease, LiveError, Missing};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::view::View;
use replank_protocol::record::NAMESPACE;
use serde_json::Value;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::report::words::count;

/// The Lease of Cluster Autoscaler's leader (its `--leader-elect-resource-name`).
const LEASE: &str = "cluster-autoscaler";
/// How often it is looked whether another one runs by now: whatever deploys it (Helm, Argo CD) may give it its replicas back.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// All Deployments at once, as the API server has them in its memory.
const DEPLOYMENTS: &str = "/apis/apps/v1/deployments?resourceVersion=0";

/// A Cluster Autoscaler that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Another {
    /// A Deployment with replicas.
    Deployment { key: Key, replicas: i32 },
    /// Somebody holds its Lease.
    Leader(Holder),
}

impl fmt::Display for Another {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deployment { key, replicas } => write!(
                out,
                "the cluster's own Cluster Autoscaler scales it: Deployment {key} has {}",
                count(usize::try_from(*replicas).unwrap_or_default(), "replica")
            ),
            Self::Leader(holder) => {
                write!(
                    out,
                    "a Cluster Autoscaler scales the cluster: Lease {NAMESPACE}/{LEASE} is held by {holder}"
                )
            }
        }
    }
}

impl Another {
    fn next(&self) -> String {
        match self {
            Self::Deployment { key: Key { namespace, name }, .. } => format!(
                "stop it first: kubectl -n {namespace} scale deployment {name} --replicas=0; its flags are then taken from the Deployment"
            ),
            Self::Leader(_) => {
                "stop it first; one that is gone is forgotten when its Lease runs out".to_owned()
            }
        }
    }
}

/// Looks for a Cluster Autoscaler that runs: a Deployment with replicas, or somebody who holds its Lease.
///
/// # Errors
/// Where one runs.
pub(crate) async fn nobody_else(connection: &Connection, view: &View) -> Result<(), Failure> {
    match found(connection, view).await? {
        None => Ok(()),
        Some(another) => {
            Err(Failure { exit: Exit::Refused, ..Failure::usage_message(&another) }.next(another.next()))
        }
    }
}

/// Returns when a Cluster Autoscaler runs.
pub(crate) async fn another(connection: &Connection) -> Another {
    loop {
        // At once, too: what was read before somebody confirmed may be old. What cannot be asked for now is asked for again.
        if let Ok(view) = deployments(connection).await
            && let Ok(Some(another)) = found(connection, &view).await
        {
            return another;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn found(connection: &Connection, view: &View) -> Result<Option<Another>, LiveError> {
    if let Some(own) = own_autoscaler(view).filter(|own| own.replicas > 0) {
        return Ok(Some(Another::Deployment { key: own.deployment, replicas: own.replicas }));
    }
    Ok(Lease::holder(connection, (NAMESPACE, LEASE)).await?.map(Another::Leader))
}

/// The cluster's Deployments, and nothing else.
async fn deployments(connection: &Connection) -> Result<View, LiveError> {
    let missing = Missing { group: "apps".to_owned(), resource: "deployments".to_owned(), verbs: &["list"] };
    let mut list = connection.json(DEPLOYMENTS, "application/json", missing).await?;
    let Value::Array(items) = list["items"].take() else { return Ok(View::default()) };
    let objects = items.into_iter().filter_map(|mut item| {
        item["apiVersion"] = "apps/v1".into();
        item["kind"] = "Deployment".into();
        // One that cannot be read is none that anybody would know as Cluster Autoscaler's.
        Object::from_json(item).ok()
    });
    Ok(objects.map(Delta::Put).collect())
}
