//! One step after the other: each begins with the objects and at the moment that the one before has left.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_advice::preflight;
use replank_advice::upgrade::minor::{Hop, Minor};
use replank_advice::upgrade::plan::{Options, Step, What};
use replank_advice::upgrade::skew;
use replank_advice::upgrade::usage::{ApiUse, User};
use replank_apiserver::ApiError;
use replank_facts::coverage::Coverage;
use replank_facts::groups::{GroupBy, group_of};
use replank_facts::plan::{Plan, Target};
use replank_model::delta::Delta;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::{Kind, Object};
use replank_model::text::{GroupName, Text};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::provisioner::Provisioner;
use replank_rehearse::{Idle, RehearsalResult, Verdict};

use replank_sim::{CloudTimings, Durations, KubeletModel, Settings};

use super::super::plan::Taken;
use super::super::plan::rolls::{blockers, take_off_lost_labels};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::rehearse::{self, Scene};
use crate::snapshot::Cluster;

/// Add-ons in kube-system whose update is played: name of the add-on, and of its workload.
const DAEMONS: [(&str, &str); 2] = [("vpc-cni", "aws-node"), ("kube-proxy", "kube-proxy")];
/// The same of Deployments.
const DEPLOYMENTS: [(&str, &str); 1] = [("coredns", "coredns")];

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// It was carried out.
    Done,
    /// It was, though it would not have been begun: these stood before it.
    AsIfCleared(Vec<String>),
    /// It is somebody else's, and was taken to be done.
    LeftToProvisioner,
    /// It was begun and did not come to its end.
    Blocked(Vec<String>),
    /// It was not begun.
    NotBegun(Vec<String>),
}

/// A step, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    /// When it began.
    pub(super) begun: Time,
    /// How long it took.
    pub(super) took: Span,
    /// The outcome.
    pub(super) came: Came,
    /// Pods that were evicted.
    pub(super) moved: usize,
    /// Nodes that were replaced.
    pub(super) replaced: usize,
    /// Evictions after which fewer pods were healthy than a budget asks for.
    pub(super) violations: usize,
    /// Who fails from here on, and with what.
    pub(super) fails: Vec<String>,
    /// Pods of workloads that were not ready when it was over, beyond those that were not before the first step.
    pub(super) unready: usize,
}

/// Where the chain is.
pub(super) struct Chain<'a> {
    taken: &'a Taken,
    options: &'a Options,
    uses: &'a [ApiUse],
    seed: u64,
    /// How many parts of the chain there have been.
    links: u64,
    as_if_cleared: bool,
    view: View,
    now: Time,
    control_plane: Option<Minor>,
    unready: usize,
    durations: Arc<Durations>,
    told: BTreeSet<String>,
}

impl<'a> Chain<'a> {
    pub(super) fn begin(taken: &'a Taken, seed: u64, as_if_cleared: bool, uses: &'a [ApiUse]) -> Self {
        Self {
            taken,
            options: &taken.options,
            uses,
            seed,
            links: 0,
            as_if_cleared,
            view: taken.view.clone(),
            now: taken.now,
            control_plane: None,
            unready: unready(&taken.view),
            durations: Arc::new(Durations::learn(&taken.view, taken.now)),
            told: taken.older.iter().map(|older| format!("{}: {}", older.about, older.value)).collect(),
        }
    }

    /// What was assumed, sorted, each once.
    pub(super) fn assumptions(&self) -> Vec<String> {
        self.told.iter().cloned().collect()
    }

