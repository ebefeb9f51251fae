//! What rules look at: the pods in question, by workload and by budget.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::cloud::NodeGroup;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::text::{GroupName, InstanceId, NodeName};
use replank_model::time::Time;
use replank_model::view::{Ix, View};

use super::lost;
use replank_facts::batch::starts::{self, Series, Unread};
use replank_facts::drain::{self, Fate};
use replank_facts::groups;
use replank_facts::plan::RunOptions;
use replank_facts::plan::{ChosenBy, Plan, Target};
use replank_facts::workload::{Workload, workload_of};
use replank_protocol::provisioner::{LABEL_NODE_POOL, Provisioner};

use replank_facts::group_facts::Facts;
use replank_protocol::policy::BatchKind;

/// A pod that the roll would have to do something about.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) ix: Ix<Pod>,
    pub(super) pod: Arc<Pod>,
    pub(super) fate: Fate,
    pub(super) workload: Option<Workload>,
}

impl Subject {
    pub(super) fn batch_kind(&self) -> Option<BatchKind> {
        match self.fate {
            Fate::Batch { kind, .. } => Some(kind),
            Fate::Plain(_) | Fate::Leaving { .. } | Fate::Unrecorded | Fate::Finished | Fate::Stays => None,
        }
    }

    /// Whether the pod ends by itself: a Job's or a Workflow's.
    pub(super) fn ends(&self) -> bool {
        match self.batch_kind() {
            Some(BatchKind::Job | BatchKind::Workflow | BatchKind::RunsOnce) => true,
            Some(BatchKind::NotSafeToEvict | BatchKind::DoNotDisrupt | BatchKind::Selected) | None => {
                self.workload.as_ref().is_some_and(Workload::is_batch)
            }
        }
    }
}

/// What is looked at.
pub(super) struct Survey<'a> {
    pub(super) view: &'a View,
    pub(super) plan: Option<&'a Plan>,
    /// What holds for the roll: the plan, or the default one of all groups.
    pub(super) terms: Plan,
    pub(super) options: &'a RunOptions,
    /// What the cloud says of node groups, where that was asked.
    pub(super) facts: &'a [Facts],
    pub(super) subjects: Vec<Subject>,
    /// Positions in `subjects`; of those that are evicted, as in `budgets`: what is on a dead node is not.
    pub(super) workloads: BTreeMap<Workload, Vec<usize>>,
    /// Positions in `subjects` of the pods that a budget covers.
    pub(super) budgets: BTreeMap<Ix<PodDisruptionBudget>, Vec<usize>>,
    /// Nodes that are replaced; all nodes of groups if there is no plan.
    pub(super) nodes: BTreeSet<NodeName>,
    pub(super) groups: BTreeMap<GroupName, Arc<NodeGroup>>,
    /// What begins runs by itself.
    pub(super) series: Vec<Series>,
    /// What would, could its schedule be read.
    pub(super) unread: Vec<Unread>,
}

impl<'a> Survey<'a> {
    pub(super) fn of(view: &'a View, plan: Option<&'a Plan>, options: &'a RunOptions) -> Self {
        let everything = Plan::of_groups("", Vec::new(), Target::default());
        let nodes = match plan {
            Some(plan) => replank_core::nodes_to_replace(view, plan, options),
            None => {
                let nodes = view.nodes.unordered().map(|(_, node)| node);
                let rolled = nodes.filter(|node| !Provisioner::of(node).keeps_its_nodes());
                rolled.map(|node| node.name()).collect()
            }
        };
        let (series, unread) = starts::all(view);
        let mut survey = Self {
            view,
            plan,
            terms: plan.cloned().unwrap_or(everything),
            options,
            facts: &[],
            subjects: Vec::new(),
            workloads: BTreeMap::new(),
            budgets: BTreeMap::new(),
            groups: groups_of(view, options),
            nodes,
            series,
            unread,
        };
        for name in survey.nodes.clone() {
            for pod in view.sorted_pods_on(&name) {
                survey.add(pod);
            }
        }
        survey
    }

    fn add(&mut self, pod: &Arc<Pod>) {
        let fate = drain::fate(self.view, &self.terms, pod);
        match fate {
            Fate::Stays | Fate::Finished | Fate::Leaving { .. } => return,
            Fate::Unrecorded | Fate::Batch { .. } | Fate::Plain(_) => {}
        }
        let Some(ix) = self.view.pods.find(&pod.meta.key()) else { return };
        let at = self.subjects.len();
        let workload = workload_of(self.view, pod);
        if self.is_lost(pod) {
            self.subjects.push(Subject { ix, pod: pod.clone(), fate, workload });
            return;
        }
        if let Some(workload) = &workload {
            self.workloads.entry(workload.clone()).or_default().push(at);
        }
        for budget in self.view.budgets_of(ix) {
            self.budgets.entry(*budget).or_default().push(at);
        }
        self.subjects.push(Subject { ix, pod: pod.clone(), fate, workload });
    }

    /// Whether the control plane deletes a pod, whatever its budgets say: its node is dead.
    fn is_lost(&self, pod: &Pod) -> bool {
        let node = pod.node.as_ref().and_then(|node| self.view.node(node));
        let is_dead = node.is_some_and(|node| self.is_dead(node));
        is_dead && !lost::stays_for_good(pod)
    }

