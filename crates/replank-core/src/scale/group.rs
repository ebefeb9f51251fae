//! What the autoscaler knows of each node group, and what it had to assume.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use replank_model::object::cloud::{GroupSize, LaunchTemplate, ScalingProcess};
use replank_model::object::node::Node;
use replank_model::text::{GroupName, InstanceId, NodeName, Text, Zone};
use replank_model::view::View;

use super::options::Options;
use super::ownership::RollOwnership;
use super::tags;
use super::tags::BadTag;
use super::template::{Ground, computed};
use replank_facts::group_facts::Facts;
use replank_facts::groups::{GroupBy, from_nodes, group_of, instance_id_of, zone_of};
use replank_protocol::provisioner::Provisioner;
use replank_protocol::scaling::Market;

pub(super) use super::one_group::LABEL_CAPACITY;
pub use super::one_group::{Assumed, Bounds, Group, LeftOut, Origin, UNKNOWN_MAX};

/// All groups, and what could not be read or had to be assumed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Groups {
    /// Those that may be changed, sorted by name.
    pub all: Vec<Group>,
    /// Those that are left alone, and why.
    pub left_out: Vec<(GroupName, LeftOut)>,
    /// Tags that cannot be read.
    pub bad_tags: Vec<BadTag>,
    /// What was assumed.
    pub assumed: Vec<Assumed>,
}

impl Groups {
    /// Takes it that a run takes hold of some groups though nothing on them says so yet, that it has made some want so many more by now at most, and that some
    /// are to want so many in the end.
    pub(super) fn take_hold(
        &mut self,
        rolled: &BTreeSet<GroupName>,
        extra: &BTreeMap<GroupName, u32>,
        owed: &BTreeMap<GroupName, u32>,
    ) {
        for group in &mut self.all {
            if group.ownership == RollOwnership::Free && rolled.contains(&group.name) {
                group.ownership = RollOwnership::Closed;
            }
            let beside = extra.get(&group.name).map(|extra| group.size.desired.saturating_sub(*extra));
            for least in beside.iter().chain(owed.get(&group.name)) {
                group.ownership.at_least(*least);
            }
        }
    }

    /// A group by its name.
    #[must_use]
    pub fn get(&self, name: &GroupName) -> Option<&Group> {
        self.all.iter().find(|group| group.name == *name)
    }

    /// What is said of groups, under the names by which nodes show them; what was observed of them since is left out.
    pub(super) fn names_of(view: &View, by: &GroupBy, facts: &[Facts]) -> Vec<Facts> {
        let shown = drafts(view, by, &[]);
        let named = facts.iter().map(|one| {
            let name = shown_as(view, by, one, &shown);
            let auto_scaling = one.auto_scaling.clone();
            let own = (name != one.name).then(|| one.name.text().clone());
            Facts { auto_scaling: auto_scaling.or(own), name, ..one.clone() }
        });
        named.collect()
    }

    /// The groups of a cluster: those of the View where it knows them, else those that nodes show by a label, with what is said
    /// of them besides.
    #[must_use]
    pub fn of(view: &View, by: &GroupBy, facts: &[Facts], options: &Options) -> Self {
        let mut groups = Self::default();
        let ground = LazyCell::new(|| Ground::of(view));
        let members = members(view, by);
        let booting = loose(view);
        for (name, draft) in drafts(view, by, facts) {
            groups.take(name, &draft, (&ground, &members, &booting), options);
        }
        groups.assumed.sort();
        groups
    }

    fn take(
        &mut self,
        name: GroupName,
        draft: &Draft<'_>,
        (ground, members, loose): (&dyn Deref<Target = Ground>, &BTreeMap<GroupName, Vec<&Node>>, &Loose),
        options: &Options,
    ) {
        let facts = draft.facts;
        let own_tags = draft.tags();
        let (tags, bad) = tags::read(&name, own_tags.iter().map(|(key, value)| (&**key, &**value)));
        self.bad_tags.extend(bad);
        let nodes: &[&Node] = members.get(&name).map_or(&[], Vec::as_slice);
        let provisioner = nodes.iter().map(|node| Provisioner::of(node)).find(Provisioner::keeps_its_nodes);
        // What stands last counts: flags of the command line come after those of a Deployment.
        let flag = options.nodes.iter().rev().find(|flag| {
            flag.name == name
                || facts.is_some_and(|facts| facts.auto_scaling.as_deref() == Some(flag.name.as_str()))
        });
        let (size, bounds) = size(draft, flag.map(|flag| (flag.min, flag.max)), nodes.len());
        let left_out = match provisioner {
            Some(provisioner) => Some(LeftOut::Provisioner(provisioner)),
            None if !is_meant(&name, &own_tags, flag.is_some(), options) => Some(LeftOut::NotDiscovered),
            None if size.max == 0 => Some(LeftOut::Closed),
            None => None,
        };
        if let Some(why) = left_out {
            self.left_out.push((name, why));
            return;
        }
        let (template, origin) = match draft.learnt.clone() {
            Some(template) => (template, Origin::Living),
            None => match computed(&name, facts, &tags, ground) {
                Ok(template) => (template, Origin::Computed),
                Err(why) => {
                    self.left_out.push((name, why));
                    return;
                }
            },
        };
        let mut by_zone: BTreeMap<Zone, Vec<NodeName>> = BTreeMap::new();
        for node in nodes {
            by_zone.entry(zone_of(node)).or_default().push(node.name());
        }
        let zones = zones(draft, &by_zone);
        let booting = match loose {
            Some(loose) => loose.get(&name).cloned().unwrap_or_default(),
            None => booting(facts, &view_instances(nodes), &zones),
        };
        let types: Vec<Text> =
            template.profile.shapes.iter().map(|shape| shape.instance_type.clone()).collect();
        self.assume(&name, bounds, &origin, &types, zones.len());
        self.all.push(Group {
            auto_scaling: facts.and_then(|facts| facts.auto_scaling.clone()),
            market: market(facts, &template),
            own: tags.own,
            is_suspended: draft.is_suspended || facts.is_some_and(is_launch_suspended),
            nodes: by_zone,
            name,
            size,
            bounds,
            zones,
            types,
            template,
            origin,
            booting,
            ownership: draft.ownership,
        });
    }

