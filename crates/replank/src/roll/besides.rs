//! Messages about instances, handled by the process that carries out a run: interruptions and the run are decided together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use replank_core::Core;
use replank_core::interrupt::{Home, Options};
use replank_core::scale::Autoscaler;
use replank_facts::groups::LearntGroup;
use replank_facts::plan::Plan;
use replank_live::aws::{Aws, AwsQueue};
use replank_live::drive;
use replank_live::queue::Queue;
use replank_live::{Attempt, Connection, Holder, Lease};
use replank_model::object::cloud::NodeGroup;
use replank_model::text::{GroupName, Text};
use replank_protocol::record::NAMESPACE;
use tokio::runtime::Runtime;

use super::cloud::Cloud;
use super::records::identity;
use crate::autoscale::{self, Another, Scaled, another, nobody_else, scaled};
use crate::drain::RbacVerb;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::handle::LEASE;
use crate::live::permitted;
use crate::printer::Printer;
use crate::rehearse::Scene;
use crate::report::words::count;
use crate::scale::words;

/// How long a decision waits until what was written is seen: an interruption cannot wait for long.
const SIGHT_MAX: Duration = Duration::from_secs(1);

/// Looks at the queue that is named; all groups behind the cluster's nodes are followed then.
///
/// # Errors
/// Where there is no such queue, or something may not be done.
pub(super) fn queue(
    (runtime, connection): (&Runtime, &Connection),
    cloud: Option<&Arc<Aws>>,
    url: Option<&str>,
) -> Result<Option<Arc<AwsQueue>>, Failure> {
    let Some(url) = url else { return Ok(None) };
    let Some(cloud) = cloud else {
        return Err(Failure::usage_message(
            "--queue-url: the messages are about instances of AWS, and Replank replaces no nodes of AWS here",
        )
        .next("leave --queue-url out, or run beside it: replank handle --queue-url URL"));
    };
    let queue = runtime.block_on(async {
        permitted(connection, None, &RbacVerb::Handle.rules()).await?;
        permitted(connection, Some(NAMESPACE), RbacVerb::Handle.of_namespace()).await?;
        Ok::<_, Failure>(AwsQueue::open(cloud.clone(), url).await?)
    })?;
    cloud.follow_nodes();
    Ok(Some(Arc::new(queue)))
}

/// The Leases of whoever handles messages and scales groups, where this process is to.
///
/// # Errors
/// Where another process does.
pub(super) async fn taken(
    connection: &Connection,
    queue: Option<&Arc<AwsQueue>>,
    scaler: Option<&Autoscaler>,
) -> Result<Vec<Lease>, Failure> {
    let mut held = Vec::new();
    let receiving = queue.map(|_| {
        (
            LEASE,
            "--queue-url: messages are handled by",
            "leave --queue-url out: a node that it has marked is left to it",
        )
    });
    let scaling = scaler.map(|_| {
        (
            autoscale::LEASE,
            "--autoscale: the cluster is scaled by",
            "leave --autoscale out: nodes that it is removing are left to it",
        )
    });
    for (name, whose, or) in receiving.into_iter().chain(scaling) {
        match Lease::take(connection, (NAMESPACE, name), &identity()).await {
            Ok(Attempt::Taken(lease)) => held.push(*lease),
            Ok(Attempt::HeldBy(holder)) => {
                give_up(held).await;
                return Err(Failure {
                    exit: Exit::Refused,
                    ..Failure::usage_message(format!("{whose} {holder}"))
                }
                .next(format!(
                    "end that process; one that is gone is forgotten half a minute later. Or {or}"
                )));
            }
            Err(error) => {
                give_up(held).await;
                return Err(error.into());
            }
        }
    }
    Ok(held)
}

async fn give_up(held: Vec<Lease>) {
    for lease in held {
        lease.release().await;
    }
}

/// Returns when a Lease is lost; never, where there is none.
pub(super) async fn kept(held: &mut [Lease]) -> Option<Holder> {
    match held {
        [] => std::future::pending().await,
        [one] => one.keep().await,
        [one, others @ ..] => {
            tokio::select! {
                holder = one.keep() => holder,
                holder = Box::pin(kept(others)) => holder,
            }
        }
    }
}

