//! ResourceSlices: what was in a device's `basic` is the device's own from `v1beta2` on; in `v1alpha3` a capacity was the bare
//! quantity (`pkg/apis/resource/v1beta1/conversion.go`).

use super::Hold;
use crate::table::Gvk;
use crate::tree::{Entry, Tree};

pub(super) fn up(object: &mut Tree, from: &Gvk) -> Result<(), Hold> {
    if matches!(&*from.version, "v1alpha3" | "v1beta1") {
        let bare = from.version == "v1alpha3";
        each_device(object, |device| {
            let Some((at, basic)) = device.take_at("basic") else { return };
            let mut basic = basic.value;
            if bare {
                each_capacity(&mut basic, |value| {
                    let quantity = std::mem::replace(value, Tree::map([]));
                    value.insert_behind(Entry::new("value", quantity), &[]);
                });
            }
            let entries = basic.entries_mut().map(std::mem::take).unwrap_or_default();
            for (behind, entry) in entries.into_iter().enumerate() {
                device.insert_at(at + behind, entry);
            }
        });
    }
    Ok(())
}

pub(super) fn down(object: &mut Tree, to: &Gvk) -> Result<(), Hold> {
    if matches!(&*to.version, "v1alpha3" | "v1beta1") {
        let bare = to.version == "v1alpha3";
        each_device(object, |device| {
            let Some(entries) = device.entries_mut() else { return };
            let (own, of_basic): (Vec<_>, Vec<_>) =
                std::mem::take(entries).into_iter().partition(|entry| &*entry.key == "name");
            *entries = own;
            let mut basic = Tree::map([]);
            of_basic.into_iter().for_each(|entry| basic.insert_behind(entry, &[]));
            if bare {
                each_capacity(&mut basic, |value| {
                    if let Some(quantity) = value.take("value") {
                        *value = quantity.value;
                    }
                });
            }
            device.insert_behind(Entry::new("basic", basic), &["name"]);
        });
    }
    Ok(())
}

fn each_device(object: &mut Tree, each: impl Fn(&mut Tree)) {
    if let Some(devices) = object.path_mut(&["spec", "devices"]) {
        devices.items_mut().iter_mut().for_each(each);
    }
}

fn each_capacity(basic: &mut Tree, each: impl Fn(&mut Tree)) {
    if let Some(capacity) = basic.get_mut("capacity").and_then(Tree::entries_mut) {
        capacity.iter_mut().for_each(|entry| each(&mut entry.value));
    }
}
