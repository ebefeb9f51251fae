//! A large cluster as a snapshot, and a plan for it.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use replank_testkit::big::BigCluster;

use crate::list::List;

/// What is rehearsed, and how large it is.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub(crate) snapshot: PathBuf,
    pub(crate) plan: PathBuf,
    pub(crate) nodes: usize,
    pub(crate) pods: usize,
}

/// The cluster and a plan that rolls all of it, a twentieth at a time.
pub(crate) fn files(dir: &Path, cluster: BigCluster) -> Result<Files> {
    let snapshot = dir.join(format!("big-{}.json.gz", cluster.nodes()));
    let mut list = List::gzip(&snapshot)?;
    for object in cluster.objects() {
        list.item(&object)?;
    }
    list.end()?.finish()?.flush()?;
    let plan = dir.join(format!("big-{}.plan.yaml", cluster.nodes()));
    let groups = BigCluster::groups().join(", ");
    let parallel = cluster.nodes().div_ceil(20);
    // Volumes are bound to zones: of the new nodes of each group there is to be one in every zone before old ones go.
    let surge = if cluster.nodes() < 1_000 { "6" } else { "5%" };
    let text = format!(
        "apiVersion: replank.dev/v1alpha1\nkind: NodeRoll\nmetadata: {{name: big-{nodes}}}\nspec:\n  groups: [{groups}]\n  \
         target: {{kubernetesVersion: \"1.36\"}}\n  budget: {{surge: {surge}, maxUnavailable: 0}}\n  pace: {{parallel: {parallel}}}\n",
        nodes = cluster.nodes()
    );
    std::fs::write(&plan, text)?;
    Ok(Files { snapshot, plan, nodes: cluster.nodes(), pods: cluster.pods() })
}
