//! What must hold.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    DeleteParams, DynamicObject, EvictParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, CustomResourceExt, ResourceExt, discovery};
use serde_json::json;

use crate::fleet::{Fleet, FleetSpec};
use crate::operator;

const NAMESPACE: &str = "kube-rs";
/// How long something may take that happens by itself.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Checks {
    failed: bool,
}

/// Runs all; whether all passed.
pub(crate) async fn run(client: Client) -> bool {
    let mut checks = Checks::default();
    checks.one("definition: applied, established, in discovery", define(&client)).await;
    checks.one("schema: defaults, refusals with their causes", schema(&client)).await;
    let (stop, stopped) = futures::channel::oneshot::channel::<()>();
    let operator = tokio::spawn(operator::run(client.clone(), NAMESPACE.to_owned(), async {
        stopped.await.ok();
    }));
    checks.one("controller: an owned Deployment, a status", reconciled(&client)).await;
    checks.one("controller: scaled by its scale subresource", scaled(&client)).await;
    checks.one("controller: what it owns is made again", again(&client)).await;
    checks.one("recorder: an Event of events.k8s.io", recorded(&client)).await;
    checks.one("reflector: holds what a list holds", reflected(&client, watcher::Config::default())).await;
    checks.one("reflector: pages of one", reflected(&client, watcher::Config::default().page_size(1))).await;
    checks.one("apply: a conflict, forced, given up", conflict(&client)).await;
    checks.one("selectable field of a definition", selected(&client)).await;
    checks.one("watch: resumed where it stopped", resumed(&client)).await;
    checks.one("metadata alone, dynamic objects", dynamic(&client)).await;
    checks.one("lease: one holder, a stale write refused", leased(&client)).await;
    checks.one("eviction: granted, refused by a budget", evicted(&client)).await;
    checks.one("finalizer: cleans up before its fleet goes", finalized(&client)).await;
    drop(stop);
    let ended = async {
        tokio::time::timeout(PATIENCE, operator).await.context("it goes on")??;
        Ok(())
    };
    checks.one("controller: ends when it is told to", ended).await;
    checks.one("definition: deleted with its objects", undefine(&client)).await;
    !checks.failed
}

impl Checks {
    async fn one(&mut self, name: &str, check: impl Future<Output = Result<()>>) {
        match tokio::time::timeout(2 * PATIENCE, check).await {
            Ok(Ok(())) => println!("ok {name}"),
            Ok(Err(error)) => {
                self.failed = true;
                println!("FAILED {name}: {error:#}");
            }
            Err(_) => {
                self.failed = true;
                println!("FAILED {name}: not done after {} s", 2 * PATIENCE.as_secs());
            }
        }
    }
}

fn fleets(client: &Client) -> Api<Fleet> {
    Api::namespaced(client.clone(), NAMESPACE)
}

fn fleet(name: &str, replicas: i32) -> Fleet {
    Fleet::new(name, FleetSpec { replicas, image: "registry.k8s.io/pause:3.10".to_owned() })
}

async fn define(client: &Client) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = serde_json::from_value(json!({ "metadata": { "name": NAMESPACE } }))?;
    namespaces.create(&PostParams::default(), &namespace).await?;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = Fleet::crd();
    let name = Fleet::crd_name();
    definitions.patch(name, &PatchParams::apply("kube-rs"), &Patch::Apply(&definition)).await?;
    tokio::time::timeout(PATIENCE, await_condition(definitions, name, conditions::is_crd_established())).await??;
    for _ in 0..50 {
        if let Ok(group) = discovery::group(client, "clients.example.com").await {
            let (resource, capabilities) = group.recommended_kind("Fleet").context("the group lacks the kind")?;
            ensure!(resource.plural == "fleets", "the plural is {}", resource.plural);
            let subresources: Vec<&str> =
                capabilities.subresources.iter().map(|(one, _)| one.plural.as_str()).collect();
            ensure!(subresources.len() == 2, "subresources: {subresources:?}");
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    bail!("discovery does not have it")
}

async fn schema(client: &Client) -> Result<()> {
    let api: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), NAMESPACE, &kube::api::ApiResource::erase::<Fleet>(&()));
    let of = |spec: serde_json::Value| -> Result<DynamicObject> {
        Ok(serde_json::from_value(json!({
            "apiVersion": "clients.example.com/v1", "kind": "Fleet", "metadata": { "name": "shape" }, "spec": spec,
        }))?)
    };
    let made = api.create(&PostParams { dry_run: true, field_manager: None }, &of(json!({ "replicas": 1 }))?).await?;
    ensure!(made.data["spec"]["image"] == "registry.k8s.io/pause:3.10", "no default: {}", made.data);
    for (spec, field) in [
        (json!({ "replicas": "two" }), "spec.replicas"),
        (json!({ "replicas": -1 }), "spec.replicas"),
        (json!({}), "spec.replicas"),
        (json!({ "replicas": 11 }), "<nil>"),
    ] {
        let refused = refusal(api.create(&PostParams::default(), &of(spec.clone())?).await)?;
        ensure!(refused.code == 422 && refused.reason == "Invalid", "{spec}: {refused:?}");
        let causes = refused.details.as_ref().map(|details| details.causes.clone()).unwrap_or_default();
        ensure!(causes.iter().any(|cause| cause.field == field), "{spec}: {causes:?}");
    }
    Ok(())
}

