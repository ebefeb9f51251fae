//! PodDisruptionBudgets: an empty selector matched nothing in `v1beta1` and matches every pod in `v1`. Both can say both, by an
//! expression that nothing, or everything, fulfils (`pkg/apis/policy/v1beta1/conversion.go`).

use super::{Hold, Note, Work};
use crate::table::Gvk;
use crate::tree::Tree;

const KEY: &str = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";

pub(super) fn up(object: &mut Tree, from: &Gvk, work: &mut Work<'_>) -> Result<(), Hold> {
    if from.version == "v1" {
        return Ok(());
    }
    let Some(spec) = object.get_mut("spec") else { return Ok(()) };
    if swap(spec, "DoesNotExist", "Exists") == Swapped::Empty {
        work.note(Note::Known {
            path: "spec.selector".to_owned(),
            what: "it was empty and matched no pod; it still matches none, because {} would match all pods in v1",
        });
    }
    Ok(())
}

pub(super) fn down(object: &mut Tree, to: &Gvk) -> Result<(), Hold> {
    if to.version != "v1"
        && let Some(spec) = object.get_mut("spec")
    {
        let _swapped = swap(spec, "Exists", "DoesNotExist");
    }
    Ok(())
}

/// What was done to a selector.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Swapped {
    /// Nothing.
    Not,
    /// It was empty, and has the expression that says the same on the other side.
    Empty,
    /// It had the expression that only this side needs.
    Expression,
}

/// An empty selector gets the expression of the other side, and the expression of this side becomes an empty selector.
fn swap(spec: &mut Tree, of_this: &str, of_other: &str) -> Swapped {
    let Some(selector) = spec.get("selector") else { return Swapped::Not };
    let empty = |key: &str| selector.get(key).is_none_or(Tree::is_empty);
    let is_only = |operator: &str| match selector.get("matchExpressions").map(Tree::items) {
        Some([only]) => only.text_at(&["key"]) == Some(KEY) && only.text_at(&["operator"]) == Some(operator),
        Some(_) | None => false,
    };
    if !empty("matchLabels") || !selector.is_map() {
        Swapped::Not
    } else if empty("matchExpressions") {
        let expression = Tree::map([("key", Tree::text(KEY)), ("operator", Tree::text(of_other))]);
        spec.set("selector", Tree::map([("matchExpressions", Tree::list(vec![expression]))]));
        Swapped::Empty
    } else if is_only(of_this) {
        spec.set("selector", Tree::map([]));
        Swapped::Expression
    } else {
        Swapped::Not
    }
}
