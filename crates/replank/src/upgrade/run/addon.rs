//! An add-on, one version after the other.

use std::time::Duration;

use replank_advice::upgrade::addon_version::AddonVersion;
use replank_advice::upgrade::addons::CORE;
use replank_advice::upgrade::minor::Minor;
use replank_live::aws::{EksUpdate, Progress, UpdateOf};
use serde_json::Value;

use super::control_plane::issues;
use super::eyes::described;
use super::ground::{Asked, Came, Ground, RESUME, Stop, write};
use super::record::Kept;
use crate::commit::Commit;
use crate::failure::Failure;

/// How long is waited between two looks.
const BUSY: Duration = Duration::from_secs(2);
/// An update is over a moment before the add-on says so: how often it is looked at then.
const SAID_MAX: u32 = 8;

/// Brings an add-on to the last of some versions, through all of them.
pub(super) async fn carry(
    ground: &Ground<'_>,
    kept: &mut Kept,
    index: usize,
    (name, versions): (&str, &[String]),
) -> Result<Came, Failure> {
    let last = versions.last().map_or("", String::as_str);
    for version in versions {
        match to(ground, kept, index, (name, version, last)).await? {
            Came::Done => {}
            stopped @ Came::Stopped(_) => return Ok(stopped),
        }
    }
    Ok(Came::Done)
}

/// Says that an update is in progress which somebody else has begun, and what to commit of it.
fn foreign(ground: &Ground<'_>, (index, name): (usize, &str), (update, leads): (&EksUpdate, bool)) {
    let whose = "which somebody else has begun, is in progress: it is";
    let (id, what) = (&update.id, if leads { "followed" } else { "waited for" });
    match update.param("AddonVersion") {
        Some(to) => {
            ground.say(index, &format!("EKS update {id} to {to}, {whose} {what}"));
            if leads {
                ground.say(index, &format!("to commit: {}", Commit::addon(name, to).line()));
            }
        }
        None => ground.say(index, &format!("EKS update {id} of other settings, {whose} {what}")),
    }
}

async fn to(
    ground: &Ground<'_>,
    kept: &mut Kept,
    index: usize,
    (name, version, last): (&str, &str, &str),
) -> Result<Came, Failure> {
    let about = UpdateOf::Addon(name);
    let mut is_told = false;
    loop {
        let Some(mut answer) = ground.aws.addon(ground.cluster, name).await? else {
            return by_hand(ground, name, version).await;
        };
        let addon = answer["addon"].take();
        let present = text(&addon, "addonVersion");
        if is_changing(&addon) {
            let updates = ground.aws.updates(ground.cluster, about).await?;
            let open = updates.into_iter().find(|update| update.progress == Progress::InProgress);
            let Some(update) = open else {
                tokio::time::sleep(BUSY).await;
                continue;
            };
            let leads = update.param("AddonVersion").is_none_or(|to| to == version);
            if leads && ground.is_ours(kept, index, &update) {
                ground.say(index, &format!("EKS update {} is in progress: it is followed", update.id));
            } else if !std::mem::replace(&mut is_told, true) {
                foreign(ground, (index, name), (&update, leads));
            }
            if leads {
                ground.begin(kept, index).await?;
                match ground.follow(kept, index, (about, update)).await? {
                    Came::Done => {}
                    stopped @ Came::Stopped(_) => return Ok(stopped),
                }
            }
            tokio::time::sleep(BUSY).await;
            continue;
        }
        if is_there(present, version) {
            return Ok(healthy(name, &addon));
        }
        if let Some(stopped) = unfit(ground, name, version).await? {
            return Ok(stopped);
        }
        let conflicts = kept.upgrade.conflicts_of(name).to_owned();
        let request = format!("{version} {conflicts}");
        let asked = ground.ask(kept, (index, &request), |token| async move {
            let is_in_time = || ground.is_in_time();
            let write = write(&token, &is_in_time);
            ground.aws.update_addon(ground.cluster, (name, version), &conflicts, write).await
        });
        let update = match asked.await? {
            Asked::Begun(update) => update,
            Asked::Busy => {
                tokio::time::sleep(BUSY).await;
                continue;
            }
            Asked::Refused(why) => {
                return Ok(Stop::blocked(
                    format!("EKS refuses the update of add-on {name} to {version}: {why}"),
                    format!("once that is cleared: {RESUME}"),
                ));
            }
        };
        let id = update.id.clone();
        let on_the_way = if version == last { String::new() } else { format!(", on the way to {last}") };
        ground.say(index, &format!("EKS updates add-on {name} to {version}{on_the_way}: update {id}"));
        match ground.follow(kept, index, (about, update)).await? {
            Came::Done => {}
            stopped @ Came::Stopped(_) => return Ok(stopped),
        }
        if let Some(present) = set_back(ground, name, version).await? {
            // The same request would be answered with the same update.
            ground.failed(kept, index).await?;
            return Ok(Stop::blocked(
                format!(
                    "EKS update {id} of add-on {name} to {version} was successful, and the add-on runs {present}: somebody has set it back"
                ),
                format!(
                    "find out who (Terraform, GitOps), and have that name {version}; then: {RESUME} asks for it again"
                ),
            ));
        }
    }
}