/// Returns when a Cluster Autoscaler scales the groups, too; never, where this process scales none.
pub(super) async fn scaled_by_another(connection: &Connection, scaler: Option<&Autoscaler>) -> Another {
    match scaler {
        Some(_) => another(connection).await,
        None => std::future::pending().await,
    }
}

/// Has groups scaled besides: in the rehearsal, and by the run. Those that the run is not about are followed, too.
///
/// # Errors
/// Where there is no cloud, a flag cannot be read, or the account does not have what is named.
pub(super) fn scaler(
    scene: &mut Scene,
    cloud: Option<&Cloud>,
    flags: &str,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let Some(cloud) = cloud else {
        return Err(Failure::usage_message(
            "--autoscale: the groups are of AWS, and Replank replaces no nodes of AWS here",
        )
        .next("leave --autoscale out, or run beside it: replank autoscale"));
    };
    let flags = words("--autoscale", flags)?;
    let runtime = crate::live::runtime()?;
    let Scaled { mut autoscaler, bases, origin, .. } =
        scaled((&runtime, &cloud.aws), &scene.view, (&flags, None), printer)?;
    let mut followed: Vec<NodeGroup> = cloud.followed.clone();
    let mut renamed = BTreeMap::new();
    for base in bases {
        let same = followed.iter().find(|known| known.auto_scaling_group == base.auto_scaling_group);
        match same {
            // The run knows it by the label of its nodes.
            Some(known) => drop(renamed.insert(base.name.clone(), known.name.clone())),
            None => {
                scene.groups.push(LearntGroup { group: base.clone(), instances: Vec::new() });
                followed.push(base);
            }
        }
    }
    scene.groups.sort_by(|a, b| a.group.name.cmp(&b.group.name));
    let name = |name: &GroupName| renamed.get(name).unwrap_or(name).clone();
    for facts in &mut autoscaler.facts {
        let own = facts.name.clone();
        facts.name = name(&own);
        if facts.name != own {
            facts.auto_scaling.get_or_insert_with(|| own.text().clone());
        }
    }
    autoscaler.options.only =
        autoscaler.options.only.map(|only| only.iter().map(name).collect::<BTreeSet<_>>());
    autoscaler.group_by = scene.group_by.clone();
    printer.story(&format!(
        "{} scaled besides; {origin}",
        count(autoscaler.options.only.iter().flatten().count(), "group")
    ));
    cloud.aws.follow(followed);
    cloud.aws.follow_failures();
    scene.autoscaler = Some(autoscaler);
    Ok(())
}

/// How groups are scaled besides, where they are: whether that may be done, and nobody else does it.
///
/// # Errors
/// Where it may not, or somebody does.
pub(super) fn scales(
    (runtime, connection): (&Runtime, &Connection),
    scene: &Scene,
) -> Result<Option<Autoscaler>, Failure> {
    let Some(autoscaler) = &scene.autoscaler else { return Ok(None) };
    runtime.block_on(async {
        permitted(connection, None, &RbacVerb::Autoscale.rules()).await?;
        permitted(connection, Some(NAMESPACE), RbacVerb::Autoscale.of_namespace()).await?;
        nobody_else(connection, &scene.view).await
    })?;
    Ok(Some(autoscaler.clone()))
}

/// A core that handles interruptions besides, where messages are received.
pub(super) fn with_interruptions(core: Core, plan: &Plan, cloud: Option<&Arc<Aws>>) -> Core {
    let Some(cloud) = cloud else { return core };
    let home = Home { account: Text::from(cloud.account()), region: Text::from(cloud.region()) };
    core.with_interruptions(Options { home: Some(home), ..Options::beside(Some(plan)) })
}

/// Has the driver receive messages.
pub(super) fn receive(driving: &mut drive::Options, queue: Option<&Arc<AwsQueue>>) {
    let Some(queue) = queue else { return };
    driving.queue = Some(queue.clone() as Arc<dyn Queue>);
    driving.sight_max = SIGHT_MAX;
}