    /// Whether a node has not been Ready for as long as the roll waits for it.
    pub(super) fn is_dead(&self, node: &Node) -> bool {
        lost::is_dead(node, &self.terms.care.dead_nodes, self.now())
    }

    /// The moment of the snapshot.
    pub(super) fn now(&self) -> Time {
        self.options.started
    }

    /// Each workload with one of its pods, and how many of them are looked at. Batch workloads aside.
    pub(super) fn services(&self) -> impl Iterator<Item = (&Workload, &Subject, usize)> {
        let services = self.workloads.iter().filter(|(_, pods)| !self.subjects[pods[0]].ends());
        services.map(|(workload, pods)| (workload, &self.subjects[pods[0]], pods.len()))
    }

    /// Batch pods and their workloads, those of a workload one after the other.
    pub(super) fn batch(&self) -> Vec<(&Workload, &Subject)> {
        let batch = self.subjects.iter().filter(|subject| subject.batch_kind().is_some());
        let mut all: Vec<(&Workload, &Subject)> =
            batch.filter_map(|subject| Some((subject.workload.as_ref()?, subject))).collect();
        all.sort_by_key(|(workload, _)| *workload);
        all
    }

    pub(super) fn subjects_of(&self, positions: &[usize]) -> impl Iterator<Item = &Subject> {
        positions.iter().map(|at| &self.subjects[*at])
    }

    /// Pods that a workload wants; where its kind does not say, as many as it has.
    pub(super) fn replicas(&self, workload: &Workload, pods: &Subject) -> i32 {
        let present = || {
            let owner = pods.pod.meta.controller().filter(|owner| &*owner.kind != "DaemonSet")?;
            let all = self.view.pods_of(&owner.uid).iter().filter(|ix| self.view.pods[**ix].is_active());
            i32::try_from(all.count()).ok()
        };
        workload.replicas(self.view).or_else(present).unwrap_or(0)
    }

    /// Most pods of a workload that share one of the nodes.
    pub(super) fn crowd(&self, workload: &Workload) -> usize {
        let mut by_node: BTreeMap<&NodeName, usize> = BTreeMap::new();
        for subject in self.subjects_of(self.workloads.get(workload).map_or(&[], Vec::as_slice)) {
            if let Some(node) = &subject.pod.node {
                *by_node.entry(node).or_default() += 1;
            }
        }
        by_node.values().copied().max().unwrap_or(0)
    }

    /// The nodes that are looked at, sorted.
    pub(super) fn node_objects(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes.iter().filter_map(|name| self.view.node(name))
    }

    /// The group of a node.
    pub(super) fn group_of(&self, node: &Node) -> Option<GroupName> {
        let instance = self.view.instances().get(&groups::instance_id_of(node));
        instance
            .map(|instance| instance.group.clone())
            .or_else(|| groups::group_of(node, &self.options.group_by))
    }

    /// Groups whose nodes are looked at.
    pub(super) fn groups_touched(&self) -> BTreeSet<GroupName> {
        self.node_objects().filter_map(|node| self.group_of(node)).collect()
    }

    /// The Karpenter pools that the plan names, as their nodes show them.
    pub(super) fn pools_renewed(&self) -> Vec<Arc<NodeGroup>> {
        let names = match self.plan.map(|plan| &plan.nodes.by) {
            Some(ChosenBy::Groups(names)) => names.as_slice(),
            Some(ChosenBy::Selector(_)) | None => &[],
        };
        let is_pool = |name: &GroupName| names.contains(name) && !self.groups.contains_key(name);
        let learnt = groups::from_nodes(self.view, &groups::GroupBy::Label(LABEL_NODE_POOL.into()));
        learnt.into_iter().map(|one| Arc::new(one.group)).filter(|group| is_pool(&group.name)).collect()
    }

    /// The groups in which new nodes come up.
    pub(super) fn groups_renewed(&self) -> Vec<&Arc<NodeGroup>> {
        let names = match self.plan.and_then(|plan| plan.target.group.clone()) {
            Some(landing) => BTreeSet::from([landing]),
            None => self.groups_touched(),
        };
        names.iter().filter_map(|name| self.groups.get(name)).collect()
    }

    /// Nodes of no known group, each as a group of its own: one that is like it takes its place. What Karpenter and others make aside.
    pub(super) fn replaced_alone(&self) -> Vec<Arc<NodeGroup>> {
        let alone = self
            .node_objects()
            .filter(|node| self.group_of(node).is_none() && !Provisioner::of(node).keeps_its_nodes());
        let names: BTreeMap<InstanceId, GroupName> = alone
            .map(|node| (groups::instance_id_of(node), GroupName::new(node.meta.name.text().clone())))
            .collect();
        let learnt = groups::from_instances(self.view, &names);
        learnt.into_iter().map(|learnt| Arc::new(learnt.group)).collect()
    }

    /// What begins runs by itself that may land on the nodes that are looked at.
    pub(super) fn series_here(&self) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(|series| self.node_objects().any(|node| series.may_land_on(node)))
    }
}

/// The groups that are known; where the cloud says nothing, as the nodes show them.
fn groups_of(view: &View, options: &RunOptions) -> BTreeMap<GroupName, Arc<NodeGroup>> {
    if !view.groups().is_empty() {
        return view.groups().clone();
    }
    let learnt = groups::from_nodes(view, &options.group_by);
    learnt.into_iter().map(|learnt| (learnt.group.name.clone(), Arc::new(learnt.group))).collect()
}
