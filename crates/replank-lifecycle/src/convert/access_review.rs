//! SubjectAccessReviews: `spec.group` is `spec.groups` (`pkg/apis/authorization/v1beta1`, types).

use super::Hold;
use crate::table::Gvk;
use crate::tree::Tree;

pub(super) fn up(object: &mut Tree, from: &Gvk) -> Result<(), Hold> {
    if from.version != "v1" {
        rename(object, "group", "groups");
    }
    Ok(())
}

pub(super) fn down(object: &mut Tree, to: &Gvk) -> Result<(), Hold> {
    if to.version != "v1" {
        rename(object, "groups", "group");
    }
    Ok(())
}

fn rename(object: &mut Tree, key: &str, to: &str) {
    if let Some(spec) = object.get_mut("spec") {
        spec.rename(key, to);
    }
}
