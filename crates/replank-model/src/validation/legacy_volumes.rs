//! Volumes of the drivers that were once built into Kubernetes. The API still takes them.

use super::error::{Causes, Shown};
use super::field::Field;
use super::volumes::required;
use super::{mounts, names};

/// What must be there, by kind.
fn required_members(kind: &str) -> &'static [&'static str] {
    match kind {
        "gitRepo" => &["repository"],
        "gcePersistentDisk" => &["pdName"],
        "awsElasticBlockStore" | "cinder" | "portworxVolume" => &["volumeID"],
        "nfs" => &["server", "path"],
        "iscsi" => &["targetPortal"],
        "glusterfs" => &["endpoints", "path"],
        "rbd" => &["monitors", "image"],
        "cephfs" => &["monitors"],
        "flexVolume" => &["driver"],
        "azureFile" => &["secretName", "shareName"],
        "vsphereVolume" => &["volumePath"],
        "photonPersistentDisk" => &["pdID"],
        "azureDisk" => &["diskName", "diskURI"],
        "scaleIO" => &["gateway", "system", "volumeName"],
        _ => &[],
    }
}

/// What is wrong with the source itself.
pub(super) fn content(kind: &str, source: &Field<'_>, volume: &Field<'_>, causes: &mut Causes) {
    // Upstream calls this one by a name of its own.
    let moved = (kind == "gcePersistentDisk").then(|| source.moved(volume.at("persistentDisk")));
    let source = moved.as_ref().unwrap_or(source);
    for name in required_members(kind) {
        required(source, name, causes);
    }
    match kind {
        "gitRepo" => mounts::descending(&source.child("directory"), causes),
        "gcePersistentDisk" | "awsElasticBlockStore" => {
            let partition = source.child("partition");
            let number = partition.number_or_zero();
            if !(0..=255).contains(&number) {
                causes.invalid(partition.path, Shown::plain(number), "must be between 1 and 255, inclusive");
            }
        }
        "nfs" => {
            let path = source.child("path");
            if !path.text().starts_with('/') {
                causes.invalid(&path.path, Shown::text(path.text()), "must be an absolute path");
            }
        }
        "iscsi" => iscsi(source, causes),
        "flocker" => flocker(source, causes),
        "cinder" => secret(source, causes),
        "quobyte" => quobyte(source, causes),
        "fc" => fibre_channel(source, causes),
        "flexVolume" => flex(source, causes),
        "azureDisk" => azure_disk(source, causes),
        "storageos" => storage_os(source, causes),
        _ => {}
    }
}

fn secret(source: &Field<'_>, causes: &mut Causes) {
    if let Some(reference) = source.child("secretRef").set() {
        required(&reference, "name", causes);
    }
}

fn flocker(source: &Field<'_>, causes: &mut Causes) {
    let name = source.child("datasetName");
    match (name.is_empty(), source.child("datasetUUID").is_empty()) {
        (true, true) => causes.required(&source.path, "one of datasetName and datasetUUID is required"),
        (false, false) => {
            let why = "datasetName and datasetUUID can not be specified simultaneously";
            causes.invalid(&source.path, Shown::text("resource"), why);
        }
        (true, false) | (false, true) => {}
    }
    if name.text().contains('/') {
        causes.invalid(&name.path, Shown::text(name.text()), "must not contain '/'");
    }
}

fn quobyte(source: &Field<'_>, causes: &mut Causes) {
    const PAIR: &str = "must be a host:port pair or multiple pairs separated by commas";
    let registry = source.child("registry");
    if registry.is_empty() {
        causes.required(&registry.path, PAIR);
    } else if source.child("tenant").len() >= 65 {
        causes.required(source.at("tenant"), "must be a UUID and may not exceed a length of 64 characters");
    } else {
        for _ in registry.text().split(',').filter(|pair| !is_host_and_port(pair)) {
            causes.invalid(&registry.path, Shown::text(registry.text()), PAIR);
        }
    }
    required(source, "volume", causes);
}

/// Go's `net.SplitHostPort`.
fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let host = match host.strip_prefix('[') {
        Some(inside) => match inside.strip_suffix(']') {
            Some(inside) => inside,
            None => return false,
        },
        None if host.contains(':') => return false,
        None => host,
    };
    !host.contains(['[', ']']) && !port.contains(['[', ']'])
}

fn fibre_channel(source: &Field<'_>, causes: &mut Causes) {
    let names = source.child("targetWWNs");
    match (names.is_empty(), source.child("wwids").is_empty()) {
        (true, true) => {
            causes.required(&names.path, "must specify either targetWWNs or wwids, but not both");
        }
        (false, false) => {
            let why = "targetWWNs and wwids can not be specified simultaneously";
            let listed: Vec<&str> = names.texts().collect();
            causes.invalid(&names.path, Shown::plain(crate::go::JsonList(&listed)), why);
        }
        (true, false) | (false, true) => {}
    }
    if names.is_empty() {
        return;
    }
    let unit = source.child("lun");
    match unit.number() {
        None => causes.required(unit.path, "lun is required if targetWWNs is specified"),
        Some(number) => {
            for rule in names::range(number, 0, 255) {
                causes.invalid(&unit.path, Shown::plain(number), rule);
            }
        }
    }
}

