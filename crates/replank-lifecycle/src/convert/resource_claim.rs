//! ResourceClaims and their templates: what a request asks of one device stands in `exactly` from `v1beta2` on
//! (`pkg/apis/resource/v1beta1/conversion.go`).

use super::Hold;
use crate::table::Gvk;
use crate::tree::{Entry, Tree};

/// Fields of a request that say which device, and how many.
const EXACTLY: [&str; 7] =
    ["deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity"];

fn is_flat(gvk: &Gvk) -> bool {
    matches!(&*gvk.version, "v1alpha3" | "v1beta1")
}

pub(super) fn up(object: &mut Tree, from: &Gvk) -> Result<(), Hold> {
    if is_flat(from) {
        each_request(object, &from.kind, |request| {
            let mut exactly = Tree::map([]);
            let mut first = None;
            while let Some((at, entry)) = EXACTLY
                .iter()
                .filter_map(|key| request.entries().iter().position(|entry| &*entry.key == *key))
                .min()
                .and_then(|at| {
                    let key = request.entries().get(at)?.key.clone();
                    request.take_at(&key)
                })
            {
                first = first.or(Some(at));
                exactly.insert_behind(entry, &[]);
            }
            if let Some(at) = first {
                request.insert_at(at, Entry::new("exactly", exactly));
            }
        });
    }
    Ok(())
}

pub(super) fn down(object: &mut Tree, to: &Gvk) -> Result<(), Hold> {
    if is_flat(to) {
        each_request(object, &to.kind, |request| {
            let Some((at, exactly)) = request.take_at("exactly") else { return };
            let mut exactly = exactly.value;
            let entries = exactly.entries_mut().map(std::mem::take).unwrap_or_default();
            for (behind, entry) in entries.into_iter().enumerate() {
                request.insert_at(at + behind, entry);
            }
        });
    }
    Ok(())
}

fn each_request(object: &mut Tree, kind: &str, each: impl Fn(&mut Tree)) {
    let path: &[&str] = match kind {
        "ResourceClaimTemplate" => &["spec", "spec", "devices", "requests"],
        _ => &["spec", "devices", "requests"],
    };
    if let Some(requests) = object.path_mut(path) {
        requests.items_mut().iter_mut().for_each(each);
    }
}
