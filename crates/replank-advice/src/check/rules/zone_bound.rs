//! Volumes that only nodes of one zone, or one node, can reach.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::affinity::{NodeSelectorOperator, NodeSelectorRequirement};
use replank_model::object::meta::Key;
use replank_model::object::node::{LABEL_HOSTNAME, LABEL_ZONE};
use replank_model::object::pod::Pod;
use replank_model::object::volume::PersistentVolume;
use replank_model::text::Text;
use replank_model::view::View;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::{Subject, Survey};
use super::change::{keep_surge_per_zone, surge_per_zone};
use replank_facts::workload::Workload;

/// Labels by which drivers say in which zone a volume is.
const ZONE_KEYS: [&str; 3] =
    [LABEL_ZONE, "topology.ebs.csi.aws.com/zone", "failure-domain.beta.kubernetes.io/zone"];

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut zones: BTreeMap<&Workload, BTreeSet<Text>> = BTreeMap::new();
    let mut findings = Vec::new();
    for (workload, pods) in &survey.workloads {
        for subject in survey.subjects_of(pods) {
            for volume in volumes_of(survey.view, &subject.pod) {
                match bound_to(survey, volume) {
                    Some(Bound::Zone(zone)) => {
                        zones.entry(workload).or_default().insert(zone);
                    }
                    Some(Bound::Node(node)) => findings.push(on_one_node(workload, subject, volume, &node)),
                    None => {}
                }
            }
        }
    }
    for (workload, mut zones) in zones {
        zones.extend(of_claims(survey, workload));
        findings.push(in_zones(survey, workload, &zones));
    }
    findings
}

/// The zones that volumes of a workload's pods are bound to.
pub(super) fn zones_of(survey: &Survey<'_>, workload: &Workload) -> BTreeSet<Text> {
    let pods = survey.workloads.get(workload).map_or(&[][..], Vec::as_slice);
    let volumes = survey.subjects_of(pods).flat_map(|subject| volumes_of(survey.view, &subject.pod));
    let zone = |volume| match bound_to(survey, volume) {
        Some(Bound::Zone(zone)) => Some(zone),
        Some(Bound::Node(_)) | None => None,
    };
    volumes.filter_map(zone).collect()
}

