//! Rows of volumes, and of devices.

use serde_json::Value;

use crate::table::look::{Look, items, joined, text, word_or};

/// The cells of a resource of this file.
pub(super) fn cells(plural: &str, look: Look<'_>) -> Option<Vec<Value>> {
    Some(match plural {
        "persistentvolumes" => volume(look),
        "persistentvolumeclaims" => claim(look),
        "storageclasses" => class(look),
        "volumeattributesclasses" => vec![look.name(), look.text("/driverName").into(), look.age()],
        "csinodes" => vec![look.name(), look.list("/spec/drivers").len().into(), look.age()],
        "csidrivers" => driver(look),
        "volumeattachments" => vec![
            look.name(),
            look.text("/spec/attacher").into(),
            look.text("/spec/source/persistentVolumeName").into(),
            look.text("/spec/nodeName").into(),
            look.flag("/status/attached", false).into(),
            look.age(),
        ],
        "deviceclasses" | "resourceclaimtemplates" => vec![look.name(), look.age()],
        "resourceclaims" => vec![look.name(), claim_state(look).into(), look.age()],
        "resourceslices" => vec![
            look.name(),
            look.text("/spec/nodeName").into(),
            look.text("/spec/driver").into(),
            look.text("/spec/pool/name").into(),
            look.age(),
        ],
        _ => return None,
    })
}

fn modes(value: &Value) -> String {
    let words = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = |mode: &str| items(value).iter().any(|one| one == mode);
    joined(words.iter().filter(|(mode, _)| has(mode)).map(|(_, word)| *word), ",")
}

fn phase(look: Look<'_>) -> Value {
    if look.is_going() { "Terminating".into() } else { look.text("/status/phase").into() }
}

/// The class of a volume or a claim; an old annotation comes first.
fn class_of(look: Look<'_>) -> Value {
    let beta = &look.at("/metadata/annotations")["volume.beta.kubernetes.io/storage-class"];
    beta.as_str().unwrap_or(look.text("/spec/storageClassName")).into()
}

fn volume(look: Look<'_>) -> Vec<Value> {
    let claim = match look.at("/spec/claimRef") {
        Value::Null => String::new(),
        claim @ (Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_)) => format!("{}/{}", text(&claim["namespace"]), text(&claim["name"])),
    };
    vec![
        look.name(),
        word_or(look.at("/spec/capacity/storage"), "0").into(),
        modes(look.at("/spec/accessModes")).into(),
        look.text("/spec/persistentVolumeReclaimPolicy").into(),
        phase(look),
        claim.into(),
        class_of(look),
        look.text_or("/spec/volumeAttributesClassName", "<unset>"),
        look.text("/status/reason").into(),
        look.age(),
        look.text_or("/spec/volumeMode", "<unset>"),
    ]
}

fn claim(look: Look<'_>) -> Vec<Value> {
    let volume = look.text("/spec/volumeName");
    let (capacity, modes) = match volume {
        "" => (String::new(), String::new()),
        _ => (word_or(look.at("/status/capacity/storage"), "0"), modes(look.at("/status/accessModes"))),
    };
    vec![
        look.name(),
        phase(look),
        volume.into(),
        capacity.into(),
        modes.into(),
        class_of(look),
        look.text_or("/spec/volumeAttributesClassName", "<unset>"),
        look.age(),
        look.text_or("/spec/volumeMode", "<unset>"),
    ]
}

fn class(look: Look<'_>) -> Vec<Value> {
    let annotations = look.at("/metadata/annotations");
    let is_default =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]
            .iter()
            .any(|key| annotations[*key] == "true");
    let name = look.text("/metadata/name");
    vec![
        if is_default { format!("{name} (default)") } else { name.to_owned() }.into(),
        look.text("/provisioner").into(),
        look.text_or("/reclaimPolicy", "Delete"),
        look.text_or("/volumeBindingMode", "Immediate"),
        look.flag("/allowVolumeExpansion", false).into(),
        look.age(),
    ]
}

fn driver(look: Look<'_>) -> Vec<Value> {
    let requests = match look.at("/spec/tokenRequests") {
        Value::Null => "<unset>".to_owned(),
        requests @ (Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_)) => joined(items(requests).iter().map(|one| text(&one["audience"])), ","),
    };
    let modes = joined(look.list("/spec/volumeLifecycleModes").iter().map(text), ",");
    vec![
        look.name(),
        look.flag("/spec/attachRequired", true).into(),
        look.flag("/spec/podInfoOnMount", false).into(),
        look.flag("/spec/storageCapacity", false).into(),
        requests.into(),
        look.flag("/spec/requiresRepublish", false).into(),
        if modes.is_empty() { "<none>".to_owned() } else { modes }.into(),
        look.age(),
    ]
}

fn claim_state(look: Look<'_>) -> String {
    let is_allocated = !look.at("/status/allocation").is_null();
    let states = [
        (look.is_going(), "deleted"),
        (!is_allocated && !look.is_going(), "pending"),
        (is_allocated, "allocated"),
        (is_allocated && !look.list("/status/reservedFor").is_empty(), "reserved"),
    ];
    joined(states.iter().filter(|(is_so, _)| *is_so).map(|(_, word)| *word), ",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_claim_without_a_volume_has_no_size() {
        let object = json!({"metadata": {"name": "c"}, "spec": {"storageClassName": "gp3", "resources": {"requests": {"storage": "1Gi"}}},
            "status": {"phase": "Pending", "capacity": {"storage": "1Gi"}}});
        let told =
            cells("persistentvolumeclaims", Look { object: &object, now: crate::table::Moment::At(0) })
                .expect("it is one");
        assert_eq!(told[..7], ["c", "Pending", "", "", "", "gp3", "<unset>"]);
        assert_eq!(modes(&json!(["ReadWriteMany", "ReadWriteOnce"])), "RWO,RWX");
    }
}
