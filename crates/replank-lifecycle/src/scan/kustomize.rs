//! What a Kustomization takes from elsewhere, and which versions its patches, variables and replacements look for.

use std::sync::Arc;

use super::{Scan, Unrendered, Use};
use crate::finding::{Confidence, Evidence};
use crate::object;
use crate::source::{self, Found, Node, Place};

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
                    values: Vec::new(),
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
            values: Vec::new(),
        });
    }
    for key in ["patches", "patchesJson6902"] {
        for patch in root.get(key).map(Node::items).unwrap_or_default() {
            if let Some(target) = patch.get("target") {
                target_of(scan, target, "patches.target", place_of(target));
            }
            if let Some(text) = patch.get("patch") {
                inline(scan, name, text, &place_of(text));
            }
        }
    }
    for text in root.get("patchesStrategicMerge").map(Node::items).unwrap_or_default() {
        // A name of a file has one line.
        if text.text().is_some_and(|text| text.contains('\n')) {
            inline(scan, name, text, &place_of(text));
        }
    }
    for of in root.get("vars").map(Node::items).unwrap_or_default() {
        if let Some(of) = of.get("objref") {
            object_of(scan, of, place_of(of));
        }
    }
    for replacement in root.get("replacements").map(Node::items).unwrap_or_default() {
        let targets = replacement.get("targets").map(Node::items).unwrap_or_default();
        let selects = targets.iter().filter_map(|target| target.get("select"));
        for select in replacement.get("source").into_iter().chain(selects) {
            target_of(scan, select, "replacements", place_of(select));
        }
    }
}

/// A patch that stands in the kustomization itself.
fn inline(scan: &mut Scan<'_>, name: &Arc<str>, text: &Node<'_>, place: &Place) {
    let Some(content) = text.text() else { return };
    source::read(name, content, &mut |found| {
        if let Found::Document(document) = found {
            object::visit(&document.root, &mut |object| {
                scan.used(Use {
                    api_version: object.api_version,
                    kind: object.kind,
                    name: object.name,
                    namespace: object.namespace,
                    holder: Some("Kustomization".to_owned()),
                    place: place.clone(),
                    evidence: Evidence::Reference { field: "patches.patch" },
                    confidence: Confidence::High,
                });
            });
        }
    });
}

fn object_of(scan: &mut Scan<'_>, of: &Node<'_>, place: Place) {
    let (Some(api_version), Some(kind)) = (of.text_of("apiVersion"), of.text_of("kind")) else { return };
    scan.used(Use {
        api_version,
        kind,
        name: of.text_of("name").unwrap_or_default(),
        namespace: of.text_of("namespace"),
        holder: Some("Kustomization".to_owned()),
        place,
        evidence: Evidence::Reference { field: "vars.objref" },
        confidence: Confidence::High,
    });
}

/// A patch's target with a version that goes finds nothing once its object has been changed.
fn target_of(scan: &mut Scan<'_>, target: &Node<'_>, field: &'static str, place: Place) {
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
        evidence: Evidence::Reference { field },
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
