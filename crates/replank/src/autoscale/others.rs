//! Whether somebody else scales the cluster: two autoscalers would undo each other's work.

use replank_core::scale::own_autoscaler;
use replank_live::{Connection, Lease};
use replank_model::view::View;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::report::words::count;

/// The Lease of Cluster Autoscaler's leader (its `--leader-elect-resource-name`).
const LEASE: &str = "cluster-autoscaler";

/// Looks for a Cluster Autoscaler that runs: a Deployment with replicas, or somebody who holds its Lease.
///
/// # Errors
/// Where one runs.
pub(crate) async fn nobody_else(
    connection: &Connection,
    namespace: &str,
    view: &View,
) -> Result<(), Failure> {
    if let Some(own) = own_autoscaler(view)
        && let Some(deployment) = view.deployments.by_key(&own.deployment)
        && deployment.spec.replicas != Some(0)
    {
        let replicas = usize::try_from(deployment.spec.replicas.unwrap_or(1)).unwrap_or_default();
        let (namespace, name) = (&own.deployment.namespace, &own.deployment.name);
        return Err(refused(format!(
            "the cluster's own Cluster Autoscaler scales it: Deployment {} has {}",
            own.deployment,
            count(replicas, "replica")
        ))
        .next(format!(
            "stop it first: kubectl -n {namespace} scale deployment {name} --replicas=0; its flags are then taken from the Deployment"
        )));
    }
    match Lease::holder(connection, (namespace, LEASE)).await? {
        None => Ok(()),
        Some(holder) => Err(refused(format!(
            "a Cluster Autoscaler scales the cluster: Lease {namespace}/{LEASE} is held by {holder}"
        ))
        .next("stop it first; one that is gone is forgotten when its Lease runs out")),
    }
}

fn refused(message: String) -> Failure {
    Failure { exit: Exit::Refused, ..Failure::usage_message(message) }
}
