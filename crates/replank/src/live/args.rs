//! How a live cluster is named, and the arguments of `snapshot`.

use std::path::PathBuf;

use clap::Args;
use replank_model::text::Namespace;

/// A live cluster, as kubectl would find it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LiveArgs {
    /// Reads the cluster of this kubeconfig context. Without SNAPSHOT, the cluster of the current context is read.
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// Kubeconfig file, instead of those of KUBECONFIG and of ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// Arguments of `snapshot`.
#[derive(Args, Debug)]
pub(crate) struct SnapshotArgs {
    /// The cluster.
    #[command(flatten)]
    pub(crate) live: LiveArgs,

    /// Only objects of this namespace, and those that are in none. A rehearsal of a part is one of a part: what shares the nodes is not seen.
    #[arg(short = 'n', long, value_name = "NAME")]
    pub(crate) namespace: Option<Namespace>,

    /// A ConfigMap that is read with its contents, as NAMESPACE/NAME. May be given several times. Otherwise no ConfigMap is read.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = named)]
    pub(crate) config_map: Vec<(String, String)>,

    /// Replaces names (objects, namespaces, nodes, label values, images, hosts) by others, the same ones everywhere, so that the snapshot can be passed on.
    #[arg(long)]
    pub(crate) redact_names: bool,

    /// File to write; with .gz at its end, compressed. By default, standard output.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// `istio-system/istio`.
fn named(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok((namespace.to_owned(), name.to_owned()))
        }
        Some(_) | None => Err("expected NAMESPACE/NAME, such as istio-system/istio".to_owned()),
    }
}
