//! Where a container has its volumes (`ValidateVolumeMounts`, `ValidateVolumeDevices`), and rules for paths.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{Causes, Shown};
use super::field::Field;
use super::volumes::{Holds, Known};

use super::paths::has_backsteps;
pub(super) use super::paths::{descending, no_backsteps, not_reserved};

/// Name → path of a list; of a name that stands twice the last path.
fn paths<'a>(list: &Field<'a>, path: &str) -> BTreeMap<&'a str, &'a str> {
    list.items().map(|item| (item.child("name").text(), item.child(path).text())).collect()
}

/// Mounts of file systems.
pub(super) fn mounts(container: &Field<'_>, volumes: &Known<'_>, causes: &mut Causes) {
    let list = container.child("volumeMounts");
    let devices = paths(&container.child("volumeDevices"), "devicePath");
    let mut taken = BTreeSet::new();
    for mount in list.items() {
        let (name, path) = (mount.child("name"), mount.child("mountPath"));
        if name.is_empty() {
            causes.required(&name.path, "");
        }
        if !volumes.contains_key(name.text()) {
            causes.not_found(&name.path, name.text(), "");
        }
        if path.is_empty() {
            causes.required(&path.path, "");
        }
        if !taken.insert(path.text()) {
            causes.invalid(&path.path, Shown::text(path.text()), "must be unique");
        }
        if devices.contains_key(name.text()) {
            let why = "must not already exist in volumeDevices";
            causes.invalid(&name.path, Shown::text(name.text()), why);
        }
        if devices.values().any(|device| *device == path.text()) {
            let why = "must not already exist as a path in volumeDevices";
            causes.invalid(&path.path, Shown::text(path.text()), why);
        }
        sub_paths(&mount, &list, causes);
        propagation(&mount, container, &list, causes);
        read_only(&mount, &list.at("recursiveReadOnly"), causes);
    }
}

/// Upstream names the list, not the mount, in what it says of a path below a volume.
fn sub_paths(mount: &Field<'_>, list: &Field<'_>, causes: &mut Causes) {
    let (path, expression) = (mount.child("subPath"), mount.child("subPathExpr"));
    if !path.is_empty() {
        descending(&path.moved(list.at("subPath")), causes);
    }
    if !expression.is_empty() {
        if !path.is_empty() {
            let why = "subPathExpr and subPath are mutually exclusive";
            causes.invalid(&expression.path, Shown::text(expression.text()), why);
        }
        descending(&expression.moved(list.at("subPathExpr")), causes);
    }
}

fn propagation(mount: &Field<'_>, container: &Field<'_>, list: &Field<'_>, causes: &mut Causes) {
    let Some(mode) = mount.child("mountPropagation").set() else { return };
    let path = list.at("mountPropagation");
    let known = ["Bidirectional", "HostToContainer", "None"];
    if !known.contains(&mode.text()) {
        causes.not_supported(&path, Shown::word(mode.text()), &known);
    }
    let is_privileged = container.child("securityContext").child("privileged").is_true();
    if mode.text() == "Bidirectional" && !is_privileged {
        causes.forbidden(path, "Bidirectional mount propagation is available only to privileged containers");
    }
}

fn read_only(mount: &Field<'_>, path: &str, causes: &mut Causes) {
    let Some(mode) = mount.child("recursiveReadOnly").set() else { return };
    match mode.text() {
        "Disabled" => {}
        "Enabled" | "IfPossible" => {
            if !mount.child("readOnly").is_true() {
                causes.forbidden(path, "may only be specified when readOnly is true");
            }
            let propagation = mount.child("mountPropagation");
            if propagation.is_set() && propagation.text() != "None" {
                let why = "may only be specified when mountPropagation is None or not specified";
                causes.forbidden(path, why);
            }
        }
        word => causes.not_supported(path, Shown::word(word), &["Disabled", "Enabled", "IfPossible"]),
    }
}

/// Block devices.
pub(super) fn devices(container: &Field<'_>, volumes: &Known<'_>, causes: &mut Causes) {
    let mounted = paths(&container.child("volumeMounts"), "mountPath");
    let (mut names, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for device in container.child("volumeDevices").items() {
        let (name, path) = (device.child("name"), device.child("devicePath"));
        let mut invalid =
            |field: &Field<'_>, why: &str| causes.invalid(&field.path, Shown::text(field.text()), why);
        if name.is_empty() {
            causes.required(&name.path, "");
        } else if names.contains(name.text()) {
            invalid(&name, "must be unique");
        }
        match volumes.get(name.text()) {
            Some(Holds::Claim) => {}
            Some(Holds::Files) => {
                let why =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                causes.invalid(&name.path, Shown::text(name.text()), why);
            }
            None => causes.not_found(&name.path, name.text(), ""),
        }
        if path.is_empty() {
            causes.required(&path.path, "");
        }
        let mut invalid =
            |field: &Field<'_>, why: &str| causes.invalid(&field.path, Shown::text(field.text()), why);
        if taken.contains(path.text()) {
            invalid(&path, "must be unique");
        }
        if has_backsteps(path.text()) {
            invalid(&path, "can not contain backsteps ('..')");
        } else {
            taken.insert(path.text());
        }
        if mounted.contains_key(name.text()) {
            invalid(&name, "must not already exist in volumeMounts");
        }
        if mounted.values().any(|mount| *mount == path.text()) {
            invalid(&path, "must not already exist as a path in volumeMounts");
        }
        if !name.is_empty() {
            names.insert(name.text());
        }
    }
}