async fn reconciled(client: &Client) -> Result<()> {
    fleets(client).create(&PostParams::default(), &fleet("blue", 2)).await?;
    ready(client, "blue", 2).await?;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let owner = deployments.get("blue").await?.metadata.owner_references.unwrap_or_default();
    ensure!(owner.len() == 1 && owner[0].kind == "Fleet" && owner[0].controller == Some(true), "owners: {owner:?}");
    Ok(())
}

/// Waits until the operator has seen so many Ready pods.
async fn ready(client: &Client, name: &str, wanted: i32) -> Result<()> {
    let is = |found: Option<&Fleet>| {
        found.is_some_and(|fleet| {
            let generation = fleet.metadata.generation.unwrap_or(0);
            fleet.status.as_ref().is_some_and(|status| {
                status.ready == wanted && status.replicas == wanted && status.observed_generation == generation
            })
        })
    };
    tokio::time::timeout(PATIENCE, await_condition(fleets(client), name, is))
        .await
        .with_context(|| format!("{name} has not {wanted} ready pods"))??;
    Ok(())
}

async fn scaled(client: &Client) -> Result<()> {
    let scale = fleets(client).get_scale("blue").await?;
    ensure!(scale.spec.and_then(|spec| spec.replicas) == Some(2), "its scale does not say 2");
    let change = json!({ "spec": { "replicas": 3 } });
    fleets(client).patch_scale("blue", &PatchParams::default(), &Patch::Merge(&change)).await?;
    ready(client, "blue", 3).await
}

async fn again(client: &Client) -> Result<()> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let before = deployments.get("blue").await?.uid().context("no uid")?;
    deployments.delete("blue", &DeleteParams::foreground()).await?;
    let other = |found: Option<&Deployment>| {
        found.is_some_and(|one| one.metadata.deletion_timestamp.is_none() && one.uid().as_deref() != Some(&before))
    };
    tokio::time::timeout(PATIENCE, await_condition(deployments, "blue", other))
        .await
        .context("it is not made again")??;
    ready(client, "blue", 3).await
}

async fn recorded(client: &Client) -> Result<()> {
    let events: Api<Event> = Api::namespaced(client.clone(), NAMESPACE);
    for _ in 0..50 {
        let all = events.list(&ListParams::default()).await?;
        if let Some(event) = all.items.iter().find(|event| event.reason.as_deref() == Some("FleetReady")) {
            ensure!(
                event.reporting_controller.as_deref() == Some(operator::MANAGER),
                "it is reported by {:?}",
                event.reporting_controller
            );
            ensure!(
                event.regarding.as_ref().and_then(|one| one.kind.as_deref()) == Some("Fleet"),
                "it regards {:?}",
                event.regarding
            );
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    bail!("there is none")
}

async fn reflected(client: &Client, config: watcher::Config) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let (store, writer) = reflector::store();
    let stream = reflector::reflector(writer, watcher(pods.clone(), config.labels("fleet=blue"))).touched_objects();
    let keep = tokio::spawn(stream.for_each(|_| async {}));
    tokio::time::timeout(PATIENCE, store.wait_until_ready()).await??;
    let listed = pods.list(&ListParams::default().labels("fleet=blue").limit(2)).await?;
    ensure!(
        listed.items.len() == 2 && listed.metadata.remaining_item_count.is_none(),
        "a page of a selection counts what remains"
    );
    let rest = listed.metadata.continue_.context("there is no next page")?;
    let second = pods.list(&ListParams::default().labels("fleet=blue").limit(2).continue_token(&rest)).await?;
    let names = |one: &Pod| one.name_any();
    let mut all: Vec<String> = listed.items.iter().chain(&second.items).map(names).collect();
    let mut held: Vec<String> = store.state().iter().map(|one| names(one)).collect();
    (all.sort(), held.sort());
    ensure!(all == held && all.len() == 3, "listed {all:?}, held {held:?}");
    let first = ObjectRef::new(&all[0]).within(NAMESPACE);
    ensure!(store.get(&first).is_some(), "the store does not find {first}");
    keep.abort();
    Ok(())
}

async fn conflict(client: &Client) -> Result<()> {
    let notes: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let of = |value: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "shared" }, "data": { "key": value } });
    notes.patch("shared", &PatchParams::apply("first"), &Patch::Apply(of("a"))).await?;
    let refused = refusal(notes.patch("shared", &PatchParams::apply("second"), &Patch::Apply(of("b"))).await)?;
    ensure!(refused.code == 409 && refused.message.contains("conflict with \"first\": .data.key"), "{refused:?}");
    notes.patch("shared", &PatchParams::apply("second").force(), &Patch::Apply(of("b"))).await?;
    let without = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "shared" } });
    let left = notes.patch("shared", &PatchParams::apply("second"), &Patch::Apply(without)).await?;
    ensure!(left.data.is_none_or(|data| data.is_empty()), "what its last owner gives up stays");
    notes.delete("shared", &DeleteParams::default()).await?;
    Ok(())
}

