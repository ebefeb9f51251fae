//! Requests and limits (`validateResourceRequirements`, `validatePodResources`).

use std::collections::BTreeSet;

use super::error::{Causes, Shown};
use super::field::Field;
use super::names;
use crate::object::pod::PodSpec;
use crate::object::requests::{
    Counting, HUGEPAGES_PREFIX, is_pod_level, limits_of_containers, of_containers,
};
use crate::quantity::Quantity;
use crate::reader;
use crate::selector::validate::label_key_problems;

/// Whose requirements they are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Container,
    Pod,
}

/// Unprefixed names that are known, besides huge pages (`IsStandardResourceName`).
const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];

/// Unprefixed names of things that are counted (`IsIntegerResourceName`).
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// Of a container.
pub(super) fn of_container(field: &Field<'_>, claims: &BTreeSet<&str>, causes: &mut Causes) {
    requirements(field, Of::Container, claims, causes);
}

/// Of the runtime, for a pod (`validateOverhead`).
pub(super) fn overhead(field: &Field<'_>, causes: &mut Causes) {
    if field.is_set() {
        let mut seen = Seen::default();
        limits(&field.moved(field.at("limits")), Of::Container, &mut seen, causes);
        seen.needs_more(&field.path, causes);
    }
}

/// Of a pod as a whole.
pub(super) fn of_pod(spec: &Field<'_>, claims: &BTreeSet<&str>, causes: &mut Causes) {
    let Some(field) = spec.child("resources").set() else { return };
    if spec.child("os").child("name").text() == "windows" {
        return causes.forbidden(field.path, "may not be set for a windows pod");
    }
    let claimed = field.child("claims");
    if claimed.is_set() {
        causes.forbidden(claimed.path, "claims may not be set for Resources at pod-level");
    }
    requirements(&field, Of::Pod, claims, causes);
    consistency(spec, &field, causes);
}

/// What has been seen among the names.
#[derive(Default)]
struct Seen {
    computes: bool,
    huge_pages: bool,
}

impl Seen {
    fn note(&mut self, name: &str) {
        self.computes |= matches!(name, "cpu" | "memory");
        self.huge_pages |= is_huge_pages(name);
    }

    fn needs_more(&self, path: &str, causes: &mut Causes) {
        if self.huge_pages && !self.computes {
            causes.forbidden(path, "HugePages require cpu or memory");
        }
    }
}

fn requirements(field: &Field<'_>, of: Of, claims: &BTreeSet<&str>, causes: &mut Causes) {
    let limited = field.child("limits");
    let mut seen = Seen::default();
    limits(&limited, of, &mut seen, causes);
    let requests = field.child("requests");
    for (name, request) in requests.members() {
        let Some(quantity) = amount(&request, name, of, causes) else { continue };
        match limited.child(name).quantity() {
            Some(limit) if quantity != limit && !may_overcommit(name) => {
                let why = format!("must be equal to {name} limit of {limit}");
                causes.invalid(&requests.path, Shown::text(&quantity.to_string()), why);
            }
            Some(limit) if quantity > limit => {
                let why = format!("must be less than or equal to {name} limit of {limit}");
                causes.invalid(&requests.path, Shown::text(&quantity.to_string()), why);
            }
            None if !may_overcommit(name) => {
                causes.required(&limited.path, "Limit must be set for non overcommitable resources");
            }
            Some(_) | None => {}
        }
        huge_pages(&request, name, &quantity, causes);
        seen.note(name);
    }
    seen.needs_more(&field.path, causes);
    claimed(&field.child("claims"), claims, causes);
}

fn limits(field: &Field<'_>, of: Of, seen: &mut Seen, causes: &mut Causes) {
    for (name, limit) in field.members() {
        if let Some(quantity) = amount(&limit, name, of, causes) {
            huge_pages(&limit, name, &quantity, causes);
        }
        seen.note(name);
    }
}

/// A name and its quantity, each by itself.
fn amount(field: &Field<'_>, name: &str, of: Of, causes: &mut Causes) -> Option<Quantity> {
    resource_name(field, name, of, causes);
    let quantity = field.quantity()?;
    not_negative(field, &quantity, causes);
    if is_counted(name) && quantity.milli_value() % 1_000 != 0 {
        causes.invalid(&field.path, Shown::word(&quantity.to_string()), "must be an integer");
    }
    Some(quantity)
}

/// `ValidateNonnegativeQuantity`.
fn not_negative(field: &Field<'_>, quantity: &Quantity, causes: &mut Causes) {
    if quantity.signum() < 0 {
        let why = "must be greater than or equal to 0";
        causes.invalid(&field.path, Shown::text(&quantity.to_string()), why);
    }
}

fn huge_pages(field: &Field<'_>, name: &str, quantity: &Quantity, causes: &mut Causes) {
    let Some(size) = name.strip_prefix(HUGEPAGES_PREFIX) else { return };
    let divides = size.parse::<Quantity>().is_ok_and(|size| {
        size.signum() > 0
            && size.milli_value() % 1_000 == 0
            && quantity.value().checked_rem(size.value()) == Some(0)
    });
    if !divides {
        let why = format!("{quantity} is not positive integer multiple of {name}");
        causes.invalid(&field.path, Shown::text(&quantity.to_string()), why);
    }
}

