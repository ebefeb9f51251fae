//! Metadata (`ValidateObjectMeta`).

use replank_custom::problem::quoted;
use replank_model::selector::validate::{label_key_problems, label_value_problems};
use serde_json::Value;

use super::field::{is_ip, refuse_all};
use super::words;
use crate::server::resource::Generation;
use crate::server::{Cause, ResourceType};

/// The most bytes of all annotations together.
const ANNOTATIONS_MAX: usize = 256 * 1024;

/// What is wrong with an object's metadata.
pub(in super::super) fn metadata(resource: &ResourceType, value: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let empty = Value::Null;
    let meta = value.get("metadata").unwrap_or(&empty);
    let text = |name: &str| meta.get(name).and_then(Value::as_str).unwrap_or_default();
    let (name, prefix) = (text("name"), text("generateName"));
    if !prefix.is_empty() {
        // What is drawn comes behind it; a last hyphen is none then.
        let masked = match prefix.strip_suffix('-') {
            Some(before) => format!("{before}a"),
            None => prefix.to_owned(),
        };
        refuse_all(prefix, "metadata.generateName", of_name(resource, value, &masked), &mut causes);
    }
    if name.is_empty() && prefix.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else if !name.is_empty() {
        refuse_all(name, "metadata.name", of_name(resource, value, name), &mut causes);
    }
    if (&*resource.name.group, &*resource.name.plural) == ("", "namespaces") {
        // Its name is a label of it.
        refuse_all(name, "metadata.labels", label_value_problems(name), &mut causes);
    }
    if resource.generation == Generation::Absent
        && let Some(number) = meta.get("generation").and_then(Value::as_i64).filter(|number| *number < 0)
    {
        let why = "must be greater than or equal to 0";
        causes.push(Cause::invalid("metadata.generation", &number.to_string(), why));
    }
    labels(meta, &mut causes);
    owners(meta, &mut causes);
    let finalizers = finalizers(meta);
    well_formed(&finalizers, &mut causes);
    if Looks::of(resource).standard > 0 {
        standard(&finalizers, &mut causes);
    }
    causes
}

/// How often the checks of an update look at an object's metadata: what is wrong is told by each of them. Read off a running 1.36.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Looks {
    /// Checks of new metadata of kinds that know finalizers of their own.
    standard: usize,
    /// Checks of new metadata of the others.
    plain: usize,
    /// Comparisons of old and new metadata.
    compared: usize,
}

impl Looks {
    fn of(resource: &ResourceType) -> Self {
        let looks = |standard, plain, compared| Self { standard, plain, compared };
        if resource.custom.is_some() {
            return looks(0, 1, 2);
        }
        match (&*resource.name.group, &*resource.name.plural) {
            ("", "events") | ("policy", _) => looks(0, 1, 1),
            ("", "persistentvolumes") => looks(2, 1, 1),
            ("", "limitranges")
            | ("discovery.k8s.io" | "flowcontrol.apiserver.k8s.io", _)
            | ("storage.k8s.io", "csinodes" | "volumeattachments") => looks(1, 1, 1),
            ("admissionregistration.k8s.io", _) => looks(0, 2, 1),
            ("apiextensions.k8s.io" | "apiregistration.k8s.io" | "coordination.k8s.io", _) => looks(0, 1, 2),
            ("node.k8s.io", _) => looks(0, 2, 2),
            ("", "podtemplates" | "replicationcontrollers" | "resourcequotas" | "services")
            | ("apps", "daemonsets" | "deployments" | "replicasets" | "statefulsets")
            | ("autoscaling" | "events.k8s.io" | "scheduling.k8s.io", _)
            | ("batch", "cronjobs")
            | ("networking.k8s.io", "networkpolicies")
            | ("resource.k8s.io", "resourceslices")
            | ("storage.k8s.io", "csidrivers") => looks(1, 0, 2),
            (_, _) => looks(2, 0, 2),
        }
    }
}

/// What is wrong with the metadata that an update brings, as often as it is told.
pub(in super::super) fn metadata_changed(resource: &ResourceType, old: &Value, new: &Value) -> Vec<Cause> {
    let looks = Looks::of(resource);
    let empty = Value::Null;
    let meta = new.get("metadata").unwrap_or(&empty);
    let (mut of_all, mut of_plain, mut of_standard) = (Vec::new(), Vec::new(), Vec::new());
    labels(meta, &mut of_all);
    owners(meta, &mut of_all);
    let finalizers = finalizers(meta);
    well_formed(&finalizers, &mut of_plain);
    standard(&finalizers, &mut of_standard);
    let mut causes = Vec::new();
    causes.extend(std::iter::repeat_n(given(old, new), looks.compared).flatten());
    let (standard, plain) = (looks.standard, looks.plain);
    let told =
        [(of_all, standard + plain + looks.compared), (of_plain, standard + plain), (of_standard, standard)];
    for (found, times) in told {
        causes.extend(found.into_iter().flat_map(|cause| std::iter::repeat_n(cause, times)));
    }
    causes
}

