//! A dump of a real cluster, several times over: its namespaces, nodes and volumes once more under other names.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use flate2::read::MultiGzDecoder;
use serde_json::Value;

use crate::bench_files::Files;
use crate::list::List;

#[derive(Debug, clap::Args)]
pub(crate) struct DumpArgs {
    /// Measures a roll of all managed node groups of a dumped cluster (JSON from `kubectl get -o json`; gzip if FILE ends in .gz) instead of generated clusters.
    #[arg(long, value_name = "FILE")]
    dump: Option<PathBuf>,
    /// Copies of the dumped cluster: 10 copies of 40 nodes make a cluster of 400.
    #[arg(long, default_value_t = 10, requires = "dump", value_parser = clap::value_parser!(u16).range(1..=4_096))]
    copies: u16,
}

impl DumpArgs {
    pub(crate) fn files(&self, dir: &Path) -> Result<Option<Files>> {
        self.dump.as_deref().map(|dump| files(dir, dump, self.copies)).transpose()
    }
}

/// The multiplied dump, and a plan that rolls all of its managed node groups.
fn files(dir: &Path, dump: &Path, copies: u16) -> Result<Files> {
    let mut text = Vec::new();
    let file =
        BufReader::new(File::open(dump).with_context(|| format!("{} cannot be read", dump.display()))?);
    match dump.extension().is_some_and(|ending| ending == "gz") {
        true => MultiGzDecoder::new(file).read_to_end(&mut text)?,
        false => { file }.read_to_end(&mut text)?,
    };
    let value: Value =
        serde_json::from_slice(&text).with_context(|| format!("{} is no JSON", dump.display()))?;
    let items = value["items"].as_array().with_context(|| format!("{} has no items", dump.display()))?;
    let names = Names::of(items);
    let snapshot = dir.join(format!("dump-{copies}.json.gz"));
    let mut list = List::gzip(&snapshot)?;
    for copy in 0..copies {
        for item in items.iter().filter(|item| copy == 0 || names.is_copied(item)) {
            list.item(&names.copied(item, copy))?;
        }
    }
    list.end()?.finish()?.flush()?;
    let of_kind = |kind: &str| items.iter().filter(|item| item["kind"] == kind).count() * usize::from(copies);
    let group = |item: &Value| Some(item["metadata"]["labels"][NODEGROUP].as_str()?.to_owned());
    let groups: BTreeSet<String> =
        items.iter().filter(|item| item["kind"] == "Node").filter_map(group).collect();
    ensure!(!groups.is_empty(), "{} has no node with the label {NODEGROUP}", dump.display());
    let plan = dir.join(format!("dump-{copies}.plan.yaml"));
    let text = format!(
        "apiVersion: replank.dev/v1alpha1\nkind: NodeRoll\nmetadata: {{name: dump-{copies}}}\nspec:\n  groups: [{}]\n  \
         target: {{kubernetesVersion: \"1.36\"}}\n  budget: {{surge: 5%, maxUnavailable: 0}}\n  pace: {{parallel: {}}}\n",
        groups.into_iter().collect::<Vec<_>>().join(", "),
        of_kind("Node").div_ceil(20)
    );
    std::fs::write(&plan, text)?;
    Ok(Files { snapshot, plan, nodes: of_kind("Node"), pods: of_kind("Pod") })
}

const NODEGROUP: &str = "eks.amazonaws.com/nodegroup";

/// What has to be another in each copy, wherever it is named.
struct Names {
    names: BTreeSet<String>,
    uids: BTreeSet<String>,
}

impl Names {
    fn of(items: &[Value]) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let is_named =
            |item: &&Value| matches!(item["kind"].as_str(), Some("Node" | "Namespace" | "PersistentVolume"));
        Self {
            names: items.iter().filter(is_named).filter_map(|item| text(&item["metadata"]["name"])).collect(),
            uids: items.iter().filter_map(|item| text(&item["metadata"]["uid"])).collect(),
        }
    }

    /// Classes and the like are there once, however large a cluster is.
    fn is_copied(&self, item: &Value) -> bool {
        let meta = &item["metadata"];
        meta["namespace"].is_string() || meta["name"].as_str().is_some_and(|name| self.names.contains(name))
    }

    fn copied(&self, value: &Value, copy: u16) -> Value {
        match value {
            Value::String(text) if copy > 0 => Value::String(self.renamed(text, copy)),
            Value::Array(items) => items.iter().map(|item| self.copied(item, copy)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(key, value)| (key.clone(), self.copied(value, copy))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    fn renamed(&self, text: &str, copy: u16) -> String {
        if self.names.contains(text) {
            return match text.split_once('.') {
                Some((host, domain)) => format!("{host}-{copy}.{domain}"),
                None => format!("{text}-{copy}"),
            };
        }
        let instance = text.strip_prefix("aws:///").and_then(|_| text.rfind("/i-"));
        match instance {
            Some(at) => format!("{}{copy:03x}{}", &text[..at + 3], text.get(at + 6..).unwrap_or_default()),
            None if self.uids.contains(text) => {
                format!("{copy:03x}{}", text.get(3..).unwrap_or_default())
            }
            None => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_copy_has_nodes_namespaces_and_instances_of_its_own() {
        let items = [
            json!({"kind": "Node", "metadata": {"name": "ip-1.internal", "uid": "4711-a"}, "spec": {"providerID": "aws:///zone/i-0123456789"}}),
            json!({"kind": "Namespace", "metadata": {"name": "shop"}}),
            json!({"kind": "StorageClass", "metadata": {"name": "gp3"}}),
            json!({"kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"nodeName": "ip-1.internal"}}),
        ];
        let names = Names::of(&items);
        let copied: Vec<bool> = items.iter().map(|item| names.is_copied(item)).collect();
        assert_eq!(copied, [true, true, false, true]);
        assert_eq!(names.copied(&items[3], 0), items[3]);
        assert_eq!(
            names.copied(&items[3], 2),
            json!({"kind": "Pod", "metadata": {"name": "web", "namespace": "shop-2"}, "spec": {"nodeName": "ip-1-2.internal"}})
        );
        assert_eq!(
            names.copied(&items[0], 2),
            json!({"kind": "Node", "metadata": {"name": "ip-1-2.internal", "uid": "0021-a"}, "spec": {"providerID": "aws:///zone/i-0023456789"}})
        );
    }
}