async fn selected(client: &Client) -> Result<()> {
    let by = |image: &str| ListParams::default().fields(&format!("spec.image={image}"));
    let found = fleets(client).list(&by("registry.k8s.io/pause:3.10")).await?;
    ensure!(found.items.len() == 1, "{} have the image", found.items.len());
    ensure!(fleets(client).list(&by("other")).await?.items.is_empty(), "one has another image");
    let refused = refusal(fleets(client).list(&ListParams::default().fields("spec.replicas=3")).await)?;
    ensure!(refused.code == 400, "{refused:?}");
    Ok(())
}

async fn resumed(client: &Client) -> Result<()> {
    let notes: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let note: ConfigMap =
        serde_json::from_value(json!({ "metadata": { "name": "seen", "labels": { "watch": "me" } } }))?;
    let made = notes.create(&PostParams::default(), &note).await?;
    let from = made.resource_version().context("it has no version")?;
    for value in ["1", "2"] {
        notes.patch("seen", &PatchParams::default(), &Patch::Merge(json!({ "data": { "n": value } }))).await?;
    }
    notes.delete("seen", &DeleteParams::default()).await?;
    let params = WatchParams::default().labels("watch=me").timeout(10);
    let mut stream = notes.watch(&params, &from).await?.boxed();
    let mut seen = Vec::new();
    while seen.len() < 3
        && let Some(event) = stream.try_next().await?
    {
        match event {
            WatchEvent::Added(_) => seen.push("added"),
            WatchEvent::Modified(_) => seen.push("modified"),
            WatchEvent::Deleted(_) => seen.push("deleted"),
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(status) => bail!("{status:?}"),
        }
    }
    ensure!(seen == ["modified", "modified", "deleted"], "{seen:?}");
    Ok(())
}

async fn dynamic(client: &Client) -> Result<()> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let listed = deployments.list_metadata(&ListParams::default()).await?;
    ensure!(listed.items.len() == 1 && listed.items[0].name_any() == "blue", "{} Deployments", listed.items.len());
    let types = listed.items[0].types.clone().context("it has no types")?;
    ensure!(types.kind == "PartialObjectMetadata", "its kind is {}", types.kind);
    let kind = kube::api::GroupVersionKind::gvk("apps", "v1", "Deployment");
    let (resource, _) = discovery::pinned_kind(client, &kind).await?;
    let objects: Api<DynamicObject> = Api::namespaced_with(client.clone(), NAMESPACE, &resource);
    let blue = objects.get("blue").await?;
    ensure!(blue.data["spec"]["replicas"] == 3, "{}", blue.data["spec"]["replicas"]);
    Ok(())
}

