//! What is to be committed where infrastructure is kept as code, once an upgrade is done.

use replank_live::aws::Aws;
use serde_json::Value;

use super::record::{Kept, Todo, Upgrade};
use crate::commit::Commit;
use crate::failure::Failure;

/// What to commit when all is done.
///
/// # Errors
/// Where EKS cannot be asked.
pub(super) async fn commits(aws: &Aws, kept: &Kept) -> Result<Vec<Commit>, Failure> {
    let mut all = Vec::new();
    let upgrade = &kept.upgrade;
    for step in &upgrade.steps {
        match &step.what {
            Todo::ControlPlane { to, from: _ } if *to == upgrade.to => {
                all.push(Commit::cluster(&upgrade.cluster, to));
            }
            Todo::ControlPlane { .. }
            | Todo::Bake { .. }
            | Todo::LeftToProvisioner { .. }
            | Todo::Roll { .. } => {}
            Todo::KubeProxy { .. } => all.extend(addon(aws, upgrade, "kube-proxy").await?),
            Todo::Addon { name, .. } => {
                let commit = addon(aws, upgrade, name).await?;
                all.retain(|known| Some(&known.of) != commit.as_ref().map(|commit| &commit.of));
                all.extend(commit);
            }
        }
    }
    for group in aws.nodegroups(&upgrade.cluster).await? {
        let answer = aws.described_nodegroup(&upgrade.cluster, &group).await?;
        let own = &answer["nodegroup"];
        let pair = |kind: &str, value: &Value| Some((kind.to_owned(), value.as_str()?.to_owned()));
        let params = [
            pair("Version", &own["version"]),
            pair("ReleaseVersion", &own["releaseVersion"]),
            pair("LaunchTemplateVersion", &own["launchTemplate"]["version"]),
        ];
        all.extend(Commit::nodegroup(&group, &params.into_iter().flatten().collect::<Vec<_>>()));
    }
    Ok(all)
}

async fn addon(aws: &Aws, upgrade: &Upgrade, name: &str) -> Result<Option<Commit>, Failure> {
    let answer = aws.addon(&upgrade.cluster, name).await?;
    let version = answer.as_ref().and_then(|answer| answer["addon"]["addonVersion"].as_str());
    Ok(version.map(|version| Commit::addon(name, version)))
}