    fn assume(&mut self, name: &GroupName, bounds: Bounds, origin: &Origin, types: &[Text], zones: usize) {
        if bounds == Bounds::Assumed {
            self.assumed.push(Assumed::Bounds(name.clone()));
        }
        if *origin == Origin::Computed {
            let first = types.first().cloned().unwrap_or_default();
            self.assumed.push(Assumed::Computed(name.clone(), first));
        }
        if types.len() > 1 {
            self.assumed.push(Assumed::LeastOf(name.clone(), types.to_vec()));
        }
        if zones > 1 {
            self.assumed.push(Assumed::ZonesInTurn(name.clone()));
        }
    }
}

/// Instances that are no nodes yet, by group and zone, where the cloud's are known.
type Loose = Option<BTreeMap<GroupName, BTreeMap<Zone, u32>>>;

/// What is known of a group before it is put together.
#[derive(Default)]
struct Draft<'a> {
    /// From the View, or learnt from nodes.
    learnt: Option<LaunchTemplate>,
    /// From the View.
    size: Option<GroupSize>,
    zones: Vec<Zone>,
    own_tags: Vec<(Text, Text)>,
    is_suspended: bool,
    ownership: RollOwnership,
    facts: Option<&'a Facts>,
}

impl Draft<'_> {
    fn tags(&self) -> Vec<(Text, Text)> {
        let mut tags = self.own_tags.clone();
        tags.extend(self.facts.into_iter().flat_map(|facts| facts.tags.iter().cloned()));
        tags
    }
}

fn drafts<'a>(view: &View, by: &GroupBy, facts: &'a [Facts]) -> BTreeMap<GroupName, Draft<'a>> {
    let mut drafts: BTreeMap<GroupName, Draft<'a>> = BTreeMap::new();
    for (name, group) in view.groups() {
        let draft = drafts.entry(name.clone()).or_default();
        draft.learnt = group.templates.get(&group.current).cloned();
        draft.size = Some(group.size);
        draft.zones.clone_from(&group.zones);
        draft.own_tags = group.tags.pairs().to_vec();
        draft.is_suspended = !group.ways.is_active(ScalingProcess::Launch);
        draft.ownership = RollOwnership::of(group);
    }
    if view.groups().is_empty() {
        for learnt in from_nodes(view, by) {
            let draft = drafts.entry(learnt.group.name.clone()).or_default();
            draft.learnt = Some(learnt.group.template().clone());
            draft.zones = learnt.group.zones;
        }
    }
    for one in facts {
        let name = shown_as(view, by, one, &drafts);
        drafts.entry(name).or_default().facts = Some(one);
    }
    drafts
}

/// The name by which nodes show a group: its own, or that of the group to which one of its instances belongs.
fn shown_as(view: &View, by: &GroupBy, facts: &Facts, drafts: &BTreeMap<GroupName, Draft<'_>>) -> GroupName {
    if drafts.contains_key(&facts.name) || facts.instances.is_empty() {
        return facts.name.clone();
    }
    let nodes = view.nodes.sorted();
    let mut shown = nodes.iter().filter(|(_, node)| facts.instances.contains_key(&instance_id_of(node)));
    shown.find_map(|(_, node)| group_of(node, by)).unwrap_or_else(|| facts.name.clone())
}

