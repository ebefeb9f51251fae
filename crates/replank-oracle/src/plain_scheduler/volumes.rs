//! Volumes.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::affinity::NodeSelectorTerm;
use replank_model::object::meta::{Key, Meta};
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, Volume};
use replank_model::object::volume::{
    AccessMode, ClaimPhase, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeBindingMode,
    VolumePhase,
};
use replank_model::quantity::Quantity;
use replank_model::selector::Selector;
use replank_model::text::{Name, Text};

use super::disks::{self, Disk, ZONE_LABELS, conflict, is_restricted, terms_of, translated};
use super::filters::{Failure, fail};
use super::pods::{compiled, selects, term_matches};
use super::{OnNode, Question};

fn claim_name(pod: &Pod, volume: &Volume) -> Option<String> {
    if let Some(claim) = &volume.source.persistent_volume_claim {
        return Some(claim.claim_name.to_string());
    }
    volume.source.ephemeral.as_ref().map(|_| format!("{}-{}", pod.meta.name, volume.name))
}

fn named_claims(pod: &Pod) -> impl Iterator<Item = &Name> {
    pod.spec.volumes.iter().filter_map(|v| Some(&v.source.persistent_volume_claim.as_ref()?.claim_name))
}

fn class_name(meta: &Meta, named: Option<&Name>) -> String {
    let annotated = meta.annotations.value("volume.beta.kubernetes.io/storage-class");
    annotated.map_or_else(|| named.map(ToString::to_string).unwrap_or_default(), ToOwned::to_owned)
}

fn size(list: &replank_model::object::resources::Resources) -> Quantity {
    list.get("storage").cloned().unwrap_or_default()
}

fn reaches(terms: Option<Vec<NodeSelectorTerm>>, node: &Node) -> bool {
    terms.is_none_or(|terms| {
        terms.iter().any(|term| {
            let is_empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
            !is_empty && term_matches(term, &node.meta.labels, None) == Some(true)
        })
    })
}