/// What an add-on runs although an update of it was successful; nothing where it runs the version, or is being changed.
async fn set_back(ground: &Ground<'_>, name: &str, version: &str) -> Result<Option<String>, Failure> {
    let mut present = String::new();
    for _ in 0..SAID_MAX {
        let Some(answer) = ground.aws.addon(ground.cluster, name).await? else { return Ok(None) };
        let addon = &answer["addon"];
        text(addon, "addonVersion").clone_into(&mut present);
        if is_there(&present, version) || is_changing(addon) {
            return Ok(None);
        }
        tokio::time::sleep(BUSY).await;
    }
    Ok(Some(present))
}

/// Whether EKS is at work on an add-on.
fn is_changing(addon: &Value) -> bool {
    matches!(text(addon, "status"), "CREATING" | "UPDATING" | "DELETING")
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_default()
}

/// Whether an add-on runs a version, or one that is newer.
fn is_there(present: &str, version: &str) -> bool {
    match (AddonVersion::of(present), AddonVersion::of(version)) {
        (Some(present), Some(version)) => present >= version,
        (Some(_) | None, Some(_) | None) => present == version,
    }
}

/// An add-on that has its version and does not work stops the upgrade.
fn healthy(name: &str, addon: &Value) -> Came {
    let status = text(addon, "status");
    if status == "ACTIVE" {
        return Came::Done;
    }
    let issues = issues(addon);
    let why = if issues.is_empty() { String::new() } else { format!(": {}", issues.join("; ")) };
    Stop::blocked(
        format!("add-on {name} is {status}{why}"),
        format!("aws eks describe-addon shows more; once it is ACTIVE: {RESUME}"),
    )
}

/// Whether EKS offers a version for the control plane as it is at this moment.
async fn unfit(ground: &Ground<'_>, name: &str, version: &str) -> Result<Option<Came>, Failure> {
    let cluster = described(ground.aws, ground.cluster).await?;
    let at = cluster["cluster"]["version"].as_str().unwrap_or_default().to_owned();
    let offered = ground.aws.addon_versions(name).await?;
    let goes = |one: &&Value| {
        let with = one["compatibilities"].as_array().into_iter().flatten();
        with.clone().any(|one| one["clusterVersion"] == *at)
    };
    let own = offered["addons"].as_array().into_iter().flatten();
    let own = own.flat_map(|addon| addon["addonVersions"].as_array().into_iter().flatten());
    let going: Vec<&str> = own.filter(goes).filter_map(|one| one["addonVersion"].as_str()).collect();
    Ok((!going.contains(&version)).then(|| {
        Stop::blocked(
            format!("EKS does not offer {version} of add-on {name} for {at}: it offers {}", some(&going)),
            "this plan does not lead on from there: replank upgrade cancel, then plan again: replank upgrade run --to VERSION",
        )
    }))
}

fn some(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// One that is no add-on of EKS is whoever's it is; what its image shows tells when it is done.
async fn by_hand(ground: &Ground<'_>, name: &str, version: &str) -> Result<Came, Failure> {
    if let Some(image) = image(ground, name).await?
        && is_there(&image, version)
    {
        return Ok(Came::Done);
    }
    Ok(Stop::blocked(
        format!(
            "{name} is not an add-on of EKS in this cluster: whoever installed it has to update it to {version}"
        ),
        format!(
            "update it, or make it an add-on of EKS: aws eks create-addon --cluster-name {} --addon-name {name} --addon-version {version} \
             --resolve-conflicts OVERWRITE; then: {RESUME}",
            ground.cluster
        ),
    ))
}

/// The tag of the image that the workload of an add-on runs.
async fn image(ground: &Ground<'_>, name: &str) -> Result<Option<String>, Failure> {
    let Some((_, kind, workload)) = CORE.iter().find(|(known, ..)| *known == name) else { return Ok(None) };
    let plural = if *kind == "DaemonSet" { "daemonsets" } else { "deployments" };
    let path = format!("/apis/apps/v1/namespaces/kube-system/{plural}/{workload}");
    let answer = ground.connection.get(&path, "application/json").await?;
    let object: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let image = object["spec"]["template"]["spec"]["containers"][0]["image"].as_str();
    Ok(image.and_then(|image| image.rsplit_once(':')).map(|(_, tag)| tag.to_owned()))
}

/// The version of kube-proxy that goes with a version of Kubernetes: EKS's default, or else the newest.
pub(super) async fn kube_proxy(ground: &Ground<'_>, to: &str) -> Result<Option<String>, Failure> {
    let offered = ground.aws.addon_versions("kube-proxy").await?;
    let own = offered["addons"].as_array().into_iter().flatten();
    let own = own.flat_map(|addon| addon["addonVersions"].as_array().into_iter().flatten());
    let of_minor = |one: &&Value| {
        let version = one["addonVersion"].as_str().and_then(AddonVersion::of);
        version.map(|version| Minor(version.numbers()[1]).to_string()).as_deref() == Some(to)
    };
    let mut going: Vec<(bool, AddonVersion)> = Vec::new();
    for one in own.filter(of_minor) {
        let with = one["compatibilities"].as_array().into_iter().flatten();
        let is_default =
            with.into_iter().any(|one| one["clusterVersion"] == *to && one["defaultVersion"] == true);
        going.extend(
            one["addonVersion"].as_str().and_then(AddonVersion::of).map(|version| (is_default, version)),
        );
    }
    Ok(going.into_iter().max().map(|(_, version)| version.to_string()))
}