fn members<'a>(view: &'a View, by: &GroupBy) -> BTreeMap<GroupName, Vec<&'a Node>> {
    let mut members: BTreeMap<GroupName, Vec<&Node>> = BTreeMap::new();
    for (_, node) in view.nodes.sorted().into_iter().filter(|(_, node)| is_wanted(view, node)) {
        // The cloud knows to which group an instance belongs, whatever its node is labelled with.
        let of_cloud = view.instances().get(&instance_id_of(node)).map(|instance| instance.group.clone());
        if let Some(group) = of_cloud.or_else(|| group_of(node, by)) {
            members.entry(group).or_default().push(node);
        }
    }
    members
}

fn size(draft: &Draft<'_>, flag: Option<(u32, u32)>, nodes: usize) -> (GroupSize, Bounds) {
    let nodes = u32::try_from(nodes).expect("fewer than 2^32 nodes fit in memory");
    // What is observed is newer than what somebody wrote into a file.
    let known = draft.size.or(draft.facts.and_then(|facts| facts.size));
    // Instances that are there and not wanted count: a group that shrinks is not one that has room.
    match (known, flag) {
        (Some(size), None) => (size, Bounds::Known),
        (known, Some((min, max))) => {
            (GroupSize { min, max, desired: known.map_or(nodes, |known| known.desired) }, Bounds::Flag)
        }
        (None, None) => (GroupSize { min: 0, max: UNKNOWN_MAX, desired: nodes }, Bounds::Assumed),
    }
}

/// Whether a group is one of those that are scaled: as the cloud was asked, or else as its tags tell.
fn is_meant(name: &GroupName, tags: &[(Text, Text)], is_named: bool, options: &Options) -> bool {
    match &options.only {
        Some(only) => only.contains(name),
        None => is_discovered(tags, is_named, options),
    }
}

/// Where flags name groups, the others are left alone.
fn is_discovered(tags: &[(Text, Text)], is_named: bool, options: &Options) -> bool {
    if is_named || (options.nodes.is_empty() && options.discovery.is_empty()) {
        return true;
    }
    // Tags are known from the cloud alone: where none are, discovery cannot be judged.
    if tags.is_empty() && options.nodes.is_empty() {
        return true;
    }
    let has = |(key, value): &(Text, Option<Text>)| {
        tags.iter().any(|(own, is)| own == key && value.as_ref().is_none_or(|value| value == is))
    };
    options.discovery.iter().any(|all| all.iter().all(has))
}

fn zones(draft: &Draft<'_>, nodes: &BTreeMap<Zone, Vec<NodeName>>) -> Vec<Zone> {
    let said = draft.facts.map_or(&[][..], |facts| &facts.zones);
    let mut zones: Vec<Zone> = if said.is_empty() { draft.zones.clone() } else { said.to_vec() };
    if zones.is_empty() {
        zones = nodes.keys().cloned().collect();
    }
    zones.sort();
    zones.dedup();
    if zones.is_empty() { vec![Zone::default()] } else { zones }
}

fn view_instances(nodes: &[&Node]) -> Vec<InstanceId> {
    nodes.iter().map(|node| instance_id_of(node)).collect()
}

/// Whether a node is one of those that its group wants: one whose instance is on its way out is not.
pub(super) fn is_wanted(view: &View, node: &Node) -> bool {
    match view.instances().get(&instance_id_of(node)) {
        Some(instance) => instance.is_counted(),
        None => view.instances().is_empty(),
    }
}

/// Instances that the View knows and that are no nodes yet.
fn loose(view: &View) -> Loose {
    if view.instances().is_empty() {
        return None;
    }
    let known: BTreeSet<InstanceId> = view.nodes.unordered().map(|(_, node)| instance_id_of(node)).collect();
    let mut loose: BTreeMap<GroupName, BTreeMap<Zone, u32>> = BTreeMap::new();
    for (id, instance) in view.instances() {
        if instance.is_counted() && !known.contains(id) {
            let zones = loose.entry(instance.group.clone()).or_default();
            *zones.entry(instance.zone.clone()).or_default() += 1;
        }
    }
    Some(loose)
}

/// Instances that the cloud knows and that are no nodes yet.
fn booting(facts: Option<&Facts>, known: &[InstanceId], zones: &[Zone]) -> BTreeMap<Zone, u32> {
    let mut booting: BTreeMap<Zone, u32> = BTreeMap::new();
    let instances = facts.into_iter().flat_map(|facts| &facts.instances);
    for (_, one) in instances.filter(|(id, one)| !known.contains(id) && zones.contains(&one.zone)) {
        *booting.entry(one.zone.clone()).or_default() += 1;
    }
    booting
}

fn is_launch_suspended(facts: &Facts) -> bool {
    facts.suspended.as_ref().is_some_and(|all| all.contains(&ScalingProcess::Launch))
}

fn market(facts: Option<&Facts>, template: &LaunchTemplate) -> Market {
    let labelled = template.profile.labels.value(LABEL_CAPACITY).map(Market::of_label);
    facts.and_then(|facts| facts.market).or(labelled).unwrap_or_default()
}
