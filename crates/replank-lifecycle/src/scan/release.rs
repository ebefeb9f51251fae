//! Helm releases in dumps.
//!
//! `helm upgrade` reads the stored manifest of the release that is deployed and asks the API server for its objects: where a
//! version in it is gone, the upgrade fails, whatever the chart says by then. Past revisions matter for a rollback only.

use std::sync::Arc;

use super::{Hint, Origin, Scan};
use crate::finding::{Confidence, Evidence, Storage};
use crate::helm::{self, Release};
use crate::object::Object;
use crate::source::{Node, Place, Unread};

/// Takes in an object if it is a release. Whether it is.
pub(super) fn scan(scan: &mut Scan<'_>, name: &Arc<str>, object: &Object<'_, '_>) -> bool {
    let Some(storage) = storage(object) else { return false };
    let Some(data) = object.node.path(&["data", "release"]).and_then(Node::text) else { return false };
    let place = Place { source: name.clone(), line: object.at.line, column: object.at.column };
    let release = match storage {
        Storage::Secret | Storage::ConfigMap => helm::v3(data),
        Storage::Tiller => helm::v2(data),
    };
    match release {
        Ok(release) => of_release(scan, name, object, &place, storage, &release),
        Err(error) => {
            let why = format!("{} {}: {error}", object.kind, object.name);
            scan.report.unread.push(Unread { place, why });
        }
    }
    true
}

/// By the labels and the type that Helm gives them (helm, pkg/storage/driver/{secrets,cfgmaps}.go).
fn storage(object: &Object<'_, '_>) -> Option<Storage> {
    let label = |key: &str| object.node.path(&["metadata", "labels", key]).and_then(Node::text);
    let is_v3 = object.node.text_of("type") == Some("helm.sh/release.v1")
        || (label("owner") == Some("helm") && object.name.starts_with("sh.helm.release."));
    let is_v2 = label("OWNER") == Some("TILLER");
    match (object.api_version, object.kind) {
        ("v1", "Secret") if is_v3 => Some(Storage::Secret),
        ("v1", "ConfigMap") if is_v3 => Some(Storage::ConfigMap),
        ("v1", "Secret" | "ConfigMap") if is_v2 => Some(Storage::Tiller),
        (_, _) => None,
    }
}

/// What is stored of a release that an upgrade would read.
pub(crate) enum Stored<'n> {
    /// It is not a release.
    No,
    /// It is one of the past.
    Past,
    /// Helm 2 keeps it.
    Helm2,
    /// Its data.
    Current(&'n str),
}

/// What an object stores. What cannot be unpacked counts as current: the reader reports why.
pub(crate) fn stored<'n>(object: &Object<'n, '_>) -> Stored<'n> {
    let Some(storage) = storage(object) else { return Stored::No };
    let Some(data) = object.node.path(&["data", "release"]).and_then(Node::text) else { return Stored::No };
    match storage {
        Storage::Tiller => Stored::Helm2,
        Storage::Secret | Storage::ConfigMap => match helm::v3(data) {
            Ok(release) if confidence(&release.status).is_none() => Stored::Past,
            Ok(_) | Err(_) => Stored::Current(data),
        },
    }
}

/// How sure it is that a release is read again; `None` of those of the past.
fn confidence(status: &str) -> Option<Confidence> {
    match status {
        "deployed" => Some(Confidence::High),
        // The next upgrade starts from the last that was deployed, or from this one.
        "failed" | "pending-install" | "pending-upgrade" | "pending-rollback" | "unknown" => {
            Some(Confidence::Medium)
        }
        _ => None,
    }
}

fn of_release(
    scan: &mut Scan<'_>,
    name: &Arc<str>,
    object: &Object<'_, '_>,
    place: &Place,
    storage: Storage,
    release: &Release,
) {
    let Some(confidence) = confidence(&release.status) else {
        scan.report.counts.releases_past += 1;
        return;
    };
    scan.report.counts.releases += 1;
    // Tiller keeps all releases in its own namespace.
    let namespace = match (&*release.namespace, object.namespace) {
        ("", namespace) => namespace.unwrap_or_default(),
        (namespace, _) => namespace,
    };
    let evidence = Evidence::HelmRelease {
        release: format!("{namespace}/{}", release.name).trim_start_matches('/').to_owned(),
        revision: release.revision,
        status: release.status.clone(),
        storage,
        template: None,
    };
    let within = Origin::Within { evidence, confidence, place: place.clone() };
    let unread_before = scan.report.unread.len();
    for text in std::iter::once(&release.manifest).chain(&release.hooks) {
        scan.text(name, text, &within, &Hint::default());
    }
    // Lines within the release say nothing about the file.
    for unread in &mut scan.report.unread[unread_before..] {
        unread.why = format!("release {}, line {}: {}", release.name, unread.place.line, unread.why);
        unread.place = place.clone();
    }
}
