//! A step of the control plane: asked for once, followed to its end; an update of somebody else that leads there is followed, too.

use std::time::Duration;

use replank_live::aws::{EksUpdate, Progress, UpdateOf};
use serde_json::Value;

use super::eyes::described;
use super::ground::{Asked, Came, Ground, RESUME, Stop, write};
use super::record::Kept;
use crate::commit::Commit;
use crate::failure::Failure;

/// How long is waited between two looks at another update.
const BUSY: Duration = Duration::from_secs(5);

/// How a step of the control plane stands.
pub(super) enum At {
    /// The control plane runs the version.
    Done,
    /// It is to be asked for.
    Open,
    /// An update that leads there is in progress.
    Leads(EksUpdate),
    /// Another update is in progress.
    Busy(EksUpdate),
    /// The control plane runs neither the one version nor the other.
    Elsewhere(String),
}

/// Looks how a step stands.
pub(super) async fn look(ground: &Ground<'_>, (from, to): (&str, &str)) -> Result<At, Failure> {
    let cluster = described(ground.aws, ground.cluster).await?["cluster"].take();
    let version = cluster["version"].as_str().unwrap_or_default().to_owned();
    let is_active = cluster["status"] == "ACTIVE";
    if version == to && is_active {
        return Ok(At::Done);
    }
    if !is_active {
        let updates = ground.aws.updates(ground.cluster, UpdateOf::Cluster).await?;
        let open = updates.into_iter().find(|update| update.progress == Progress::InProgress);
        return Ok(match open {
            Some(update) if update.param("Version") == Some(to) => At::Leads(update),
            Some(update) => At::Busy(update),
            None if version == from || version == to => At::Open,
            None => At::Elsewhere(version),
        });
    }
    Ok(if version == from { At::Open } else { At::Elsewhere(version) })
}

/// Carries it out from there. Whoever calls has looked at what stands in the way.
pub(super) async fn carry(
    ground: &Ground<'_>,
    kept: &mut Kept,
    index: usize,
    (from, to): (&str, &str),
) -> Result<Came, Failure> {
    let mut is_told = false;
    loop {
        let update = match look(ground, (from, to)).await? {
            At::Done => return Ok(Came::Done),
            At::Elsewhere(version) => return Ok(elsewhere(&version, (from, to))),
            At::Busy(update) => {
                if !std::mem::replace(&mut is_told, true) {
                    ground.say(
                        index,
                        &format!("waiting for EKS update {} ({}) to end", update.id, update.kind),
                    );
                }
                tokio::time::sleep(BUSY).await;
                continue;
            }
            At::Leads(update) => {
                adopted(ground, kept, index, (to, &update));
                ground.begin(kept, index).await?;
                update
            }
            At::Open => {
                let part = if ground.is_forced { "forced" } else { "" };
                let asked = ground.ask(kept, (index, part), |token| async move {
                    let is_in_time = || ground.is_in_time();
                    let asked = (to, ground.is_forced);
                    ground.aws.update_cluster_version(ground.cluster, asked, write(&token, &is_in_time)).await
                });
                match asked.await? {
                    Asked::Begun(update) => {
                        ground.say(
                            index,
                            &format!("EKS updates the control plane to {to}: update {}", update.id),
                        );
                        update
                    }
                    Asked::Busy => {
                        tokio::time::sleep(BUSY).await;
                        continue;
                    }
                    Asked::Refused(why) => return Ok(refused(&why)),
                }
            }
        };
        match ground.follow(kept, index, (UpdateOf::Cluster, update)).await? {
            Came::Done => {}
            stopped @ Came::Stopped(_) => return Ok(stopped),
        }
        // The update is over a moment before the cluster says so.
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
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

/// Whether the cluster's health shows issues.
pub(super) fn issues(cluster: &Value) -> Vec<String> {
    let all = cluster["health"]["issues"].as_array().into_iter().flatten();
    all.map(|one| {
        let text = |member: &str| one[member].as_str().unwrap_or_default();
        format!("{}: {}", text("code"), text("message"))
    })
    .collect()
}