impl<'a> Question<'a> {
    fn claim(&self, namespace: &str, name: &str) -> Option<&'a PersistentVolumeClaim> {
        self.view.persistent_volume_claims.by_key(&Key::new(namespace, name)).map(|claim| &**claim)
    }

    fn volume(&self, name: &str) -> Option<&'a PersistentVolume> {
        self.view.persistent_volumes.by_key(&Key::cluster(name)).map(|volume| &**volume)
    }

    fn class(&self, claim: &PersistentVolumeClaim) -> Option<&'a StorageClass> {
        let name = class_name(&claim.meta, claim.spec.storage_class_name.as_ref());
        self.view.storage_classes.by_key(&Key::cluster(name)).map(|class| &**class)
    }

    fn claims(&self) -> Vec<(&'a PersistentVolumeClaim, bool)> {
        let names =
            self.pod.spec.volumes.iter().filter_map(|volume| {
                Some((claim_name(self.pod, volume)?, volume.source.ephemeral.is_some()))
            });
        names
            .filter_map(|(name, own)| Some((self.claim(self.pod.meta.namespace.as_str(), &name)?, own)))
            .collect()
    }

    fn waits(&self, claim: &PersistentVolumeClaim) -> bool {
        claim.spec.volume_name.is_empty()
            && self.class(claim).is_some_and(|class| {
                class.volume_binding_mode == Some(VolumeBindingMode::WaitForFirstConsumer)
            })
    }

    fn is_bound(claim: &PersistentVolumeClaim) -> bool {
        !claim.spec.volume_name.is_empty()
            && claim.meta.annotations.contains_key("pv.kubernetes.io/bind-completed")
    }

    pub(crate) fn refused_for_volumes(&self) -> Option<(String, String)> {
        let namespace = self.pod.meta.namespace.as_str();
        let refuse = |plugin: &str, reason: String| Some((plugin.to_owned(), reason));
        for name in named_claims(self.pod) {
            if self.claim(namespace, name.as_str()).is_none() {
                return refuse("VolumeRestrictions", format!("persistentvolumeclaim \"{name}\" not found"));
            }
        }
        for volume in &self.pod.spec.volumes {
            let Some(name) = claim_name(self.pod, volume) else { continue };
            let Some(claim) = self.claim(namespace, &name) else {
                let reason = format!(
                    "waiting for ephemeral volume controller to create the persistentvolumeclaim \"{name}\""
                );
                return refuse("VolumeBinding", reason);
            };
            if claim.status.phase == Some(ClaimPhase::Lost) {
                let gone = &claim.spec.volume_name;
                let reason = format!(
                    "persistentvolumeclaim \"{name}\" bound to non-existent persistentvolume \"{gone}\""
                );
                return refuse("VolumeBinding", reason);
            }
            if claim.meta.is_terminating() {
                return refuse("VolumeBinding", format!("persistentvolumeclaim \"{name}\" is being deleted"));
            }
            let owner = claim.meta.controller().map(|owner| &owner.uid);
            if volume.source.ephemeral.is_some() && owner != Some(&self.pod.meta.uid) {
                let pod = &self.pod.meta.name;
                let reason = format!(
                    "PVC {namespace}/{name} was not created for pod {namespace}/{pod} (pod is not owner)"
                );
                return refuse("VolumeBinding", reason);
            }
        }
        if self.claims().iter().any(|(claim, _)| !Self::is_bound(claim) && !self.waits(claim)) {
            return refuse("VolumeBinding", "pod has unbound immediate PersistentVolumeClaims".into());
        }
        for (claim, _) in self.claims().into_iter().filter(|(_, is_ephemeral)| !is_ephemeral) {
            let name = &claim.spec.volume_name;
            if !name.is_empty() && self.volume(name.as_str()).is_none() {
                return refuse("VolumeZone", format!("persistentvolume \"{name}\" not found"));
            }
        }
        None
    }

    pub(crate) fn skipped_for_volumes(&self) -> BTreeSet<String> {
        let sources = || self.pod.spec.volumes.iter().map(|volume| &volume.source);
        let has_disks = sources().any(is_restricted);
        let may_attach = sources().any(|source| {
            source.persistent_volume_claim.is_some()
                || source.ephemeral.is_some()
                || disks::inline(source).is_some()
        });
        let all = [
            ("VolumeRestrictions", has_disks || self.taken() > 0),
            ("NodeVolumeLimits", may_attach),
            ("VolumeBinding", !self.claims().is_empty()),
            ("VolumeZone", !self.zones().is_empty()),
        ];
        all.into_iter().filter(|(_, asked)| !asked).map(|(plugin, _)| plugin.to_owned()).collect()
    }

    /// Claims that only one pod may use and that some pod uses.
    fn taken(&self) -> usize {
        self.exclusive()
            .iter()
            .filter(|name| {
                self.nodes.values().flat_map(|on| &on.pods).any(|other| {
                    other.meta.namespace == self.pod.meta.namespace
                        && named_claims(other).any(|used| used.as_str() == name.as_str())
                })
            })
            .count()
    }

    fn exclusive(&self) -> BTreeSet<String> {
        let namespace = self.pod.meta.namespace.as_str();
        named_claims(self.pod)
            .filter(|name| {
                self.claim(namespace, name.as_str())
                    .is_some_and(|claim| claim.spec.access_modes.contains(&AccessMode::ReadWriteOncePod))
            })
            .map(ToString::to_string)
            .collect()
    }

    fn zones(&self) -> Vec<(&'static str, BTreeSet<String>)> {
        let mut zones = Vec::new();
        for (claim, _) in self.claims().into_iter().filter(|(_, is_ephemeral)| !is_ephemeral) {
            let Some(volume) = self.volume(claim.spec.volume_name.as_str()) else { continue };
            for key in ZONE_LABELS {
                let Some(value) = volume.meta.labels.value(key) else { continue };
                let values: BTreeSet<String> = value.split("__").map(|zone| zone.trim().to_owned()).collect();
                if !values.contains("") {
                    zones.push((key, values));
                }
            }
        }
        zones
    }

    /// Objections of the four plugins that look at volumes. `on` has the pods that are put there for the question.
    pub(crate) fn volumes(&self, on: &OnNode<'a>, more: &[&'a Pod]) -> Vec<Failure> {
        let mut all = Vec::new();
        if self.pod.spec.volumes.is_empty() {
            return all;
        }
        all.extend(self.restrictions(on, more));
        all.extend(self.limits(on));
        all.extend(self.binding(on.node));
        all.extend(self.zone(on.node));
        all
    }

    fn restrictions(&self, on: &OnNode<'a>, more: &[&'a Pod]) -> Option<Failure> {
        let disks = || self.pod.spec.volumes.iter().map(|v| &v.source).filter(|s| is_restricted(s));
        let others = || on.pods.iter().flat_map(|pod| &pod.spec.volumes).map(|volume| &volume.source);
        if disks().any(|a| others().any(|b| conflict(a, b))) {
            return fail("VolumeRestrictions", true, "node(s) had no available disk");
        }
        let exclusive = self.exclusive();
        let used_more = more.iter().flat_map(|pod| named_claims(pod)).any(|n| exclusive.contains(n.as_str()));
        // The plugin takes part only if some claim was taken to begin with, or there are disks.
        let takes_part = self.taken() > 0 || disks().next().is_some();
        if takes_part && (self.taken() > 0 || used_more) {
            let reason = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode \
                          already in-use by another pod";
            return fail("VolumeRestrictions", true, reason);
        }
        None
    }

    /// Driver and handle of each volume of a pod.
    fn handles(&self, pod: &Pod) -> BTreeSet<(String, String)> {
        let mut handles = BTreeSet::new();
        for volume in &pod.spec.volumes {
            let Some(name) = claim_name(pod, volume) else {
                handles.extend(disks::inline(&volume.source).and_then(Self::handle_of_disk));
                continue;
            };
            let Some(claim) = self.claim(pod.meta.namespace.as_str(), &name) else { continue };
            match self.volume(claim.spec.volume_name.as_str()) {
                Some(volume) => handles.extend(Self::handle(volume)),
                None => {
                    if let Some(class) = self.class(claim) {
                        let driver = disks::successor(&class.provisioner).unwrap_or(&class.provisioner);
                        if !driver.is_empty() {
                            handles.insert((driver.to_owned(), format!("new {}", claim.meta.key())));
                        }
                    }
                }
            }
        }
        handles
    }

    fn handle(volume: &PersistentVolume) -> Option<(String, String)> {
        let csi = volume.spec.csi.as_ref().map(|csi| (csi.driver.to_string(), csi.volume_handle.to_string()));
        csi.or_else(|| disks::of(volume).and_then(Self::handle_of_disk))
    }

    fn handle_of_disk(disk: Disk) -> Option<(String, String)> {
        (!disk.driver.is_empty()).then_some((disk.driver.to_owned(), disk.handle?))
    }

    fn limits(&self, on: &OnNode<'a>) -> Option<Failure> {
        let csi_node = self.view.csi_nodes.by_key(&Key::cluster(on.node.meta.name.clone()))?;
        let mut limits: BTreeMap<String, i64> = BTreeMap::new();
        for driver in &csi_node.spec.drivers {
            if let Some(count) = driver.allocatable.as_ref().and_then(|allocatable| allocatable.count) {
                limits.insert(driver.name.to_string(), i64::from(count));
            }
        }
        let mut attached: BTreeSet<(String, String)> = BTreeSet::new();
        on.pods.iter().for_each(|pod| attached.extend(self.handles(pod)));
        let new: BTreeSet<_> = self.handles(self.pod).difference(&attached).cloned().collect();
        for (_, attachment) in self.view.volume_attachments.sorted() {
            let spec = &attachment.spec;
            if spec.node_name.as_str() == on.node.meta.name.as_str()
                && let Some(name) = &spec.source.persistent_volume_name
                && let Some(csi) = self.volume(name.as_str()).and_then(|volume| volume.spec.csi.as_ref())
            {
                attached.insert((spec.attacher.to_string(), csi.volume_handle.to_string()));
            }
        }
        let count = |set: &BTreeSet<(String, String)>, driver: &str| {
            i64::try_from(set.iter().filter(|(of, _)| of == driver).count()).expect("few volumes")
        };
        let is_over = limits.iter().any(|(driver, most)| {
            count(&new, driver) > 0 && count(&attached, driver) + count(&new, driver) > *most
        });
        if is_over { fail("NodeVolumeLimits", true, "node(s) exceed max volume count") } else { None }
    }

    fn binding(&self, node: &Node) -> Option<Failure> {
        let mut reasons = Vec::new();
        let mut gone = false;
        for (claim, _) in self.claims().into_iter().filter(|(claim, _)| Self::is_bound(claim)) {
            match self.volume(claim.spec.volume_name.as_str()) {
                None => gone = true,
                Some(volume) if !reaches(self.bound_terms(volume, node), node) => {
                    reasons.push("node(s) didn't match PersistentVolume's node affinity".to_owned());
                }
                Some(_) => continue,
            }
            break;
        }
        reasons.extend(self.bind(node).map(ToOwned::to_owned));
        if gone {
            reasons
                .push("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)".to_owned());
        }
        let failure = Failure { plugin: "VolumeBinding".into(), resolvable: false, reasons };
        (!failure.reasons.is_empty()).then_some(failure)
    }

    /// Nodes on which the driver has taken over say so.
    fn bound_terms(&self, volume: &PersistentVolume, node: &Node) -> Option<Vec<NodeSelectorTerm>> {
        let csi_node = self.view.csi_nodes.by_key(&Key::cluster(node.meta.name.clone()));
        let migrated =
            csi_node.and_then(|n| n.meta.annotations.value("storage.alpha.kubernetes.io/migrated-plugins"));
        let disk = disks::of(volume).filter(|disk| {
            migrated.is_some_and(|plugins| plugins.split(',').any(|name| name == disk.plugin))
        });
        disk.map_or_else(|| terms_of(volume), |disk| translated(volume, &disk))
    }

    /// Why the claims that wait cannot be bound on a node.
    fn bind(&self, node: &Node) -> Option<&'static str> {
        const NONE: &str = "node(s) didn't find available persistent volumes to bind";
        let mut find = Vec::new();
        let mut make = Vec::new();
        for (claim, _) in self.claims().into_iter().filter(|(claim, _)| !Self::is_bound(claim)) {
            match claim.meta.annotations.value("volume.kubernetes.io/selected-node") {
                Some(selected) if selected != node.meta.name.as_str() => return Some(NONE),
                Some(_) => make.push(claim),
                None => find.push(claim),
            }
        }
        find.sort_by_key(|claim| size(&claim.spec.resources.requests));
        let mut chosen: BTreeSet<String> = BTreeSet::new();
        for claim in find {
            match self.find_volume(claim, node, &chosen) {
                Some(volume) => {
                    chosen.insert(volume);
                }
                None => make.push(claim),
            }
        }
        for claim in make {
            let class = self.class(claim)?;
            let labels = &node.meta.labels;
            let is_allowed = class.allowed_topologies.is_empty()
                || class.allowed_topologies.iter().any(|term| {
                    !term.match_label_expressions.is_empty()
                        && term.match_label_expressions.iter().all(|wanted| {
                            labels.value(&wanted.key).is_some_and(|v| wanted.values.iter().any(|w| &**w == v))
                        })
                });
            if &*class.provisioner == "kubernetes.io/no-provisioner" || !is_allowed {
                return Some(NONE);
            }
            if !self.has_room(claim, class, node) {
                return Some("node(s) did not have enough free storage");
            }
        }
        None
    }

    fn find_volume(
        &self,
        claim: &PersistentVolumeClaim,
        node: &Node,
        chosen: &BTreeSet<String>,
    ) -> Option<String> {
        let wanted = size(&claim.spec.resources.requests);
        let class = class_name(&claim.meta, claim.spec.storage_class_name.as_ref());
        let mode = |mode: &Option<Text>| mode.as_deref().unwrap_or("Filesystem").to_owned();
        let mut best: Option<(Quantity, String)> = None;
        for (_, volume) in self.view.persistent_volumes.sorted() {
            let has = size(&volume.spec.capacity);
            let holder = volume.spec.claim_ref.as_ref();
            let is_mine = holder.is_some_and(|holder| {
                holder.name == claim.meta.name
                    && *holder.namespace == *claim.meta.namespace.as_str()
                    && (holder.uid.is_empty() || holder.uid == claim.meta.uid)
            });
            if chosen.contains(volume.meta.name.as_str())
                || class_name(&volume.meta, Some(&volume.spec.storage_class_name)) != class
                || (holder.is_some() && !is_mine)
                || has < wanted
                || mode(&claim.spec.volume_mode) != mode(&volume.spec.volume_mode)
                || claim.spec.volume_attributes_class_name.clone().unwrap_or_default()
                    != volume.spec.volume_attributes_class_name.clone().unwrap_or_default()
                || volume.meta.is_terminating()
            {
                continue;
            }
            if is_mine {
                return reaches(terms_of(volume), node).then(|| volume.meta.name.to_string());
            }
            let selector = claim.spec.selector.as_ref();
            let matches = selector.is_none_or(|selector| selects(Some(selector), &volume.meta.labels));
            let modes = &claim.spec.access_modes;
            if volume.status.phase == Some(VolumePhase::Available)
                && matches
                && reaches(terms_of(volume), node)
                && modes.iter().all(|mode| volume.spec.access_modes.contains(mode))
                && best.as_ref().is_none_or(|(size, _)| has < *size)
            {
                best = Some((has, volume.meta.name.to_string()));
            }
        }
        best.map(|(_, name)| name)
    }

    fn has_room(&self, claim: &PersistentVolumeClaim, class: &StorageClass, node: &Node) -> bool {
        let Some(wanted) = claim.spec.resources.requests.get("storage") else { return true };
        let driver = self.view.csi_drivers.by_key(&Key::cluster(class.provisioner.clone()));
        if driver.is_none_or(|driver| driver.spec.storage_capacity != Some(true)) {
            return true;
        }
        self.view.csi_storage_capacities.sorted().into_iter().any(|(_, capacity)| {
            let most = capacity.maximum_volume_size.as_ref().or(capacity.capacity.as_ref());
            let place = match &capacity.node_topology {
                None => Selector::Nothing,
                topology => compiled(topology.as_ref()),
            };
            capacity.storage_class_name == class.meta.name
                && most.is_some_and(|most| most.value() >= wanted.value())
                && place.matches(|key| node.meta.labels.value(key))
        })
    }

    fn zone(&self, node: &Node) -> Option<Failure> {
        let labels = &node.meta.labels;
        if !ZONE_LABELS.iter().any(|key| labels.contains_key(key)) {
            return None;
        }
        let is_met = self.zones().iter().all(|(key, values)| {
            let stable = key.replace("failure-domain.beta.kubernetes.io", "topology.kubernetes.io");
            let value = labels.value(key).or_else(|| labels.value(&stable));
            value.is_some_and(|value| values.contains(value))
        });
        if is_met { None } else { fail("VolumeZone", false, "node(s) had no available volume zone") }
    }
}
