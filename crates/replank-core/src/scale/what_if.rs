//! A cluster with nodes that are not there yet: what would come of adding some.

use std::sync::Arc;

use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, NodeName};
use replank_model::view::View;

use super::amounts::{Amounts, fits, take};
use super::classes::{Class, Classes, Kind};
use super::estimate::Filled;
use super::group::Group;
use super::source::{Next, Stock};
use super::template::{Fresh, Template};
use replank_schedule::{Detail, Plugin, Trial, VolumeDecisions};

/// The number of a node that is asked and never added.
const PROBE: u32 = u32::MAX;

/// What a fresh node of a group in a zone says to the pods that wait.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    /// What it has for pods.
    pub(super) offered: Amounts,
    /// What is left of that once its DaemonSet pods are there.
    pub(super) free: Amounts,
    /// Whether it lets pods in, room aside, by [`Class::asks`].
    lets_in: Vec<bool>,
}

impl Probe {
    /// Whether the node lets pods of a class in, room aside.
    pub(super) fn lets_in(&self, class: &Class) -> bool {
        self.lets_in[class.asks as usize]
    }

    /// Whether an empty one takes a pod of a class.
    pub(super) fn takes(&self, class: &Class) -> bool {
        self.lets_in(class) && fits(&self.free, &class.request)
    }
}

/// A cluster with nodes that are not there yet.
pub(super) struct WhatIf<'a> {
    view: &'a View,
    pub(super) trial: Trial<'a>,
    pub(super) groups: &'a [Group],
    pub(super) templates: Vec<Template>,
    /// By group and zone.
    pub(super) probes: Vec<Vec<Probe>>,
    pub(super) classes: Classes,
    pub(super) stocks: Vec<Stock>,
}

impl<'a> WhatIf<'a> {
    pub(super) fn new(
        view: &'a View,
        trial: Trial<'a>,
        groups: &'a [Group],
        templates: Vec<Template>,
        classes: Classes,
        stocks: Vec<Stock>,
    ) -> Self {
        let mut what_if = Self { view, trial, groups, templates, probes: Vec::new(), classes, stocks };
        what_if.probes = (0..groups.len()).map(|group| what_if.probes_of(group)).collect();
        what_if
    }

    fn probes_of(&mut self, group: usize) -> Vec<Probe> {
        (0..self.groups[group].zones.len()).map(|zone| self.probe(group, zone)).collect()
    }

    /// Asks a fresh node once for each kind of question.
    fn probe(&mut self, group: usize, zone: usize) -> Probe {
        let mark = self.trial.mark();
        let fresh = self.templates[group].fresh(&self.groups[group].zones[zone], PROBE);
        let name = fresh.node.name();
        let offered = self.classes.names.of(&fresh.node.status.allocatable);
        let mut free = offered.clone();
        for daemon in &fresh.daemons {
            let taken = self.classes.names.of_pod(daemon);
            take(&mut free, &taken, 1);
        }
        self.put(group, &fresh);
        let lets_in = self.classes.asking.iter().map(|(pod, kind)| {
            let details = self.trial.details(self.view, pod, std::slice::from_ref(&name));
            details.first().is_some_and(|(_, detail)| lets_in(detail, *kind == Kind::Plain))
        });
        let lets_in = lets_in.collect();
        self.trial.revert_to(mark);
        Probe { offered, free, lets_in }
    }

    /// Every objection of a fresh node to a pod.
    pub(super) fn objections(
        &mut self,
        group: usize,
        zone: usize,
        pod: &Arc<Pod>,
    ) -> Option<(Detail, Fresh)> {
        let mark = self.trial.mark();
        let fresh = self.templates[group].fresh(&self.groups[group].zones[zone], PROBE);
        let name = fresh.node.name();
        self.put(group, &fresh);
        let detail = self.trial.details(self.view, pod, &[name]).into_iter().next();
        self.trial.revert_to(mark);
        detail.map(|(_, detail)| (detail, fresh))
    }

    fn put(&mut self, group: usize, fresh: &Fresh) {
        let name = fresh.node.name();
        if let Some(csi) = self.templates[group].csi_node(&name)
            && self.view.csi_nodes.by_key(&csi.meta.key()).is_none()
        {
            self.trial.put_csi_node(name.clone(), csi);
        }
        self.trial.put_node(fresh.node.clone());
        for daemon in &fresh.daemons {
            self.trial.assume(self.view, daemon, &name, &VolumeDecisions::default());
        }
    }

