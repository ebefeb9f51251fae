//! Objects that name the version of another one.
//!
//! A HorizontalPodAutoscaler finds what it scales by the group and kind in `scaleTargetRef`; where that version is gone, it
//! scales nothing. Owner references are left alone: the garbage collector goes by uid and kind, and controllers renew them.

use super::{Lines, Scan, Use};
use crate::finding::{Confidence, Evidence};
use crate::object::Object;
use crate::source::Place;

/// Fields of a spec that name the version of another object.
pub(crate) const FIELDS: [(&str, &str); 3] = [
    ("scaleTargetRef", "spec.scaleTargetRef"),
    ("targetRef", "spec.targetRef"),
    ("workloadRef", "spec.workloadRef"),
];

pub(super) fn scan(
    scan: &mut Scan<'_>,
    object: &Object<'_, '_>,
    place: &Place,
    lines: Lines,
    confidence: Confidence,
) {
    for (key, field) in FIELDS {
        let Some(node) = object.node.path(&["spec", key]) else { continue };
        let (Some(version), Some(kind)) = (node.get("apiVersion"), node.text_of("kind")) else { continue };
        let Some(api_version) = version.text() else { continue };
        scan.used(Use {
            api_version,
            kind,
            name: node.text_of("name").unwrap_or_default(),
            namespace: object.namespace,
            holder: Some(format!("{} {}", object.kind, object.name)),
            place: lines.place(place, version.at),
            evidence: Evidence::Reference { field },
            // In a cluster, too, it is written as it stands.
            confidence: confidence.max(Confidence::Medium),
        });
    }
}
