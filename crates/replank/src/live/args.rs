//! How a live cluster is named, and the arguments of `snapshot`.

use std::path::{Path, PathBuf};

use clap::Args;
use replank_model::text::Namespace;

/// A live cluster, as kubectl would find it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LiveArgs {
    /// The cluster of this kubeconfig context. By default that of the current context.
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
    #[arg(long, value_name = "FILE", conflicts_with = "output")]
    pub(crate) write: Option<PathBuf>,

    /// The same as --write; json is no file, but what is printed anyway.
    #[arg(short = 'o', long = "output", value_name = "FILE|json", value_parser = output)]
    pub(crate) output: Option<Output>,
}

impl SnapshotArgs {
    /// The file that is written; none where it is printed.
    pub(crate) fn file(&self) -> Option<&Path> {
        match &self.output {
            Some(Output::File(path)) => Some(path),
            Some(Output::Json) => None,
            None => self.write.as_deref(),
        }
    }
}

/// What `-o` of `snapshot` says: it is a file, where it is a format everywhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// A file.
    File(PathBuf),
    /// The only format that a snapshot has.
    Json,
}

/// Whoever is used to kubectl writes a format: a file of such a name is nobody's wish.
fn output(text: &str) -> Result<Output, String> {
    match text {
        "" => Err("expected a file, or json".to_owned()),
        "json" => Ok(Output::Json),
        "yaml" | "text" | "wide" | "name" => {
            Err(format!("a snapshot is JSON; to write a file of the name {text}: --write {text}"))
        }
        file => Ok(Output::File(file.into())),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_no_file() {
        assert_eq!(output("json"), Ok(Output::Json));
        assert_eq!(output("cluster.json.gz"), Ok(Output::File("cluster.json.gz".into())));
        assert_eq!(output("./json"), Ok(Output::File("./json".into())));
        assert!(output("yaml").is_err_and(|why| why.contains("--write yaml")) && output("").is_err());
    }
}
