//! From one version of a kind to another: what was the default of the old one is written out first, then fields get the
//! names and places of the new one, then `apiVersion` changes.
//!
//! Each kind's newest form is the hub: [`Family::up`] converts any older version to it, [`Family::down`] leads from it to any
//! older one. What a person has to decide is a [`Hold`], and the object stays as it was.
//!
//! Sources: `defaults.go` and `conversion.go` of Kubernetes' packages `pkg/apis/*/v*` at the last version that had both
//! sides, and the deprecation guide.

mod access_review;
mod cron_job;
mod csr;
mod custom_resource;
mod daemon_set;
mod deployment;
mod endpoint_slice;
mod event;
mod family;
mod hpa;
mod ingress;
mod note;
mod pdb;
mod priority_level;
mod resource_claim;
mod resource_slice;
mod runtime_class;
mod stateful_set;
mod webhook;
mod work;
mod workload;

use work::{NO_LIMIT, default, map_of};
pub(crate) use work::{Purpose, Work};

#[cfg(test)]
mod tests;

use family::Family;
pub use note::{Hold, Note, Way};

use crate::release::Release;
use crate::table::{Gvk, Product, Table};
use crate::tree::Tree;

/// Converts an object, in place, to another version of its kind, which a cluster of version `target` is to take. The notes
/// say what was done beyond writing the same in other words.
///
/// # Errors
/// Where a person has to decide; the object is as it was.
pub fn convert(table: &Table, object: &mut Tree, to: &Gvk, target: Release) -> Result<Vec<Note>, Hold> {
    convert_for(Purpose::Write, table, object, to, target)
}

/// The same of an object that nobody needs as it was.
pub(crate) fn converted(
    table: &Table,
    object: Tree,
    to: &Gvk,
    target: Release,
) -> Result<(Tree, Vec<Note>), Hold> {
    converted_for(Purpose::Write, table, object, to, target)
}

/// Whether one is a version of the same kind as the other, and there is a way between them.
#[must_use]
pub fn leads(from: &Gvk, to: &Gvk) -> bool {
    Family::between(from, to).is_some()
}

/// Converts an object for a purpose.
pub(crate) fn convert_for(
    purpose: Purpose,
    table: &Table,
    object: &mut Tree,
    to: &Gvk,
    target: Release,
) -> Result<Vec<Note>, Hold> {
    let (made, notes) = converted_for(purpose, table, object.clone(), to, target)?;
    *object = made;
    Ok(notes)
}

fn converted_for(
    purpose: Purpose,
    table: &Table,
    mut made: Tree,
    to: &Gvk,
    target: Release,
) -> Result<(Tree, Vec<Note>), Hold> {
    let api_version = made.get("apiVersion").and_then(Tree::as_text).unwrap_or_default();
    let kind = made.get("kind").and_then(Tree::as_text).unwrap_or_default();
    let from = Gvk::of(api_version, kind);
    let mut notes = Vec::new();
    if from == *to {
        return Ok((made, notes));
    }
    let family = Family::between(&from, to).ok_or_else(|| no_way(table, &from, to))?;
    let mut work = Work { target, purpose, notes: &mut notes };
    if !family.has_same_fields(&from, to) {
        family.up(&mut made, &from, &mut work)?;
        family.down(&mut made, to, &mut work)?;
    }
    made.set("apiVersion", Tree::text(&to.api_version()));
    Ok((made, notes))
}

fn no_way(table: &Table, from: &Gvk, to: &Gvk) -> Hold {
    let of_product = |gvk: &Gvk| {
        table.lookup_gvk(gvk).is_some_and(|row| match row.product {
            Product::Named(_) => true,
            Product::Kubernetes => false,
        })
    };
    if of_product(from) || of_product(to) {
        Hold::OfProduct(Way::new(from, to))
    } else {
        Hold::NoWay(Way::new(from, to))
    }
}

/// What to do about kinds that have no successor.
pub(crate) fn without_successor(from: &Gvk) -> Hold {
    let instead = match (&*from.group, &*from.kind) {
        ("extensions" | "policy", "PodSecurityPolicy") => {
            "delete it, and set the pod-security.kubernetes.io/* labels on the namespaces"
        }
        ("settings.k8s.io", "PodPreset") => "use a mutating webhook or policy",
        ("auditregistration.k8s.io", "AuditSink") => {
            "configure the audit webhook with the API server's flags"
        }
        ("extensions" | "apps", "DeploymentRollback") => "use kubectl rollout undo",
        (_, _) => "",
    };
    Hold::NoSuccessor { instead }
}