fn resource_name(field: &Field<'_>, name: &str, of: Of, causes: &mut Causes) {
    let before = causes.len();
    let mut invalid = |why: String| causes.invalid(&field.path, Shown::word(name), why);
    let problems = label_key_problems(name);
    let is_key = problems.is_empty();
    problems.into_iter().for_each(&mut invalid);
    let is_short = !name.contains('/');
    if is_key && is_short && !is_standard(name) {
        invalid("must be a standard resource type or fully qualified".to_owned());
    }
    match of {
        Of::Container if is_short => {
            if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !is_huge_pages(name) {
                invalid("must be a standard resource for containers".to_owned());
            }
        }
        Of::Container => {
            if !is_native(name) && !is_extended(name) {
                invalid("doesn't follow extended resource name standard".to_owned());
            }
        }
        Of::Pod => {
            if causes.len() == before && !is_pod_level(name) {
                causes.not_supported(&field.path, Shown::word(name), &["cpu", "hugepages-", "memory"]);
            }
        }
    }
}

fn is_huge_pages(name: &str) -> bool {
    name.starts_with(HUGEPAGES_PREFIX)
}

fn is_standard(name: &str) -> bool {
    STANDARD.contains(&name) || is_huge_pages(name) || name.starts_with("requests.hugepages-")
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended(name: &str) -> bool {
    let in_quota = format!("requests.{name}");
    !is_native(name) && !name.starts_with("requests.") && label_key_problems(&in_quota).is_empty()
}

fn is_counted(name: &str) -> bool {
    COUNTED.contains(&name) || is_extended(name)
}

fn may_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

/// Which of the pod's claims a container uses (`validateResourceClaimNames`).
fn claimed(field: &Field<'_>, claims: &BTreeSet<&str>, causes: &mut Causes) {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for claim in field.items() {
        let (name, request) = (claim.child("name").text(), claim.child("request"));
        if name.is_empty() {
            causes.required(&claim.path, "");
            continue;
        }
        if taken.contains(name) {
            causes.duplicate(&claim.path, Shown::text(name));
        } else {
            let mut key = name.to_owned();
            if !request.is_empty() {
                names::label_at(&request, causes);
                key = format!("{name}/{}", request.text());
            }
            if taken.contains(&key) {
                causes.duplicate(&claim.path, Shown::text(&key));
            } else if request.is_empty() {
                let parts = taken.iter().filter(|key| key.split_once('/').is_some_and(|(of, _)| of == name));
                for _ in parts {
                    causes.duplicate(&claim.path, Shown::text(name));
                }
            }
            taken.insert(key);
        }
        if !claims.contains(name) {
            let known: Vec<&str> = claims.iter().copied().collect();
            let known = if known.is_empty() {
                " which is empty".to_owned()
            } else {
                format!(": {}", known.join(", "))
            };
            let why = format!("must be one of the names in pod.spec.resourceClaims{known}");
            causes.not_found(&claim.path, name, why);
        }
    }
}

/// That the pod has as much as its containers together (`validatePodResourceConsistency`).
fn consistency(spec: &Field<'_>, own: &Field<'_>, causes: &mut Causes) {
    let part = |name: &str| reader::read(spec.child(name).value).unwrap_or_default();
    let typed = PodSpec {
        containers: part("containers"),
        init_containers: part("initContainers"),
        ..PodSpec::default()
    };
    let (requests, limits) = (own.child("requests"), own.child("limits"));
    for (name, sum) in of_containers(&typed, Counting::default()).iter() {
        if let Some(request) = requests.child(name).quantity().filter(|request| sum > request) {
            let why = format!("must be greater than or equal to aggregate container requests of {sum}");
            let path = format!("{}[{name}]", requests.path);
            causes.invalid(path, Shown::text(&request.to_string()), why);
        }
    }
    for (name, sum) in limits_of_containers(&typed).iter().filter(|(name, _)| is_huge_pages(name)) {
        if let Some(limit) = limits.child(name).quantity().filter(|limit| sum > limit) {
            let why = format!("must be greater than or equal to aggregate container limits of {sum}");
            let path = format!("{}[{name}]", limits.path);
            causes.invalid(path, Shown::text(&limit.to_string()), why);
        }
    }
    for (index, container) in spec.child("containers").items().enumerate() {
        for (name, limit) in container.child("resources").child("limits").members() {
            let (Some(limit), Some(most)) = (limit.quantity(), limits.child(name).quantity()) else {
                continue;
            };
            if limit > most {
                let why = format!("must be less than or equal to pod limits of {most}");
                let path = format!("{}.containers[{index}][{name}].limits", own.path);
                causes.invalid(path, Shown::text(&limit.to_string()), why);
            }
        }
    }
}

/// What a claim on storage asks for (`ValidatePersistentVolumeClaimSpec`).
pub(super) fn storage(resources: &Field<'_>, causes: &mut Causes) {
    let path = format!("{}[storage]", resources.path);
    let field = resources.child("requests").child("storage").moved(&*path);
    match field.quantity() {
        None => causes.required(path, ""),
        Some(quantity) if quantity.signum() <= 0 => {
            causes.invalid(path, Shown::text(&quantity.to_string()), "must be greater than zero");
        }
        Some(_) => {}
    }
}