fn flex(source: &Field<'_>, causes: &mut Causes) {
    for (key, option) in source.child("options").members() {
        let namespace = key.split('/').next().unwrap_or(key).to_lowercase();
        let normal = format!(".{namespace}");
        if normal.ends_with(".kubernetes.io") || normal.ends_with(".k8s.io") {
            let why = "kubernetes.io and k8s.io namespaces are reserved";
            causes.invalid(option.path, Shown::text(key), why);
        }
    }
}

fn azure_disk(source: &Field<'_>, causes: &mut Causes) {
    let word = |name: &str, known: &[&str], causes: &mut Causes| {
        let field = source.child(name);
        if field.is_set() && !known.contains(&field.text()) {
            causes.not_supported(&field.path, Shown::word(field.text()), known);
        }
    };
    word("cachingMode", &["None", "ReadOnly", "ReadWrite"], causes);
    word("kind", &["Dedicated", "Managed", "Shared"], causes);
    let uri = source.child("diskURI");
    let (start, form) = if source.child("kind").text() == "Managed" {
        let form =
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
        ("/subscriptions/", form)
    } else {
        ("https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd")
    };
    if !uri.text().starts_with(start) {
        causes.not_supported(&uri.path, Shown::text(uri.text()), &[form]);
    }
}

fn storage_os(source: &Field<'_>, causes: &mut Causes) {
    let name = source.child("volumeName");
    if name.is_empty() {
        causes.required(&name.path, "");
    } else {
        names::label_at(&name, causes);
    }
    let namespace = source.child("volumeNamespace");
    if !namespace.is_empty() {
        names::label_at(&namespace, causes);
    }
    secret(source, causes);
}

/// The volume's name is part of the initiator's.
pub(super) fn iscsi_name(source: &Field<'_>, volume: &Field<'_>, name: &str, causes: &mut Causes) {
    let portal = source.child("targetPortal").text();
    if source.child("initiatorName").is_set() && name.len() + 1 + portal.len() > 64 {
        let why = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if \
                   iscsi.initiatorName is specified.";
        causes.invalid(volume.at("name"), Shown::text(name), why);
    }
}

fn iscsi(source: &Field<'_>, causes: &mut Causes) {
    let name = source.child("iqn");
    if name.is_empty() {
        causes.required(&name.path, "");
    } else {
        qualified_name(&name, causes);
    }
    let unit = source.child("lun");
    for rule in names::range(unit.number_or_zero(), 0, 255) {
        causes.invalid(&unit.path, Shown::plain(unit.number_or_zero()), rule);
    }
    let asks = source.child("chapAuthDiscovery").is_true() || source.child("chapAuthSession").is_true();
    if asks && !source.child("secretRef").is_set() {
        causes.required(source.at("secretRef"), "");
    }
    if let Some(initiator) = source.child("initiatorName").set() {
        qualified_name(&initiator.moved(source.at("initiatorname")), causes);
    }
}

/// A name of a target or initiator in one of three schemes.
fn qualified_name(field: &Field<'_>, causes: &mut Causes) {
    let text = field.text();
    let is_long = |start: &str, count: usize| {
        let rest = text.strip_prefix(start).unwrap_or("");
        let mut characters = rest.chars();
        characters.next().is_some_and(|any| any != '\n')
            && characters.clone().count() == count
            && characters.all(|character| character.is_ascii_alphanumeric())
    };
    let why = match text.get(..3) {
        Some("iqn") if !has_iqn(text) => "must be valid format",
        Some("eui") if !is_long("eui", 16) => "must be valid format",
        Some("naa") if !is_long("naa", 32) => "must be valid format",
        Some("iqn" | "eui" | "naa") => return,
        Some(_) | None => "must be valid format starting with iqn, eui, or naa",
    };
    causes.invalid(&field.path, Shown::text(text), why);
}

/// Whether it ends in `iqn.2001-04.com.example:name`.
fn has_iqn(text: &str) -> bool {
    text.match_indices("iqn.").any(|(at, found)| {
        let rest = &text[at + found.len()..];
        let digits =
            |part: Option<&str>| part.is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        let is_dated = digits(rest.get(..4)) && rest.get(4..5) == Some("-") && digits(rest.get(5..7));
        let Some(rest) = rest.get(7..).and_then(|rest| rest.strip_prefix('.')).filter(|_| is_dated) else {
            return false;
        };
        let authority = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '.')));
        let Some((authority, name)) = authority.map(|end| rest.split_at(end)) else { return false };
        let name = name.strip_prefix(':').unwrap_or("");
        let is_allowed =
            |c: char| !matches!(c, ',' | ';' | '*' | '&' | '$' | '|' | ' ' | '\t' | '\n' | '\r' | '\u{c}');
        !authority.is_empty() && !name.is_empty() && name.chars().all(is_allowed)
    })
}