    /// Puts a new node into the engine.
    pub(super) fn put_node(&mut self, next: Next) -> NodeName {
        let fresh = self.templates[next.group].fresh(&self.groups[next.group].zones[next.zone], next.number);
        self.put(next.group, &fresh);
        fresh.node.name()
    }

    pub(super) fn assume(&mut self, pod: &Arc<Pod>, node: &NodeName, volumes: &VolumeDecisions) {
        self.trial.assume(self.view, pod, node, volumes);
    }

    /// Where the engine places a pod.
    pub(super) fn place(&mut self, pod: &Arc<Pod>) -> Option<(NodeName, VolumeDecisions)> {
        let placed = self.trial.place(self.view, pod, 0).ok()?;
        Some((placed.node, placed.volumes))
    }

    /// Whether one node takes a pod, and what becomes of its claims there.
    pub(super) fn fits_on(&mut self, pod: &Arc<Pod>, node: &NodeName) -> bool {
        let details = self.trial.details(self.view, pod, std::slice::from_ref(node));
        details.first().is_some_and(|(_, detail)| detail.rejected.is_none() && detail.first.is_none())
    }

    /// Puts nodes that are on their way where they are expected: by group and zone.
    pub(super) fn put_upcoming(&mut self, upcoming: &[Vec<usize>]) -> Vec<(GroupName, u32)> {
        let mut told = Vec::new();
        for (group, zones) in upcoming.iter().enumerate().filter(|(_, zones)| !zones.is_empty()) {
            for zone in zones {
                let number = self.stocks[group].number();
                self.put_node(Next { group, zone: *zone, number });
            }
            let count = u32::try_from(zones.len()).expect("fewer than 2^32 nodes fit in memory");
            told.push((self.groups[group].name.clone(), count));
        }
        told
    }

    /// Places pods on what is there, in the order of the queue. A class that was refused is asked again only where a pod that came since
    /// may have opened a node to it.
    pub(super) fn fill_what_is_there(&mut self) -> Vec<(Key, NodeName)> {
        let mut fits = Vec::new();
        let mut refused: Vec<Option<usize>> = vec![None; self.classes.all.len()];
        for class in self.classes.queue.clone() {
            let class = class as usize;
            let of = &self.classes.all[class];
            let is_in_vain = match (of.kind, refused[class]) {
                (_, None) => false,
                (Kind::Plain | Kind::Apart, Some(_)) => true,
                (Kind::Bound, Some(then)) => then == fits.len(),
            };
            if is_in_vain {
                continue;
            }
            let pod = of.pods[of.placed].clone();
            match self.place(&pod) {
                Some((node, volumes)) => {
                    self.assume(&pod, &node, &volumes);
                    self.classes.all[class].placed += 1;
                    fits.push((pod.meta.key(), node));
                }
                None => refused[class] = Some(fits.len()),
            }
        }
        fits
    }

    /// Whether a group may grow and its new nodes take some pod that waits.
    pub(super) fn could_help(&self, group: usize) -> bool {
        let waiting = || self.classes.all.iter().filter(|class| class.left() > 0);
        self.stocks[group].room > 0
            && self.probes[group].iter().any(|probe| waiting().any(|class| probe.takes(class)))
    }

    /// Keeps what a choice came to.
    pub(super) fn keep(&mut self, filled: Filled) {
        for put in &filled.estimate.puts {
            self.classes.all[put.class].placed += put.pods;
        }
        for (group, stock) in filled.stocks {
            self.stocks[group] = stock;
        }
    }
}

/// What looks at other pods: of a class that depends on them it counts later, when they are where they go.
const BETWEEN_PODS: [Plugin; 2] = [Plugin::PodTopologySpread, Plugin::InterPodAffinity];

/// Whether nothing but room stands against a pod.
fn lets_in(detail: &Detail, is_plain: bool) -> bool {
    let may_stand =
        |plugin: Plugin| plugin == Plugin::NodeResourcesFit || (!is_plain && BETWEEN_PODS.contains(&plugin));
    detail.rejected.is_none() && detail.all.iter().all(|failure| may_stand(failure.plugin))
}
