//! A step of the control plane: asked for once, followed to its end; an update of somebody else that leads there is followed, too.

use std::time::Duration;

use replank_live::aws::{EksUpdate, Progress, UpdateOf};
use serde_json::Value;

use super::eyes::described;
use super::ground::{Asked, Came, Ground, RESUME, Stop, write};
use super::record::Kept;
use crate::commit::Commit;
use crate::failure::Failure;
use crate::patience::patiently;

/// How long is waited between two looks at another update.
const BUSY: Duration = Duration::from_secs(5);
/// An update is over a moment before the cluster says so: how often it is looked at then, and how long between two looks.
const SAID_MAX: u32 = 60;
const SAID_EVERY: Duration = Duration::from_secs(1);

/// How a step of the control plane stands.
pub(super) enum At {
    /// The control plane runs the version.
    Done,
    /// It is to be asked for.
    Open,
    /// An update that leads there is in progress.
    Leads(EksUpdate),
    /// Something else is in progress: an update, where EKS lists it.
    Busy(Option<EksUpdate>),
    /// The control plane runs neither the one version nor the other.
    Elsewhere(String),
    /// It is neither ACTIVE nor updated: its status.
    Down(String),
}

/// Looks how a step stands.
pub(super) async fn look(ground: &Ground<'_>, (from, to): (&str, &str)) -> Result<At, Failure> {
    let cluster = patiently(|| described(ground.aws, ground.cluster)).await?["cluster"].take();
    let version = cluster["version"].as_str().unwrap_or_default();
    Ok(match cluster["status"].as_str().unwrap_or_default() {
        "ACTIVE" if version == to => At::Done,
        "ACTIVE" if version == from => At::Open,
        "ACTIVE" => At::Elsewhere(version.to_owned()),
        "UPDATING" => {
            let updates = ground.aws.updates(ground.cluster, UpdateOf::Cluster).await?;
            match updates.into_iter().find(|update| update.progress == Progress::InProgress) {
                Some(update) if update.param("Version") == Some(to) => At::Leads(update),
                other => At::Busy(other),
            }
        }
        status => At::Down(status.to_owned()),
    })
}

/// Waits a while for something else that is in progress. Whoever calls looks once more.
pub(super) async fn pass_by(
    ground: &Ground<'_>,
    index: usize,
    other: Option<EksUpdate>,
    is_told: bool,
) -> Result<Came, Failure> {
    if !is_told {
        let what = other.map_or_else(
            || format!("cluster {} to be ACTIVE: it is UPDATING", ground.cluster),
            |update| format!("EKS update {} ({}) to end", update.id, update.kind),
        );
        ground.say(index, &format!("waiting for {what}"));
    }
    tokio::time::sleep(BUSY).await;
    Ok(Came::Done)
}

/// Follows an update that leads there. Whoever calls looks once more.
pub(super) async fn adopt(
    ground: &Ground<'_>,
    kept: &mut Kept,
    index: usize,
    (from, to): (&str, &str),
    update: EksUpdate,
) -> Result<Came, Failure> {
    adopted(ground, kept, index, (to, &update));
    ground.begin(kept, index).await?;
    ended(ground, kept, index, (from, to), update).await
}

/// Asks for it, and follows. Whoever calls has just looked at what stands in the way, and looks once more: another update may have been faster.
pub(super) async fn ask(
    ground: &Ground<'_>,
    kept: &mut Kept,
    index: usize,
    (from, to): (&str, &str),
) -> Result<Came, Failure> {
    let part = if ground.is_forced { "forced" } else { "" };
    let asked = ground.ask(kept, (index, part), |token| async move {
        let is_in_time = || ground.is_in_time();
        let asked = (to, ground.is_forced);
        ground.aws.update_cluster_version(ground.cluster, asked, write(&token, &is_in_time)).await
    });
    match asked.await? {
        Asked::Begun(update) => {
            ground.say(index, &format!("EKS updates the control plane to {to}: update {}", update.id));
            ended(ground, kept, index, (from, to), update).await
        }
        Asked::Busy => {
            tokio::time::sleep(BUSY).await;
            Ok(Came::Done)
        }
        Asked::Refused(why) => Ok(refused(&why)),
    }
}

/// Follows an update until the cluster shows what it has done.
async fn ended(
    ground: &Ground<'_>,
    kept: &mut Kept,
    index: usize,
    (from, to): (&str, &str),
    update: EksUpdate,
) -> Result<Came, Failure> {
    let id = update.id.clone();
    match ground.follow(kept, index, (UpdateOf::Cluster, update)).await? {
        Came::Done => {}
        stopped @ Came::Stopped(_) => return Ok(stopped),
    }
    for _ in 0..SAID_MAX {
        tokio::time::sleep(SAID_EVERY).await;
        match look(ground, (from, to)).await? {
            At::Open => {}
            At::Done | At::Leads(_) | At::Busy(_) | At::Elsewhere(_) | At::Down(_) => return Ok(Came::Done),
        }
    }
    // The same request would be answered with the same update.
    ground.failed(kept, index).await?;
    Ok(Stop::blocked(
        format!(
            "EKS update {id} to {to} was successful, and the control plane runs {from}: somebody has set it back"
        ),
        format!(
            "find out who: aws eks list-updates --name {}; then: {RESUME} asks for it again",
            ground.cluster
        ),
    ))
}

/// Says whose the update is that is followed.
fn adopted(ground: &Ground<'_>, kept: &Kept, index: usize, (to, update): (&str, &EksUpdate)) {
    let id = &update.id;
    if ground.is_ours(kept, index, update) {
        ground.say(index, &format!("EKS update {id} to {to} is in progress: it is followed"));
        return;
    }
    ground.say(
        index,
        &format!("EKS update {id} to {to}, which somebody else has begun, is in progress: it is followed"),
    );
    ground.say(index, &format!("to commit: {}", Commit::cluster(ground.cluster, to).line()));
}

fn refused(why: &str) -> Came {
    Stop::blocked(format!("EKS refuses the step: {why}"), format!("once that is cleared: {RESUME}"))
}

/// Somebody has changed the version.
pub(super) fn elsewhere(version: &str, (from, to): (&str, &str)) -> Came {
    Stop::blocked(
        format!(
            "the control plane runs {version}, and the step is from {from} to {to}: somebody has changed it"
        ),
        "this plan does not lead on from there: replank upgrade cancel, then plan again: replank upgrade run --to VERSION",
    )
}

/// A control plane that does not work, is being made or deleted.
pub(super) fn down(cluster: &str, status: &str) -> Came {
    Stop::blocked(
        format!("cluster {cluster} is {status}"),
        format!("aws eks describe-cluster --name {cluster} shows more; once it is ACTIVE: {RESUME}"),
    )
}

/// Whether the cluster's health shows issues.
pub(super) fn issues(cluster: &Value) -> Vec<String> {
    let all = cluster["health"]["issues"].as_array().into_iter().flatten();
    all.map(|one| {
        let text = |member: &str| one[member].as_str().unwrap_or_default();
        format!("{}: {}", text("code"), text("message"))
    })
    .collect()
}
