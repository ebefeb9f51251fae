//! The steps in their order.

use replank_model::text::Text;

use super::super::addon_version::AddonVersion;
use super::super::addons::{Addon, Advice, at_the_end, for_hop};
use super::super::controllers::Controller;
use super::super::minor::{Hop, Minor};
use super::super::routes::{Roll, Route};
use super::super::skew;
use super::super::survey::{Nodes, Survey};
use super::back::{self, Back};
use super::hop_findings::{self, AtHop};
use super::roll_findings;
use super::{Input, Options, Step, Takes, What};
use crate::upgrade::finding::{Finding, Rule};

/// What EKS calls the add-on that has rules of its own.
pub(super) const KUBE_PROXY: &str = "kube-proxy";

/// Where things are, while the steps are put in order.
struct Order<'a> {
    input: &'a Input<'a>,
    options: &'a Options,
    survey: &'a Survey,
    /// Nodes that others look after, and what they run by now.
    others: Vec<(&'a Nodes, Minor)>,
    /// What kube-proxy runs by now.
    kube_proxy: Option<Minor>,
    addons: Vec<Addon>,
    steps: Vec<Step>,
    unknown: Vec<String>,
    /// Add-ons of which it was said that nobody knows.
    told: Vec<Text>,
}

pub(super) fn steps(
    input: &Input<'_>,
    options: &Options,
    survey: &Survey,
    hops: &[Hop],
    route: &Route,
    inventory: &[Controller],
) -> (Vec<Step>, Vec<String>) {
    let kube_proxy = survey.addons.iter().find(|addon| &*addon.name == KUBE_PROXY);
    let kube_proxy =
        kube_proxy.and_then(|addon| addon.version.as_ref()).map(|version| Minor(version.numbers()[1]));
    let mut order = Order {
        input,
        options,
        survey,
        others: survey
            .nodes
            .iter()
            .filter(|nodes| !nodes.is_rolled())
            .map(|nodes| (nodes, nodes.oldest))
            .collect(),
        kube_proxy,
        addons: survey.addons.iter().filter(|addon| &*addon.name != KUBE_PROXY).cloned().collect(),
        steps: Vec::new(),
        unknown: hop_findings::unknown(input, survey, hops),
        told: Vec::new(),
    };
    let from = survey.control_plane.version;
    for (index, version) in std::iter::once(from).chain(hops.iter().map(|hop| hop.to)).enumerate() {
        let next = hops.get(index).copied();
        for roll in route.at(version) {
            order.roll(roll);
        }
        order.others(version, next);
        if let Some(hop) = next {
            let at = AtHop { hop, is_first: index == 0, is_last: index + 1 == hops.len(), route, inventory };
            order.hop(&at);
        }
    }
    order.end(options.to);
    (order.steps, order.unknown)
}