async fn leased(client: &Client) -> Result<()> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), NAMESPACE);
    let lease: Lease = serde_json::from_value(json!({
        "metadata": { "name": "leader" },
        "spec": { "holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": "2026-01-02T03:04:05.000006Z" },
    }))?;
    let first = leases.create(&PostParams::default(), &lease).await?;
    let taken = refusal(leases.create(&PostParams::default(), &lease).await)?;
    ensure!(taken.code == 409 && taken.reason == "AlreadyExists", "{taken:?}");
    let mut next = first.clone();
    next.spec.get_or_insert_default().holder_identity = Some("two".to_owned());
    leases.replace("leader", &PostParams::default(), &next).await?;
    let stale = refusal(leases.replace("leader", &PostParams::default(), &first).await)?;
    ensure!(stale.code == 409 && stale.reason == "Conflict", "{stale:?}");
    Ok(())
}

async fn evicted(client: &Client) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let budgets: Api<k8s_openapi::api::policy::v1::PodDisruptionBudget> = Api::namespaced(client.clone(), NAMESPACE);
    let some = pods.list(&ListParams::default().labels("fleet=blue")).await?;
    let name = some.items.first().context("there are no pods")?.name_any();
    pods.evict(&name, &EvictParams::default()).await?;
    ready_after_eviction(client, &name).await?;
    let budget = serde_json::from_value(json!({
        "metadata": { "name": "all" }, "spec": { "minAvailable": "100%", "selector": { "matchLabels": { "fleet": "blue" } } },
    }))?;
    budgets.create(&PostParams::default(), &budget).await?;
    let counted = |found: Option<&k8s_openapi::api::policy::v1::PodDisruptionBudget>| {
        found
            .and_then(|one| one.status.as_ref())
            .is_some_and(|status| status.expected_pods == Some(3) && status.current_healthy == Some(3))
    };
    tokio::time::timeout(PATIENCE, await_condition(budgets.clone(), "all", counted))
        .await
        .context("the budget counts nothing")??;
    let some = pods.list(&ListParams::default().labels("fleet=blue")).await?;
    let name = some.items.first().context("there are no pods")?.name_any();
    let refused = refusal(pods.evict(&name, &EvictParams::default()).await)?;
    ensure!(refused.code == 429 && refused.reason == "TooManyRequests", "{refused:?}");
    budgets.delete("all", &DeleteParams::default()).await?;
    Ok(())
}

/// Waits until an evicted pod is gone, and another is there for it.
async fn ready_after_eviction(client: &Client, name: &str) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let gone = |found: Option<&Pod>| found.is_none();
    tokio::time::timeout(PATIENCE, await_condition(pods, name, gone)).await.context("it is still there")??;
    ready(client, "blue", 3).await
}

async fn finalized(client: &Client) -> Result<()> {
    let notes: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    ensure!(notes.get_opt("blue").await?.is_some(), "there is nothing to clean up");
    let blue = fleets(client).get("blue").await?;
    let uid = blue.uid().context("no uid")?;
    fleets(client).delete("blue", &DeleteParams::default()).await?;
    tokio::time::timeout(PATIENCE, await_condition(fleets(client), "blue", conditions::is_deleted(&uid)))
        .await
        .context("it is still there")??;
    ensure!(notes.get_opt("blue").await?.is_none(), "its ConfigMap is still there");
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let gone = |found: Option<&Deployment>| found.is_none();
    tokio::time::timeout(PATIENCE, await_condition(deployments, "blue", gone))
        .await
        .context("what it owned is still there")??;
    Ok(())
}

async fn undefine(client: &Client) -> Result<()> {
    fleets(client).create(&PostParams::default(), &fleet("left", 0)).await?;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let uid = definitions.get(Fleet::crd_name()).await?.uid().context("no uid")?;
    definitions.delete(Fleet::crd_name(), &DeleteParams::default()).await?;
    tokio::time::timeout(PATIENCE, await_condition(definitions, Fleet::crd_name(), conditions::is_deleted(&uid)))
        .await
        .context("it is still there")??;
    let refused = refusal(fleets(client).list(&ListParams::default()).await)?;
    ensure!(refused.code == 404, "{refused:?}");
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.delete(NAMESPACE, &DeleteParams::default()).await?;
    let gone = |found: Option<&Namespace>| found.is_none();
    tokio::time::timeout(PATIENCE, await_condition(namespaces, NAMESPACE, gone))
        .await
        .context("its namespace is still there")??;
    Ok(())
}

/// The Status of a request that must be refused.
fn refusal<T>(answer: kube::Result<T>) -> Result<Box<kube::core::Status>> {
    match answer {
        Ok(_) => bail!("it is taken, and should be refused"),
        Err(kube::Error::Api(status)) => Ok(status),
        Err(error) => Err(error.into()),
    }
}
