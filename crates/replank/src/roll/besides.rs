//! Messages about instances, handled by the process that carries out a run: interruptions and the run are decided together.

use std::sync::Arc;
use std::time::Duration;

use replank_core::Core;
use replank_core::interrupt::{Home, Options};
use replank_facts::plan::Plan;
use replank_live::aws::{Aws, AwsQueue};
use replank_live::drive;
use replank_live::queue::Queue;
use replank_live::{Attempt, Connection, Holder, Lease};
use replank_model::text::Text;
use replank_protocol::record::NAMESPACE;
use tokio::runtime::Runtime;

use super::records::identity;
use crate::drain::RbacVerb;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::handle::LEASE;
use crate::live::permitted;

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

/// The Lease of whoever handles messages, where this process is to.
///
/// # Errors
/// Where another process handles them.
pub(super) async fn taken(
    connection: &Connection,
    queue: Option<&Arc<AwsQueue>>,
) -> Result<Option<Box<Lease>>, Failure> {
    if queue.is_none() {
        return Ok(None);
    }
    match Lease::take(connection, (NAMESPACE, LEASE), &identity()).await? {
        Attempt::Taken(lease) => Ok(Some(lease)),
        Attempt::HeldBy(holder) => Err(Failure {
            exit: Exit::Refused,
            ..Failure::usage_message(format!("--queue-url: messages are handled by {holder}"))
        }
        .next("end that process; one that is gone is forgotten half a minute later. Or leave --queue-url out: a node that it has marked is left to it")),
    }
}

/// Returns when the Lease is lost; never, where there is none.
pub(super) async fn kept(lease: &mut Option<Box<Lease>>) -> Option<Holder> {
    match lease {
        Some(lease) => lease.keep().await,
        None => std::future::pending().await,
    }
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
