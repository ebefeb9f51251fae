//! Configurations of admission webhooks (`pkg/apis/admissionregistration/v1beta1/defaults.go`, `v1/defaults.go`).
//!
//! | default | v1beta1 | v1 |
//! |---|---|---|
//! | failurePolicy | Ignore | Fail |
//! | matchPolicy | Exact | Equivalent |
//! | timeoutSeconds | 30 | 10 |
//! | admissionReviewVersions | v1beta1 | required |
//! | sideEffects | Unknown | required: None or NoneOnDryRun |

use std::collections::BTreeSet;

use super::{Hold, Purpose, Work, default};
use crate::table::Gvk;
use crate::tree::Tree;

pub(super) fn up(object: &mut Tree, from: &Gvk, work: &Work<'_>) -> Result<(), Hold> {
    if from.version == "v1" {
        return Ok(());
    }
    let Some(webhooks) = object.get_mut("webhooks") else { return Ok(()) };
    if work.purpose == Purpose::Write {
        demanded(webhooks)?;
    }
    for webhook in webhooks.items_mut() {
        let versions = || Tree::list(vec![Tree::text("v1beta1")]);
        defaults(webhook, "Ignore", "Exact", 30);
        default(webhook, "admissionReviewVersions", versions(), &["timeoutSeconds"]);
        if webhook.get("admissionReviewVersions").is_none_or(Tree::is_empty) {
            webhook.set("admissionReviewVersions", versions());
        }
    }
    Ok(())
}

/// What `v1` demands, and only who runs the webhook can say.
fn demanded(webhooks: &Tree) -> Result<(), Hold> {
    let mut names = BTreeSet::new();
    for (at, webhook) in webhooks.items().iter().enumerate() {
        let name = webhook.text_at(&["name"]).unwrap_or_default();
        if !names.insert(name) {
            return Err(Hold::NoCounterpart {
                path: format!("webhooks[{at}].name"),
                says: format!("`{name}` again"),
                needed: "names must be unique within a configuration",
            });
        }
        let path = format!("webhooks[{at}].sideEffects");
        let needed = "None or NoneOnDryRun is required: check which one is true for this webhook";
        match webhook.text_at(&["sideEffects"]) {
            Some("None" | "NoneOnDryRun") => {}
            Some(says) => return Err(Hold::NoCounterpart { path, says: says.to_owned(), needed }),
            None => return Err(Hold::Absent { path, why: needed }),
        }
    }
    Ok(())
}

pub(super) fn down(object: &mut Tree, to: &Gvk) -> Result<(), Hold> {
    if to.version != "v1"
        && let Some(webhooks) = object.get_mut("webhooks")
    {
        webhooks.items_mut().iter_mut().for_each(|webhook| defaults(webhook, "Fail", "Equivalent", 10));
    }
    Ok(())
}

fn defaults(webhook: &mut Tree, failure: &str, matching: &str, seconds: i64) {
    default(webhook, "failurePolicy", Tree::text(failure), &["name", "sideEffects"]);
    default(webhook, "matchPolicy", Tree::text(matching), &["failurePolicy"]);
    default(webhook, "timeoutSeconds", Tree::number(seconds), &["failurePolicy", "matchPolicy"]);
}