/// The zones of all volumes that a StatefulSet's claims are bound to, whether their pods are there or not: a pod that is missing comes back to its own.
fn of_claims(survey: &Survey<'_>, workload: &Workload) -> BTreeSet<Text> {
    let view = survey.view;
    let set = view.stateful_sets.by_key(&workload.key).filter(|_| &*workload.kind == "StatefulSet");
    let templates = set.map_or(&[][..], |set| set.spec.volume_claim_templates.as_slice());
    let prefixes: Vec<String> =
        templates.iter().map(|claim| format!("{}-{}-", claim.meta.name, workload.key.name)).collect();
    let is_of_set = |name: &str| {
        let ordinal = prefixes.iter().find_map(|prefix| name.strip_prefix(&**prefix));
        ordinal.is_some_and(|ordinal| ordinal.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let claims = view.persistent_volume_claims.unordered().map(|(_, claim)| claim).filter(|claim| {
        claim.meta.namespace == workload.key.namespace && is_of_set(claim.meta.name.as_str())
    });
    let volumes = claims
        .filter_map(|claim| view.persistent_volumes.by_key(&Key::cluster(claim.spec.volume_name.clone())));
    let zone = |volume: &PersistentVolume| match bound_to(survey, volume) {
        Some(Bound::Zone(zone)) => Some(zone),
        Some(Bound::Node(_)) | None => None,
    };
    volumes.filter_map(|volume| zone(volume)).collect()
}

/// Where a volume can be reached from.
enum Bound {
    Zone(Text),
    Node(Text),
}

fn volumes_of<'a>(view: &'a View, pod: &'a Pod) -> impl Iterator<Item = &'a PersistentVolume> {
    pod.spec.volumes.iter().filter_map(|volume| {
        let claim = match (&volume.source.persistent_volume_claim, &volume.source.ephemeral) {
            (Some(claim), _) => claim.claim_name.clone(),
            (None, Some(_)) => format!("{}-{}", pod.meta.name, volume.name).into(),
            (None, None) => return None,
        };
        let claim = view
            .persistent_volume_claims
            .by_key(&Key { namespace: pod.meta.namespace.clone(), name: claim })?;
        view.persistent_volumes.by_key(&Key::cluster(claim.spec.volume_name.clone())).map(|volume| &**volume)
    })
}

fn bound_to(survey: &Survey<'_>, volume: &PersistentVolume) -> Option<Bound> {
    let required = volume.spec.node_affinity.as_ref()?.required.as_ref()?;
    let only =
        |requirement: &NodeSelectorRequirement| match (requirement.operator, requirement.values.as_slice()) {
            (NodeSelectorOperator::In, [value]) => Some((requirement.key.clone(), value.clone())),
            _ => None,
        };
    let [term] = required.node_selector_terms.as_slice() else { return None };
    let named = || term.match_expressions.iter().filter_map(only);
    let node = named().find(|(key, value)| is_of_one_node(survey, key, value));
    let zone = || named().find(|(key, _)| ZONE_KEYS.contains(&&**key));
    node.map(|(_, value)| Bound::Node(value)).or_else(|| zone().map(|(_, value)| Bound::Zone(value)))
}

/// Whether a label is that of a single node: its name, or what a driver for local disks calls it.
fn is_of_one_node(survey: &Survey<'_>, key: &str, value: &str) -> bool {
    if key == LABEL_HOSTNAME {
        return true;
    }
    let is_wide = ZONE_KEYS.contains(&key) || key.ends_with("/zone") || key.ends_with("/region");
    let labels = || survey.view.nodes.unordered().filter_map(|(_, node)| node.meta.labels.value(key));
    !is_wide && labels().filter(|known| *known == value).count() == 1 && labels().count() > 1
}

fn on_one_node(workload: &Workload, subject: &Subject, volume: &PersistentVolume, node: &str) -> Finding {
    Finding {
        rule: Rule::ZoneBound,
        severity: Severity::Blocking,
        object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
        reason: format!(
            "pod {} uses volume {}, which is available on node {node} only: it cannot move",
            subject.pod.meta.name, volume.meta.name
        ),
        remedy: "move the data to another volume or replica first, then delete the claim and the pod"
            .to_owned()
            .into(),
    }
}

fn in_zones(survey: &Survey<'_>, workload: &Workload, zones: &BTreeSet<Text>) -> Finding {
    let listed = zones.iter().map(std::string::ToString::to_string).collect::<Vec<_>>().join(", ");
    let short = too_little_surge(survey, workload);
    let (severity, more, remedy) = match short {
        Some((group, surge, needed)) => (
            Severity::Warning,
            format!(
                "; group {group} has nodes in {needed} zones and a surge of {surge}: a new node may start in a zone that they cannot use, and the roll would be blocked"
            ),
            surge_per_zone(needed),
        ),
        None => (Severity::Info, String::new(), keep_surge_per_zone(survey)),
    };
    Finding {
        rule: Rule::ZoneBound,
        severity,
        object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
        reason: format!(
            "its volumes are bound to {listed}: each pod needs a new node with room in its own zone{more}"
        ),
        remedy,
    }
}

/// The group of a workload's pods, its surge and its zones, if the surge is smaller than the zones are many.
pub(super) fn too_little_surge(survey: &Survey<'_>, workload: &Workload) -> Option<(Text, u32, u32)> {
    let plan = survey.plan?;
    let pods = survey.workloads.get(workload)?;
    let groups: BTreeSet<_> = survey
        .subjects_of(pods)
        .filter_map(|subject| survey.group_of(survey.view.node(subject.pod.node.as_ref()?)?))
        .collect();
    groups.into_iter().find_map(|name| {
        let group = survey.groups.get(&name)?;
        let surge = plan.budget.allowance(group.size.desired, group.zones.len()).surge;
        let zones = u32::try_from(group.zones.len()).unwrap_or(u32::MAX);
        (surge < zones).then(|| (name.text().clone(), surge, zones))
    })
}

#[cfg(test)]
mod tests {
    use replank_facts::plan::Surge;
    use serde_json::{Value, json};

    use super::super::stage::{found, found_under, node, pod};
    use super::*;

    fn with(key: &str, value: &str) -> Vec<Value> {
        let claim =
            json!({"spec": {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "d-db-0"}}]}});
        vec![
            node("n", "a"),
            node("m", "b"),
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "shop", "uid": "db"}}),
            pod("db-0", "n", Some(("apps/v1", "StatefulSet", "db")), claim),
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "d-db-0", "namespace": "shop"},
                "spec": {"volumeName": "pv"}}),
            json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": {"nodeAffinity": {"required":
                {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]}}}}),
        ]
    }

    #[test]
    fn volumes_in_one_zone_are_found_and_a_small_surge_beside_them() {
        let zonal = || with("topology.ebs.csi.aws.com/zone", "a");
        let head = "zone-bound StatefulSet shop/db: its volumes are bound to a: each pod needs a new node with room in its own zone";
        assert_eq!(found(Rule::ZoneBound, zonal()), [format!("info {head}")]);
        let warned = found_under(Rule::ZoneBound, |plan| plan.budget.surge = 1.into(), zonal());
        assert!(
            warned[0]
                .starts_with(&format!("warning {head}; group web has nodes in 2 zones and a surge of 1")),
            "{warned:?}"
        );
        for surge in [Surge::from(2), Surge::PerZone] {
            let enough = found_under(Rule::ZoneBound, |plan| plan.budget.surge = surge, zonal());
            assert_eq!(enough, [format!("info {head}")]);
        }
    }

    #[test]
    fn the_zones_are_those_of_all_claims_also_of_a_pod_that_is_missing() {
        let mut objects = with("topology.ebs.csi.aws.com/zone", "a");
        objects[2]["spec"] = json!({"volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": {}}]});
        for (claim, volume, zone) in
            [("d-db-1", "pv-1", "b"), ("d-dbx-0", "pv-x", "c"), ("d-db-x", "pv-y", "d")]
        {
            objects.push(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": claim, "namespace": "shop"}, "spec": {"volumeName": volume}}));
            objects.push(json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume}, "spec": {"nodeAffinity":
                {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                    {"key": "topology.ebs.csi.aws.com/zone", "operator": "In", "values": [zone]}]}]}}}}));
        }
        let told = found(Rule::ZoneBound, objects);
        assert!(told[0].contains("its volumes are bound to a, b: each pod"), "{told:?}");
    }

    #[test]
    fn a_local_volume_cannot_move_and_a_shared_one_is_bound_to_nothing() {
        assert!(found(Rule::ZoneBound, with("kubernetes.io/hostname", "n"))[0].starts_with("blocking"));
        let mut by_driver = with("topology.topolvm.io/node", "n");
        assert_eq!(found(Rule::ZoneBound, by_driver.clone()), [""; 0], "no node has such a label");
        for (at, name) in [(0, "n"), (1, "m")] {
            by_driver[at]["metadata"]["labels"]["topology.topolvm.io/node"] = json!(name);
        }
        assert!(
            found(Rule::ZoneBound, by_driver)[0]
                .contains("which is available on node n only: it cannot move")
        );
        let mut shared = with("x", "y");
        shared[5]["spec"] = json!({});
        assert_eq!(found(Rule::ZoneBound, shared), [""; 0]);
    }
}