/// What only the server writes, or is written once.
fn given(old: &Value, new: &Value) -> Vec<Cause> {
    let of = |value: &Value, name: &str| {
        value.get("metadata").and_then(|meta| meta.get(name)).filter(|at| !at.is_null()).cloned()
    };
    let mut causes = Vec::new();
    let deletion = "deletionTimestamp";
    if let (None, Some(given)) = (of(old, deletion), of(new, deletion)) {
        causes.push(Cause::invalid("metadata.deletionTimestamp", &given.to_string(), "field is immutable"));
    }
    let grace = "deletionGracePeriodSeconds";
    if let Some(seconds) = of(new, grace).filter(|seconds| of(old, grace).as_ref() != Some(seconds)) {
        let field = "metadata.deletionGracePeriodSeconds";
        causes.push(Cause::invalid(field, &seconds.to_string(), "field is immutable"));
    }
    // An object on its way out may lose finalizers, not gain them.
    if of(old, deletion).is_some() {
        let had = old.get("metadata").map(finalizers).unwrap_or_default();
        let has = new.get("metadata").map(finalizers).unwrap_or_default();
        let added: Vec<String> =
            has.iter().filter(|name| !had.contains(name)).map(|name| format!("{name:?}")).collect();
        if !added.is_empty() {
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &why));
        }
    }
    causes
}

/// Whether the validation of a kind leaves metadata to the generic one, which comes after it.
pub(in super::super) fn checks_metadata_last(resource: &ResourceType) -> bool {
    matches!((&*resource.name.group, &*resource.name.plural), ("", "events") | ("policy", _))
}

/// How often a uid that is not the object's is told.
pub(in super::super) fn comparisons(resource: &ResourceType) -> usize {
    Looks::of(resource).compared
}

fn finalizers(meta: &Value) -> Vec<&str> {
    let all = meta.get("finalizers").and_then(Value::as_array);
    all.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn well_formed(finalizers: &[&str], causes: &mut Vec<Cause>) {
    for finalizer in finalizers {
        refuse_all(finalizer, "metadata.finalizers", label_key_problems(finalizer), causes);
    }
}

fn standard(finalizers: &[&str], causes: &mut Vec<Cause>) {
    const STANDARD: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];
    for (index, finalizer) in finalizers.iter().enumerate() {
        if !finalizer.contains('/') && !STANDARD.contains(finalizer) {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid(format!("metadata.finalizers[{index}]"), &quoted(finalizer), why));
        }
    }
}

fn labels(meta: &Value, causes: &mut Vec<Cause>) {
    let members = |name: &str| meta.get(name).and_then(Value::as_object).into_iter().flatten();
    for (key, value) in members("labels") {
        refuse_all(key, "metadata.labels", label_key_problems(key), causes);
        let value = value.as_str().unwrap_or_default();
        refuse_all(value, "metadata.labels", label_value_problems(value), causes);
    }
    let mut size = 0;
    for (key, value) in members("annotations") {
        refuse_all(key, "metadata.annotations", label_key_problems(&key.to_lowercase()), causes);
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > ANNOTATIONS_MAX {
        let message = format!("Too long: may not be more than {ANNOTATIONS_MAX} bytes");
        let field = Some("metadata.annotations".to_owned());
        causes.push(Cause { reason: "FieldValueTooLong", message, field });
    }
}

fn owners(meta: &Value, causes: &mut Vec<Cause>) {
    let all = meta.get("ownerReferences").and_then(Value::as_array);
    for owner in all.into_iter().flatten() {
        for (name, why) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if owner.get(name).and_then(Value::as_str).unwrap_or_default().is_empty() {
                causes.push(Cause::invalid(format!("metadata.ownerReferences.{name}"), "\"\"", why));
            }
        }
    }
    let controllers: Vec<&Value> = all
        .into_iter()
        .flatten()
        .filter(|owner| owner.get("controller") == Some(&Value::Bool(true)))
        .collect();
    if let [first, second, ..] = controllers.as_slice() {
        let name = |owner: &Value| {
            let text = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            format!("{}/{}", text("kind"), text("name"))
        };
        let why = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
            name(first),
            name(second)
        );
        let shown: Vec<String> = all.into_iter().flatten().map(owner_in_go).collect();
        let shown = format!("[{}]", shown.join(","));
        causes.push(Cause::invalid("metadata.ownerReferences", &shown, &why));
    }
}

/// An owner as Go's encoder writes it: its members in the order of the struct.
fn owner_in_go(owner: &Value) -> String {
    const KEPT: [&str; 4] = ["apiVersion", "kind", "name", "uid"];
    let kept = KEPT.iter().map(|name| (*name, owner.get(*name).cloned().unwrap_or_else(|| "".into())));
    let given = ["controller", "blockOwnerDeletion"]
        .into_iter()
        .filter_map(|name| Some((name, owner.get(name)?.clone())));
    let members: Vec<String> = kept.chain(given).map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// What is wrong with a name; kinds have rules of their own.
fn of_name(resource: &ResourceType, value: &Value, name: &str) -> Vec<String> {
    match (&*resource.name.group, &*resource.name.plural) {
        ("", "namespaces" | "services") => words::label(name),
        ("certificates.k8s.io", "certificatesigningrequests") => Vec::new(),
        ("rbac.authorization.k8s.io" | "certificates.k8s.io" | "policy", _) | ("", "events") => {
            words::path_segment(name)
        }
        ("apiregistration.k8s.io", _) => {
            let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
            let wanted = format!("{}.{}", text("/spec/version"), text("/spec/group"));
            let problems = words::path_segment(name);
            if name == wanted || !problems.is_empty() {
                return problems;
            }
            vec![format!("must be `spec.version+\".\"+spec.group`: {}", quoted(&wanted))]
        }
        ("networking.k8s.io", "ipaddresses") => {
            if is_ip(name) {
                Vec::new()
            } else {
                vec![super::field::IP.to_owned()]
            }
        }
        _ => words::subdomain(name),
    }
}
