//! What was last applied to a live object with `kubectl apply`.
//!
//! The annotation holds the manifest as it was. It is not evidence against the object, which is stored once and served at
//! every version; and it outlives its manifest, since patches, controllers and server-side apply leave it as it is.

use std::sync::Arc;

use super::managed::{self, Entry};
use super::{Scan, Use};
use crate::finding::{Confidence, Evidence, Writer};
use crate::object::Object;
use crate::source::{self, Found, Node, Place};

pub(super) use super::annotation::ANNOTATION;

pub(super) fn scan(scan: &mut Scan<'_>, name: &Arc<str>, object: &Object<'_, '_>, place: &Place) {
    let Some(applied) = object.node.path(&["metadata", "annotations", ANNOTATION]).and_then(Node::text)
    else {
        return;
    };
    let mut versions = Vec::new();
    source::read(name, applied, &mut |found| match found {
        Found::Document(document) => {
            let texts = (document.root.text_of("apiVersion"), document.root.text_of("kind"));
            if let (Some(version), Some(kind)) = texts {
                versions.push((version.to_owned(), kind.to_owned()));
            }
        }
        // kubectl wrote it; where it is cut off or edited by hand there is nothing to tell.
        Found::Unread(_) | Found::Template { .. } => {}
    });
    for (api_version, kind) in versions {
        let writer = writer(scan, &managed::entries(object), &api_version, &kind);
        scan.used(Use {
            api_version: &api_version,
            kind: &kind,
            name: object.name,
            namespace: object.namespace,
            holder: None,
            place: place.clone(),
            evidence: Evidence::LastApplied { writer },
            confidence: match writer {
                Writer::Unknown => Confidence::Medium,
                Writer::WroteSince => Confidence::Low,
            },
        });
    }
}

/// Whether somebody has written the object itself at a served version after the annotation was.
fn writer(scan: &Scan<'_>, entries: &[Entry<'_>], api_version: &str, kind: &str) -> Writer {
    let written = entries
        .iter()
        .filter(|entry| entry.owns_last_applied && entry.api_version == api_version)
        .filter_map(|entry| entry.time)
        .max();
    let since = |entry: &&Entry<'_>| {
        entry.subresource.is_none()
            && entry.api_version != api_version
            && scan.measure.is_served(entry.api_version, kind)
            // Where the annotation's own entry is gone, its fields were taken over by a server-side apply.
            && match written {
                Some(written) => entry.time.is_some_and(|time| time > written),
                None => entry.operation == "Apply",
            }
    };
    if entries.iter().any(|entry| since(&entry)) { Writer::WroteSince } else { Writer::Unknown }
}
