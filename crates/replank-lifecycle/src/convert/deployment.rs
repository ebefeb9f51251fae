//! Deployments.
//!
//! | default | extensions/v1beta1 | apps/v1beta1 | apps/v1beta2, apps/v1 |
//! |---|---|---|---|
//! | selector, labels | the template's labels | the template's labels | none |
//! | maxSurge, maxUnavailable | 1 | 25% | 25% |
//! | progressDeadlineSeconds | none | 600 | 600 |
//! | revisionHistoryLimit | none | 2 | 10 |

use super::{Hold, NO_LIMIT, Work, default, map_of, workload};
use crate::table::Gvk;
use crate::tree::Tree;

pub(super) fn up(object: &mut Tree, from: &Gvk, work: &mut Work<'_>) -> Result<(), Hold> {
    match (&*from.group, &*from.version) {
        ("extensions", _) => {
            workload::write_selector(object, work)?;
            defaults(object, &Defaults { surge: &Tree::number(1), deadline: NO_LIMIT, revisions: NO_LIMIT });
        }
        (_, "v1beta1") => {
            workload::write_selector(object, work)?;
            if let Some(spec) = object.get_mut("spec") {
                default(spec, "revisionHistoryLimit", Tree::number(2), &["replicas"]);
            }
        }
        (_, _) => {}
    }
    workload::drop_field(object, "rollbackTo", "use kubectl rollout undo", work);
    Ok(())
}

pub(super) fn down(object: &mut Tree, to: &Gvk) -> Result<(), Hold> {
    match (&*to.group, &*to.version) {
        ("extensions", _) => {
            defaults(object, &Defaults { surge: &Tree::text("25%"), deadline: 600, revisions: 10 });
        }
        (_, "v1beta1") => {
            if let Some(spec) = object.get_mut("spec") {
                default(spec, "revisionHistoryLimit", Tree::number(10), &["replicas"]);
            }
        }
        (_, _) => {}
    }
    Ok(())
}

struct Defaults<'d> {
    surge: &'d Tree,
    deadline: i64,
    revisions: i64,
}

fn defaults(object: &mut Tree, defaults: &Defaults<'_>) {
    let Some(spec) = object.get_mut("spec") else { return };
    default(spec, "revisionHistoryLimit", Tree::number(defaults.revisions), &["replicas"]);
    default(
        spec,
        "progressDeadlineSeconds",
        Tree::number(defaults.deadline),
        &["replicas", "revisionHistoryLimit"],
    );
    let recreates = spec.text_at(&["strategy", "type"]) == Some("Recreate");
    if recreates {
        return;
    }
    let behind = ["replicas", "revisionHistoryLimit", "progressDeadlineSeconds"];
    let Some(strategy) = map_of(spec, "strategy", &behind) else { return };
    if let Some(rolling) = strategy.map_of("rollingUpdate", &["type"]) {
        default(rolling, "maxSurge", defaults.surge.copied(), &[]);
        default(rolling, "maxUnavailable", defaults.surge.copied(), &[]);
    }
}