impl Order<'_> {
    fn push(&mut self, what: What, mut findings: Vec<Finding>, takes: Takes, back: Back) {
        Finding::sort(&mut findings);
        self.steps.push(Step { what, findings, takes, back });
    }

    fn roll(&mut self, roll: &Roll) {
        let rehearsed = self.input.rehearsed.get(&roll.group);
        let takes = rehearsed.map_or(Takes::Unknown, |rehearsed| Takes::Rehearsed(rehearsed.takes));
        let what = What::Roll {
            group: roll.group.clone(),
            from: roll.from,
            to: roll.to,
            nodes: roll.nodes,
            pods: roll.pods,
        };
        let mut findings = roll_findings::find(self.input, roll);
        // What new kubelets refuse is cleared before the group's first roll, and told there.
        findings.retain(|finding| finding.rule != Rule::KubeletRefuses || !self.is_told(finding));
        self.push(what, findings, takes, Back::Nodes { group: roll.group.clone() });
    }

    /// Whether the same has been found before an earlier step.
    fn is_told(&self, finding: &Finding) -> bool {
        let mut earlier = self.steps.iter().flat_map(|step| &step.findings);
        earlier.any(|told| {
            (told.rule, &told.object, &told.reason) == (finding.rule, &finding.object, &finding.reason)
        })
    }

    /// Nodes that others look after: when they would not go with the next step, and at the end.
    fn others(&mut self, version: Minor, next: Option<Hop>) {
        for index in 0..self.others.len() {
            let (nodes, at) = self.others[index];
            let is_due = next.is_none_or(|hop| !nodes.can_stay(at, hop));
            if at >= version || !is_due {
                continue;
            }
            let what = What::LeftTo {
                name: nodes.name.clone(),
                provisioner: nodes.provisioner.clone(),
                from: at,
                to: version,
                nodes: nodes.nodes,
            };
            let findings = roll_findings::of_others(nodes, at, version, next);
            self.push(what, findings, Takes::Unknown, Back::None { why: "its provisioner replaces them" });
            self.others[index].1 = version;
        }
    }

    fn hop(&mut self, at: &AtHop<'_>) {
        let hop = at.hop;
        if let Some(proxy) =
            self.kube_proxy.filter(|proxy| !skew::kube_proxy(*proxy, hop.from, hop.to).fits())
        {
            self.kube_proxy(proxy, hop.from);
        }
        let mut findings = hop_findings::find(self.input, self.survey, at);
        let after = self.addons_of(hop, &mut findings);
        let back = back::of_control_plane(self.survey.platform, hop, self.input.now);
        self.push(What::ControlPlane(hop), findings, Takes::Assumed(self.options.hop), back);
        for (index, to) in after {
            self.addon(index, to);
        }
        if self.options.bake > replank_model::time::Span::ZERO {
            self.push(
                What::Bake { after: hop },
                Vec::new(),
                Takes::Assumed(self.options.bake),
                Back::Nothing,
            );
        }
    }

    /// Updates the add-ons that must be updated before a step, and tells which must right after it.
    fn addons_of(&mut self, hop: Hop, findings: &mut Vec<Finding>) -> Vec<(usize, Vec<AddonVersion>)> {
        let mut after = Vec::new();
        for index in 0..self.addons.len() {
            let addon = self.addons[index].clone();
            let offered = self.input.facts.offered.get(&addon.name).map(Vec::as_slice);
            let advice = addon
                .version
                .as_ref()
                .map_or(Advice::Unknown, |version| for_hop(version, offered, hop.from, hop.to));
            match advice {
                Advice::Stays => {}
                Advice::Before(to) => self.addon(index, to),
                Advice::After(to) => after.push((index, to)),
                Advice::Nothing => findings.push(hop_findings::nothing_goes(&addon, hop)),
                Advice::Unknown if self.told.contains(&addon.name) => {}
                Advice::Unknown => {
                    self.told.push(addon.name.clone());
                    findings.push(hop_findings::nobody_knows(self.input, &addon, hop, self.options.to));
                }
            }
        }
        after
    }

    fn addon(&mut self, index: usize, to: Vec<AddonVersion>) {
        let (Some(from), Some(last)) = (self.addons[index].version.clone(), to.last().cloned()) else {
            return;
        };
        let updates = i64::try_from(to.len()).unwrap_or(i64::MAX);
        let what = What::Addon { name: self.addons[index].name.clone(), from: from.clone(), to };
        self.push(what, Vec::new(), Takes::Assumed(self.options.addon * updates), Back::Addon { to: from });
        self.addons[index].version = Some(last);
    }

    fn kube_proxy(&mut self, from: Minor, to: Minor) {
        let findings = hop_findings::proxy_beside(self.survey, to);
        let why = "an older kube-proxy can only be reinstalled manually, while the control plane supports it";
        self.push(
            What::KubeProxy { from, to },
            findings,
            Takes::Assumed(self.options.addon),
            Back::None { why },
        );
        self.kube_proxy = Some(to);
    }

    /// On the version that was wanted: kube-proxy after the nodes, then the other add-ons.
    fn end(&mut self, to: Minor) {
        if let Some(proxy) = self.kube_proxy.filter(|proxy| *proxy < to) {
            self.kube_proxy(proxy, to);
        }
        for index in 0..self.addons.len() {
            let addon = &self.addons[index];
            let offered = self.input.facts.offered.get(&addon.name).map(Vec::as_slice);
            let Some(version) = addon.version.as_ref() else { continue };
            match at_the_end(version, offered, to) {
                Advice::Before(versions) | Advice::After(versions) => self.addon(index, versions),
                // What is not known, or does not go, was told before the control plane's step.
                Advice::Stays | Advice::Nothing | Advice::Unknown => {}
            }
        }
    }
}