    /// Carries out a step.
    ///
    /// # Errors
    /// Where the machine fails.
    pub(super) fn step(&mut self, step: &Step, interrupt: &Interrupt) -> Result<Passed, Failure> {
        let mut why: Vec<String> = step
            .blockers()
            .map(|finding| format!("[{}] {}: {}", finding.rule, finding.object, finding.reason))
            .collect();
        if !self.as_if_cleared && !why.is_empty() {
            return Ok(self.passed(Span::ZERO, Came::NotBegun(why)));
        }
        let came = |why: &mut Vec<String>| match why.is_empty() {
            true => Came::Done,
            false => Came::AsIfCleared(std::mem::take(why)),
        };
        match &step.what {
            What::ControlPlane(hop) => {
                // The skew policy is not a finding that somebody could clear by saying so.
                let outside = self.outside(*hop);
                if !outside.is_empty() {
                    return Ok(self.passed(Span::ZERO, Came::NotBegun(outside)));
                }
                let mut passed = self.quiet(self.options.hop, |_| Ok(()))?;
                passed.came = came(&mut why);
                passed.fails = self.fails(hop.to);
                self.control_plane = Some(hop.to);
                self.told.insert(format!(
                    "a control plane step takes {}: its API stays available and watches continue",
                    self.options.hop
                ));
                Ok(passed)
            }
            What::Bake { .. } => self.quiet(self.options.bake, |_| Ok(())),
            What::Roll { group, from, to, .. } => {
                let mut passed = self.roll(group, *from, *to, interrupt)?;
                if passed.came == Came::Done {
                    passed.came = came(&mut why);
                }
                Ok(passed)
            }
            What::LeftTo { name, provisioner, to, .. } => {
                self.replaced_by_provisioner(name, provisioner, *to);
                self.told.insert(format!(
                    "{name} is replaced by its provisioner instantly, and its pods stay: {}",
                    provisioner.way()
                ));
                Ok(self.passed(Span::ZERO, Came::LeftToProvisioner))
            }
            What::KubeProxy { to, .. } => self.addon("kube-proxy", &format!("v{to}.0"), 1),
            What::Addon { name, to, .. } => {
                let last = to.last().map(ToString::to_string).unwrap_or_default();
                self.addon(name, &last, to.len())
            }
        }
    }

    fn passed(&self, took: Span, came: Came) -> Passed {
        let unready = unready(&self.view).saturating_sub(self.unready);
        Passed {
            begun: self.now - took,
            took,
            came,
            moved: 0,
            replaced: 0,
            violations: 0,
            fails: Vec::new(),
            unready,
        }
    }

    /// A seed for each part of the chain, the first one's being the given one. With one for all of them a later run would draw the ids and names of
    /// instances and pods again that an earlier one has left.
    fn next_seed(&mut self) -> u64 {
        // The odd number nearest to 2^64 divided by the golden ratio: what it multiplies is spread over all bits.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let seed = self.seed ^ self.links.wrapping_mul(SPREAD);
        self.links += 1;
        seed
    }

    fn settings(&mut self) -> Settings {
        Settings {
            start: self.now,
            seed: self.next_seed(),
            kubelet: KubeletModel::Learnt(self.durations.clone()),
            cloud: CloudTimings::default(),
        }
    }

    /// Time in which nobody rolls anything.
    fn quiet(
        &mut self,
        span: Span,
        hand: impl FnOnce(&mut Idle) -> Result<(), Failure>,
    ) -> Result<Passed, Failure> {
        let settings = self.settings();
        let mut quiet = Idle::new(self.view.clone(), settings);
        hand(&mut quiet)?;
        quiet.pass(span);
        self.now = quiet.now();
        self.view = view_of(quiet.objects());
        Ok(self.passed(span, Came::Done))
    }

