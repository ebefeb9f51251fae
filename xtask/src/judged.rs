//! What is judged, and what it is judged by: the program as a user builds it, and the programs of a control plane.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};
use replank_judge::{Assets, BUILT, ControlPlane, Kubelets, NodeSpec, Served, find_assets};

use crate::root;

/// The programs of a real control plane.
///
/// # Errors
/// There are none on this machine.
pub(crate) fn assets() -> Result<Assets> {
    find_assets(&root(), &cache())
}

/// Where archives are unpacked.
pub(crate) fn cache() -> PathBuf {
    root().join("target/control-plane")
}

/// Where programs are that were built here.
pub(crate) fn built() -> PathBuf {
    cache().join(BUILT)
}

/// The program: the one that is named, or one built for this.
///
/// # Errors
/// It does not build.
pub(crate) fn replank(named: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = named {
        return Ok(path.to_owned());
    }
    let done = crate::workspace::cargo()
        .args(["build", "-p", "replank", "--locked"])
        .current_dir(root())
        .status()?;
    ensure!(done.success(), "cargo build failed");
    Ok(crate::workspace::target()?.join("debug/replank"))
}

/// How long containers of Jobs run on both sides.
const JOB: Duration = Duration::from_secs(5);

/// A cluster of three nodes on which something is tried.
#[derive(Debug)]
pub(crate) struct Cluster<'a> {
    /// The program that serves it; without one it is a real control plane with kubelets that are played.
    pub(crate) served: Option<&'a Path>,
    /// What is said to the program besides.
    pub(crate) arguments: &'a [&'a str],
}

/// Does something with one that lasts as long, and lives in `folder`.
///
/// # Errors
/// It does not start.
pub(crate) fn on_cluster<T>(cluster: &Cluster<'_>, folder: &Path, act: impl FnOnce(&Path) -> T) -> Result<T> {
    if let Some(replank) = cluster.served {
        let arguments = [&["--nodes", "3"], cluster.arguments].concat();
        let served = Served::up(replank, &arguments, &folder.join("served"))?;
        return Ok(act(served.kubeconfig()));
    }
    let plane = ControlPlane::up(&assets()?, &folder.join("real"))?;
    let kubelets = Kubelets::begin(plane.client());
    kubelets.jobs_end_after(JOB);
    kubelets.tell_events();
    for number in 0..3 {
        kubelets.register(&worker(number))?;
    }
    Ok(act(&plane.kubeconfig()))
}

/// A node as `replank cluster up --nodes 3` has it, for a kubelet that is played.
pub(crate) fn worker(number: u8) -> NodeSpec {
    let name = format!("node-{}", number + 1);
    let labels = [
        ("eks.amazonaws.com/nodegroup", "default".to_owned()),
        ("kubernetes.io/hostname", name.clone()),
        ("kubernetes.io/os", "linux".to_owned()),
        ("kubernetes.io/arch", "amd64".to_owned()),
        ("node.kubernetes.io/instance-type", "m6i.xlarge".to_owned()),
        ("topology.kubernetes.io/region", "eu-west-1".to_owned()),
        ("topology.kubernetes.io/zone", format!("eu-west-1{}", char::from(b'a' + number))),
    ];
    let capacity = [("cpu", "4"), ("memory", "16Gi"), ("pods", "58"), ("ephemeral-storage", "80Gi")];
    NodeSpec {
        name,
        labels: labels.map(|(key, value)| (key.to_owned(), value)).into(),
        taints: Vec::new(),
        capacity: capacity.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        version: "v1.36.2".to_owned(),
    }
}
