//! Volumes of a pod (`ValidateVolumes`, `validateVolumeSource`). What no cloud's own driver needs any more is in
//! [`super::legacy_volumes`].

use std::collections::BTreeSet;

use super::error::{Causes, Shown};
use super::field::Field;
use super::pod::Scope;
use super::{claims, legacy_volumes, mounts, names, pod};

pub(super) use super::known::{Holds, Known};

pub(super) use super::volume_fields::{downward_file, key_to_path, mode, required};

/// Kinds of volumes in the order in which upstream looks at them, each with the name under which a second kind is
/// reported.
const KINDS: [(&str, &str); 30] = [
    ("emptyDir", "emptyDir"),
    ("hostPath", "hostPath"),
    ("gitRepo", "gitRepo"),
    ("gcePersistentDisk", "gcePersistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore"),
    ("secret", "secret"),
    ("nfs", "nfs"),
    ("iscsi", "iscsi"),
    ("glusterfs", "glusterfs"),
    ("flocker", "flocker"),
    ("persistentVolumeClaim", "persistentVolumeClaim"),
    ("rbd", "rbd"),
    ("cinder", "cinder"),
    ("cephfs", "cephFS"),
    ("quobyte", "quobyte"),
    ("downwardAPI", "downwarAPI"),
    ("fc", "fc"),
    ("flexVolume", "flexVolume"),
    ("configMap", "configMap"),
    ("azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk"),
    ("storageos", "storageos"),
    ("projected", "projected"),
    ("scaleIO", "scaleIO"),
    ("csi", "csi"),
    ("ephemeral", "ephemeral"),
    ("image", "image"),
];

/// All volumes of a spec; those in order are returned.
pub(super) fn volumes<'a>(field: &Field<'a>, scope: Scope<'_>, causes: &mut Causes) -> Known<'a> {
    let mut made = BTreeSet::new();
    if let Some(pod) = scope.name() {
        let ephemeral = field.items().filter(|volume| volume.child("ephemeral").is_set());
        made.extend(ephemeral.map(|volume| format!("{pod}-{}", volume.child("name").text())));
    }
    let mut known = Known::new();
    for volume in field.items() {
        let name = volume.child("name");
        let mut own = Causes::default();
        source(&volume, name.text(), scope, &mut own);
        if name.is_empty() {
            own.required(&name.path, "");
        } else {
            names::label_at(&name, &mut own);
        }
        if known.contains_key(name.text()) {
            own.duplicate(&name.path, Shown::text(name.text()));
        }
        let claim = volume.child("persistentVolumeClaim");
        if own.is_empty() {
            let is_claim = claim.is_set() || volume.child("ephemeral").is_set();
            known.insert(name.text(), if is_claim { Holds::Claim } else { Holds::Files });
        }
        causes.append(own);
        let claim = claim.child("claimName");
        if made.contains(claim.text()) {
            let why = "must not reference a PVC that gets created for an ephemeral volume";
            causes.invalid(&claim.path, Shown::text(claim.text()), why);
        }
    }
    known
}

fn source(volume: &Field<'_>, name: &str, scope: Scope<'_>, causes: &mut Causes) {
    let mut has_one = false;
    for (kind, as_second) in KINDS {
        let source = volume.child(kind);
        if !source.is_set() {
            continue;
        }
        if has_one {
            causes.forbidden(volume.at(as_second), "may not specify more than 1 volume type");
        } else {
            has_one = true;
            content(kind, &source, volume, scope, causes);
        }
        if kind == "iscsi" {
            legacy_volumes::iscsi_name(&source, volume, name, causes);
        }
    }
    if !has_one {
        causes.required(&volume.path, "must specify a volume type");
    }
}

fn content(kind: &str, source: &Field<'_>, volume: &Field<'_>, scope: Scope<'_>, causes: &mut Causes) {
    match kind {
        "emptyDir" => {
            let limit = source.child("sizeLimit");
            if limit.quantity().is_some_and(|limit| limit.signum() < 0) {
                causes.forbidden(limit.path, "SizeLimit field must be a valid resource quantity");
            }
        }
        "hostPath" => host_path(source, causes),
        "secret" => keys(source, "secretName", causes),
        "configMap" => keys(source, "name", causes),
        "persistentVolumeClaim" => required(source, "claimName", causes),
        "downwardAPI" => {
            mode(&source.child("defaultMode"), causes);
            for item in source.child("items").items() {
                downward_file(&item.moved(&*source.path), causes);
            }
        }
        "projected" => super::projected::projected(source, causes),
        "csi" => csi(source, causes),
        "ephemeral" => ephemeral(source, volume, scope, causes),
        "image" => {
            let reference = source.child("reference");
            if scope.is_pod() && reference.is_empty() {
                causes.required(reference.path, "");
            }
            pod::one_of(&source.child("pullPolicy"), &["Always", "IfNotPresent", "Never"], causes);
        }
        _ => legacy_volumes::content(kind, source, volume, causes),
    }
}

fn host_path(source: &Field<'_>, causes: &mut Causes) {
    let path = source.child("path");
    if path.is_empty() {
        return causes.required(path.path, "");
    }
    mounts::no_backsteps(&path, causes);
    let kind = source.child("type");
    let known =
        ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    if kind.is_set() && !known.contains(&kind.text()) {
        causes.not_supported(&kind.path, Shown::word(kind.text()), &known);
    }
}

/// A secret's or config map's keys.
fn keys(source: &Field<'_>, name: &str, causes: &mut Causes) {
    required(source, name, causes);
    mode(&source.child("defaultMode"), causes);
    source.child("items").items().for_each(|item| key_to_path(&item, causes));
}

fn csi(source: &Field<'_>, causes: &mut Causes) {
    let driver = source.child("driver");
    if driver.is_empty() {
        causes.required(&driver.path, "");
    } else {
        if driver.len() > 63 {
            causes.too_long(&driver.path, 63);
        }
        causes.broken_rules(&driver.path, driver.text(), names::subdomain(&driver.text().to_lowercase()));
    }
    if let Some(secret) = source.child("nodePublishSecretRef").set() {
        let name = secret.child("name");
        if name.is_empty() {
            causes.required(name.path, "");
        } else {
            names::subdomain_at(&name.moved(source.at("name")), causes);
        }
    }
}

fn ephemeral(source: &Field<'_>, volume: &Field<'_>, scope: Scope<'_>, causes: &mut Causes) {
    match source.child("volumeClaimTemplate").set() {
        None => causes.required(source.at("volumeClaimTemplate"), ""),
        Some(template) => claims::template(&template, causes),
    }
    let name = volume.child("name");
    if let Some(pod) = scope.name().filter(|_| !name.is_empty()) {
        let claim = format!("{pod}-{}", name.text());
        for rule in names::subdomain(&claim) {
            let why = format!("PVC name {}: {rule}", crate::go::Quoted(&claim));
            causes.invalid(&name.path, Shown::text(name.text()), why);
        }
    }
}
