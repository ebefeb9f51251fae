//! The operator: for each fleet a Deployment that it owns, a status, an Event, and a ConfigMap that only its finalizer removes.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::runtime::finalizer::{Event as Finalizer, finalizer};
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;

use crate::fleet::Fleet;

/// Who writes.
pub(crate) const MANAGER: &str = "fleet-operator";
const FINALIZER: &str = "clients.example.com/cleanup";

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the API server: {0}")]
    Api(#[from] kube::Error),
    #[error("the finalizer: {0}")]
    Finalizer(#[from] Box<kube::runtime::finalizer::Error<Error>>),
    #[error("the fleet has no {0}")]
    Lacks(&'static str),
}

struct Context {
    client: Client,
    recorder: Recorder,
}

/// Runs it until `stop` comes.
pub(crate) async fn run(client: Client, namespace: String, stop: impl Future<Output = ()> + Send + Sync + 'static) {
    let reporter = Reporter { controller: MANAGER.to_owned(), instance: None };
    let context = Context { recorder: Recorder::new(client.clone(), reporter), client: client.clone() };
    Controller::new(Api::<Fleet>::namespaced(client.clone(), &namespace), watcher::Config::default())
        .owns(Api::<Deployment>::namespaced(client, &namespace), watcher::Config::default())
        .graceful_shutdown_on(stop)
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_millis(500)), Arc::new(context))
        .for_each(|done| async {
            if let Err(error) = done {
                eprintln!("operator: {error}");
            }
        })
        .await;
}

async fn reconcile(fleet: Arc<Fleet>, context: Arc<Context>) -> Result<Action, Error> {
    let namespace = fleet.namespace().ok_or(Error::Lacks("namespace"))?;
    let fleets = Api::<Fleet>::namespaced(context.client.clone(), &namespace);
    finalizer(&fleets, FINALIZER, fleet, |event| async {
        match event {
            Finalizer::Apply(fleet) => apply(&fleet, &namespace, &context).await,
            Finalizer::Cleanup(fleet) => cleanup(&fleet, &namespace, &context).await,
        }
    })
    .await
    .map_err(|error| Box::new(error).into())
}

async fn apply(fleet: &Fleet, namespace: &str, context: &Context) -> Result<Action, Error> {
    let name = fleet.name_any();
    let owner = fleet.controller_owner_ref(&()).ok_or(Error::Lacks("uid"))?;
    let labels = json!({ "fleet": name });
    let force = PatchParams::apply(MANAGER).force();

    // Nothing owns it: it goes by the finalizer alone.
    let note: ConfigMap = from(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "image": fleet.spec.image },
    }))?;
    let notes = Api::<ConfigMap>::namespaced(context.client.clone(), namespace);
    notes.patch(&name, &force, &Patch::Apply(&note)).await?;

    let deployment: Deployment = from(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": name, "labels": labels, "ownerReferences": [owner] },
        "spec": {
            "replicas": fleet.spec.replicas, "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "main", "image": fleet.spec.image }] },
            },
        },
    }))?;
    let deployments = Api::<Deployment>::namespaced(context.client.clone(), namespace);
    let deployment = deployments.patch(&name, &force, &Patch::Apply(&deployment)).await?;

    let seen = deployment.status.unwrap_or_default();
    let (replicas, ready) = (seen.replicas.unwrap_or(0), seen.ready_replicas.unwrap_or(0));
    let status = json!({ "status": {
        "replicas": replicas, "ready": ready, "observedGeneration": fleet.metadata.generation,
    }});
    let fleets = Api::<Fleet>::namespaced(context.client.clone(), namespace);
    fleets.patch_status(&name, &PatchParams::default(), &Patch::Merge(&status)).await?;
    if ready == fleet.spec.replicas {
        let event = Event {
            type_: EventType::Normal,
            reason: "FleetReady".to_owned(),
            note: Some(format!("{ready} pods are ready")),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        context.recorder.publish(&event, &fleet.object_ref(&())).await?;
    }
    Ok(Action::await_change())
}

async fn cleanup(fleet: &Fleet, namespace: &str, context: &Context) -> Result<Action, Error> {
    let notes = Api::<ConfigMap>::namespaced(context.client.clone(), namespace);
    match notes.delete(&fleet.name_any(), &Default::default()).await {
        Ok(_) => Ok(Action::await_change()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Action::await_change()),
        Err(error) => Err(error.into()),
    }
}

fn from<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> Result<T, Error> {
    serde_json::from_value(value).map_err(|error| kube::Error::SerdeError(error).into())
}
