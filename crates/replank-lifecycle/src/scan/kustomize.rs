//! What a Kustomization takes from elsewhere, and which versions its patches look for.

use std::sync::Arc;

use super::{Scan, Unrendered, Use};
use crate::finding::{Confidence, Evidence};
use crate::source::{Node, Place};

pub(super) fn scan(scan: &mut Scan<'_>, name: &Arc<str>, root: &Node<'_>) {
    let file = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_named = matches!(file, "kustomization.yaml" | "kustomization.yml" | "Kustomization");
    let is_kind =
        root.text_of("apiVersion").is_some_and(|version| version.starts_with("kustomize.config.k8s.io/"));
    if !(is_named || is_kind) {
        return;
    }
    let place_of =
        |node: &Node<'_>| Place { source: name.clone(), line: node.at.line, column: node.at.column };
    for key in ["resources", "bases", "components"] {
        for item in root.get(key).map(Node::items).unwrap_or_default() {
            if let Some(base) = item.text().filter(|base| is_remote(base)) {
                scan.report.unrendered.push(Unrendered {
                    place: place_of(item),
                    what: with_ref(base),
                    why: "a remote base, which is not fetched",
                });
            }
        }
    }
    for chart in root.get("helmCharts").map(Node::items).unwrap_or_default() {
        let text = |key: &str| chart.text_of(key).unwrap_or_default();
        let version = chart.text_of("version").map(|version| format!("@{version}")).unwrap_or_default();
        scan.report.unrendered.push(Unrendered {
            place: place_of(chart),
            what: format!("{} {}{version}", text("repo"), text("name")).trim().to_owned(),
            why: "a chart of a kustomization, which is not fetched",
        });
    }
    for key in ["patches", "patchesJson6902"] {
        for target in
            root.get(key).map(Node::items).unwrap_or_default().iter().filter_map(|patch| patch.get("target"))
        {
            target_of(scan, target, place_of(target));
        }
    }
}

/// A patch's target with a version that goes finds nothing once its object has been changed.
fn target_of(scan: &mut Scan<'_>, target: &Node<'_>, place: Place) {
    let (Some(version), Some(kind)) = (target.text_of("version"), target.text_of("kind")) else { return };
    let api_version = match target.text_of("group") {
        Some(group) => format!("{group}/{version}"),
        None => version.to_owned(),
    };
    scan.used(Use {
        api_version: &api_version,
        kind,
        name: target.text_of("name").unwrap_or_default(),
        namespace: target.text_of("namespace"),
        holder: Some("Kustomization".to_owned()),
        place,
        evidence: Evidence::Reference { field: "patches.target" },
        confidence: Confidence::High,
    });
}

/// Whether kustomize would fetch it (kustomize, api/internal/git/repospec.go).
fn is_remote(base: &str) -> bool {
    let scheme = ["https://", "http://", "ssh://", "git::", "git@", "file://"];
    let host = ["github.com/", "github.com:", "gitlab.com/", "bitbucket.org/", "dev.azure.com/"];
    scheme.iter().chain(&host).any(|start| base.starts_with(start))
        || base.contains("?ref=")
        || base.contains(".git/")
        || base.contains("//")
}

/// `URL@ref`.
fn with_ref(base: &str) -> String {
    let (url, query) = base.split_once('?').unwrap_or((base, ""));
    let reference =
        query.split('&').find_map(|part| part.strip_prefix("ref=").or(part.strip_prefix("version=")));
    format!("{url}@{}", reference.unwrap_or("HEAD"))
}