    /// An add-on's update restarts its pods with another image.
    fn addon(&mut self, name: &str, version: &str, updates: usize) -> Result<Passed, Failure> {
        let workload =
            |all: &[(&str, &'static str)]| all.iter().find(|(addon, _)| *addon == name).map(|(_, own)| *own);
        let daemon = workload(&DAEMONS).map(|own| Key::new("kube-system", own));
        let deployment = workload(&DEPLOYMENTS).map(|own| Key::new("kube-system", own));
        let image = Text::from(format!("{name}:{version}"));
        if daemon.is_none() && deployment.is_none() {
            self.told
                .insert(format!("add-on {name}: its workload is unknown, so its pods are not restarted"));
        }
        let span = self.options.addon * i64::try_from(updates.max(1)).unwrap_or(1);
        self.told.insert(format!("an update of an add-on takes {}", self.options.addon));
        self.quiet(span, |quiet| {
            // Where the snapshot does not show the workload, there is nothing to restart.
            if let Some(key) = daemon.filter(|key| quiet.view().object(Kind::DaemonSet, key).is_some()) {
                quiet.set_daemon_image(&key, &image).map_err(|error| refused(&error))?;
            }
            if let Some(key) = deployment.filter(|key| quiet.view().object(Kind::Deployment, key).is_some()) {
                quiet.set_deployment_image(&key, &image).map_err(|error| refused(&error))?;
            }
            Ok(())
        })
    }

    fn roll(
        &mut self,
        group: &Text,
        from: Minor,
        to: Minor,
        interrupt: &Interrupt,
    ) -> Result<Passed, Failure> {
        let name = GroupName::from(group.clone());
        let known = rehearse::groups::of_label(&self.view, &self.taken.label);
        if !known.iter().any(|learnt| learnt.group.name == name) {
            let why = format!("{group} is a single machine: nothing recreates it");
            return Ok(self.passed(Span::ZERO, Came::Blocked(vec![why])));
        }
        let target = Target { kubernetes_version: to.to_string().parse().ok(), ..Target::default() };
        let plan = Plan::of_groups(format!("upgrade-{group}-{to}"), vec![name], target);
        let cluster =
            Cluster { view: self.view.clone(), now: self.now, older: None, coverage: Coverage::default() };
        let mut scene = Scene::new(self.taken.name.clone(), cluster, plan, &self.taken.label)?;
        scene.preflight = preflight::blocking_step;
        for key in take_off_lost_labels(&mut scene, self.taken, group, from, to) {
            self.told.insert(format!(
                "new nodes of {group} lack the label {key}: kubelets of {to} do not set it, and no other source is known"
            ));
        }
        let (result, objects) = rehearse::once_and_after(&scene, self.next_seed(), interrupt);
        self.now += result.virtual_duration;
        self.view = view_of(objects);
        let came = match result.verdict {
            Verdict::Passes | Verdict::Findings | Verdict::Incomplete => Came::Done,
            Verdict::Partial | Verdict::Blocked | Verdict::Refused => Came::Blocked(blockers(&result)),
        };
        Ok(Passed {
            moved: result.pods.moved,
            replaced: result.nodes.replaced,
            violations: violations(&result),
            ..self.passed(result.virtual_duration, came)
        })
    }

    /// Nodes of a provisioner of their own report the version from here on.
    fn replaced_by_provisioner(&mut self, name: &Text, provisioner: &Provisioner, to: Minor) {
        let by = GroupBy::Label(self.taken.label.clone());
        let is_meant = |node: &Node| {
            Provisioner::of(node) == *provisioner
                && group_of(node, &by)
                    .is_none_or(|group| group.text() == name || provisioner.keeps_its_nodes())
        };
        let nodes: Vec<Node> = self
            .view
            .nodes
            .sorted()
            .into_iter()
            .filter(|(_, node)| is_meant(node))
            .map(|(_, node)| Node::clone(node))
            .collect();
        for mut node in nodes {
            node.status.node_info.kubelet_version = Text::from(format!("v{to}.0"));
            self.view.apply(Delta::Put(Object::from(node)));
        }
    }

    /// Kubelets that a step of the control plane would leave outside the skew policy, as the nodes report them at this moment.
    fn outside(&self, hop: Hop) -> Vec<String> {
        let mut outside = Vec::new();
        if let Some(at) = self.control_plane.filter(|at| *at != hop.from) {
            outside.push(format!("the control plane runs {at}, and the step is from {}", hop.from));
        }
        for (_, node) in self.view.nodes.sorted() {
            let Some(kubelet) = Minor::of(&node.status.node_info.kubelet_version) else { continue };
            match skew::kubelet(kubelet, hop.from, hop.to) {
                skew::Skew::Fits { .. } => {}
                // Newer ones already are, and this step moves the control plane closer to them.
                skew::Skew::Newer { .. } => {}
                skew::Skew::TooOld { behind, max } => outside.push(format!(
                    "node {} runs {kubelet}, {behind} minor versions behind {}, and {max} are allowed",
                    node.meta.name, hop.to
                )),
            }
        }
        outside
    }

    /// Those who write or apply at an API version that is gone from here on.
    fn fails(&self, at: Minor) -> Vec<String> {
        let gone = self.uses.iter().filter(|one| one.removed == at);
        gone.map(|one| {
            let how = match one.user {
                User::Source => "cannot be applied any more",
                User::Reference => "is not found any more",
                User::Writer => "fails from here on",
                User::Rule => "does not see the new version",
            };
            format!("{} {how}: {}", one.api, one.place)
        })
        .collect()
    }
}

fn refused(error: &ApiError) -> Failure {
    Failure::internal(anyhow::anyhow!("the simulated API server refuses an add-on's image: {error:?}"))
}

fn view_of(objects: Vec<Object>) -> View {
    objects.into_iter().map(Delta::Put).collect()
}

fn violations(result: &RehearsalResult) -> usize {
    result.budgets.iter().map(|budget| budget.violations).sum()
}

/// Pods that run, or are to, and are not Ready.
fn unready(view: &View) -> usize {
    let pods = view.pods.unordered().map(|(_, pod)| pod);
    pods.filter(|pod| pod.is_active() && !pod.is_terminal() && !pod.is_ready()).count()
}
