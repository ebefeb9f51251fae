//! The steps of an upgrade, one after the other, each with what is looked at before it.

use replank_advice::upgrade::finding::{Finding, Rule, Severity};
use replank_advice::upgrade::minor::Minor;
use replank_advice::upgrade::plan::{Step, What};
use replank_model::time::Span;
use serde_json::json;

use super::args::{HowArgs, PlaceArgs};
use super::control_plane::At;
use super::eyes::{Eyes, Seen};
use super::ground::{Came, Ground, RESUME, Stop};
use super::nodes::Rolled;
use super::record::{Kept, State, Todo};
use super::{addon, control_plane, nodes, way_back};
use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::pressed;
use crate::printer::Printer;
use crate::roll::{self, AwsArgs};
use crate::upgrade::plan::words;

/// How often it is looked whether the Lease is still held.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(200);

/// An upgrade that is carried out.
pub(super) struct Carrying<'c> {
    pub(super) runtime: &'c tokio::runtime::Runtime,
    pub(super) ground: Ground<'c>,
    pub(super) eyes: Eyes<'c>,
    pub(super) aws: &'c AwsArgs,
    pub(super) how: &'c HowArgs,
    pub(super) place: &'c PlaceArgs,
}

/// How it was left.
pub(super) enum Left {
    /// Every step is done.
    Done,
    /// As many steps as were asked for.
    Until(usize),
    /// A step stopped it.
    Stopped(usize, Stop),
    /// Ctrl-C.
    Interrupted(usize),
    /// The Lease is somebody else's.
    Lost(usize),
}

impl Carrying<'_> {
    /// Carries out what is left, as far as was asked for.
    pub(super) fn go(
        &self,
        kept: &mut Kept,
        printer: &mut Printer,
        interrupt: &Interrupt,
    ) -> Result<Left, Failure> {
        let mut carried = 0;
        while let Some(index) = kept.upgrade.next() {
            let is_far_enough = self.how.until_step.is_some_and(|until| index >= until);
            if is_far_enough || (self.how.step && carried > 0) {
                return Ok(Left::Until(index));
            }
            if interrupt.is_pressed() {
                return Ok(Left::Interrupted(index));
            }
            if self.ground.keeper.is_lost() {
                return Ok(Left::Lost(index));
            }
            self.tell(kept, index, "begun");
            match self.step(kept, index, printer, interrupt)? {
                Passed::Came(Came::Done) => {}
                Passed::Came(Came::Stopped(stop)) => return Ok(Left::Stopped(index, stop)),
                Passed::Interrupted => return Ok(Left::Interrupted(index)),
                Passed::Lost => return Ok(Left::Lost(index)),
            }
            let now = self.ground.now();
            if let Some(step) = kept.upgrade.steps.get_mut(index) {
                step.state = State::Done;
                step.begun = step.begun.or(Some(now));
                step.done = Some(now);
            }
            self.runtime.block_on(kept.write(self.ground.connection))?;
            self.tell(kept, index, "done");
            carried += 1;
        }
        Ok(Left::Done)
    }

    fn tell(&self, kept: &Kept, index: usize, state: &str) {
        let Some(step) = kept.upgrade.steps.get(index) else { return };
        let of = kept.upgrade.steps.len();
        let text = match state {
            "done" => format!("{:>4}  done", index + 1),
            _ => format!("{:>4}  {}", index + 1, step.title),
        };
        let event = json!({"event": "step", "step": index + 1, "of": of, "state": state, "title": step.title, "what": step.what});
        self.ground.teller.say(self.ground.now(), &text, event);
    }

    fn step(
        &self,
        kept: &mut Kept,
        index: usize,
        printer: &mut Printer,
        interrupt: &Interrupt,
    ) -> Result<Passed, Failure> {
        let ground = &self.ground;
        let Some(todo) = kept.upgrade.steps.get(index).map(|step| step.what.clone()) else {
            return Ok(Passed::Came(Came::Done));
        };
        match &todo {
            Todo::ControlPlane { from, to } => {
                self.control_plane(kept, index, (from, to), printer, interrupt)
            }
            Todo::Bake { lasts_ms, after: _ } => {
                self.wait(nodes::bake(ground, kept, index, Span::from_millis(*lasts_ms)), interrupt)
            }
            Todo::Roll { group, to, from: _ } => self.roll(kept, index, (group, to), printer, interrupt),
            Todo::LeftToProvisioner { name, provisioner, to, way } => {
                self.wait(nodes::left_to(ground, (name, provisioner, to, way)), interrupt)
            }
            Todo::KubeProxy { to, from: _ } => self.wait(
                async {
                    match addon::kube_proxy(ground, to).await? {
                        Some(version) => addon::carry(ground, kept, index, ("kube-proxy", &[version])).await,
                        None => Ok(Stop::blocked(
                            format!("EKS offers no kube-proxy of {to}"),
                            format!("once it does: {RESUME}"),
                        )),
                    }
                },
                interrupt,
            ),
            Todo::Addon { name, versions, from: _ } => {
                self.wait(addon::carry(ground, kept, index, (name, versions)), interrupt)
            }
        }
    }

    /// EKS is asked straight after a look that has found nothing in the way: whatever was waited for before that, is looked at once more.
    fn control_plane(
        &self,
        kept: &mut Kept,
        index: usize,
        pair: (&str, &str),
        printer: &mut Printer,
        interrupt: &Interrupt,
    ) -> Result<Passed, Failure> {
        let ground = &self.ground;
        let mut is_told = false;
        loop {
            let came = |came: Came| Ok(Passed::Came(came));
            let passed = match self.runtime.block_on(control_plane::look(ground, pair))? {
                At::Done => return came(Came::Done),
                At::Elsewhere(version) => return came(control_plane::elsewhere(&version, pair)),
                At::Down(status) => return came(control_plane::down(ground.cluster, &status)),
                // What is in progress is not to be kept from anything any more.
                At::Leads(update) => {
                    self.wait(control_plane::adopt(ground, kept, index, pair, update), interrupt)?
                }
                At::Busy(other) => {
                    let is_told = std::mem::replace(&mut is_told, true);
                    self.wait(control_plane::pass_by(ground, index, other, is_told), interrupt)?
                }
                At::Open => match self.preflight(pair, printer, interrupt)? {
                    Preflight::Changed => continue,
                    Preflight::Stopped(stop) => return came(stop),
                    Preflight::Clear => {
                        self.wait(control_plane::ask(ground, kept, index, pair), interrupt)?
                    }
                },
            };
            match passed {
                Passed::Came(Came::Done) => {}
                Passed::Came(Came::Stopped(_)) | Passed::Interrupted | Passed::Lost => return Ok(passed),
            }
        }
    }

    /// Waits for a step, unless somebody presses Ctrl-C or the Lease is lost.
    fn wait(
        &self,
        step: impl Future<Output = Result<Came, Failure>>,
        interrupt: &Interrupt,
    ) -> Result<Passed, Failure> {
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = self.lost() => Ok(Passed::Lost),
                () = pressed(interrupt) => Ok(Passed::Interrupted),
                came = step => came.map(Passed::Came),
            }
        })
    }

    async fn lost(&self) {
        while !self.ground.keeper.is_lost() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Plans once more from what there is now: what blocks this step by now stops it.
    fn preflight(
        &self,
        (from, to): (&str, &str),
        printer: &mut Printer,
        interrupt: &Interrupt,
    ) -> Result<Preflight, Failure> {
        let seen = self.eyes.look(None, printer, interrupt)?;
        if seen.cluster["status"] != "ACTIVE" || seen.cluster["version"] != *from {
            return Ok(Preflight::Changed);
        }
        if let (Some(from), Some(to)) = (Minor::of(from), Minor::of(to))
            && to < from
        {
            return Ok(way_back::stopped(&seen, to).map_or(Preflight::Clear, Preflight::Stopped));
        }
        let todo = Todo::ControlPlane { from: from.to_owned(), to: to.to_owned() };
        let steps = &seen.planned.plan.steps;
        if let Some(stop) = not_seen(&seen).or_else(|| before(&todo, steps)) {
            return Ok(Preflight::Stopped(Came::Stopped(stop)));
        }
        let own = steps.iter().filter(|step| todo.is(&step.what));
        let is_meant = |finding: &&Finding| finding.rule != Rule::Insight || !self.how.ignore_insights;
        let findings = own.flat_map(|step| &step.findings).filter(is_meant);
        let told = |finding: &Finding| format!("[{}] {}: {}", finding.rule, finding.object, finding.reason);
        let blocking: Vec<&Finding> =
            findings.filter(|finding| finding.severity == Severity::Blocking).collect();
        let Some(first) = blocking.first() else { return Ok(Preflight::Clear) };
        let why: Vec<String> = blocking.iter().map(|finding| told(finding)).collect();
        Ok(Preflight::Stopped(Stop::blocked(
            format!("the step must not start: {}", why.join("; ")),
            format!("{}; then: {RESUME}", first.remedy.text()),
        )))
    }

    /// A roll has a record, a Lease and a screen of its own.
    fn roll(
        &self,
        kept: &mut Kept,
        index: usize,
        (group, to): (&str, &str),
        printer: &mut Printer,
        interrupt: &Interrupt,
    ) -> Result<Passed, Failure> {
        let ground = &self.ground;
        let plan = nodes::roll(&self.place.namespace, group, to);
        let run = plan.name.to_string();
        let asked = roll::Asked {
            live: &self.place.live,
            read: self.eyes.read,
            aws: self.aws,
            tolerance: self.how.tolerance,
            output: self.place.output,
        };
        let is_begun = roll::is_begun(&plan, &asked)?;
        let label = kept.upgrade.group_label.clone();
        let rolled = || self.runtime.block_on(nodes::rolled(ground.connection, &label, (group, to)));
        if !is_begun {
            match rolled()? {
                Rolled::Yes => return Ok(Passed::Came(Came::Done)),
                Rolled::Empty => return self.wait(nodes::empty(ground, index, (group, to)), interrupt),
                Rolled::No => {}
            }
        }
        let settled = async {
            nodes::settled(ground, index).await?;
            ground.begin(kept, index).await?;
            Ok(Came::Done)
        };
        match self.wait(settled, interrupt)? {
            Passed::Came(_) => {}
            left @ (Passed::Interrupted | Passed::Lost) => return Ok(left),
        }
        let exit = roll::carry_out_plan(plan, &asked, printer, interrupt)?;
        Ok(match exit {
            Exit::Passes => match rolled()? {
                Rolled::Yes => Passed::Came(Came::Done),
                Rolled::Empty => self.wait(nodes::empty(ground, index, (group, to)), interrupt)?,
                Rolled::No => Passed::Came(Stop::blocked(
                    format!("the roll of {group} is over, and not all of its nodes run {to}"),
                    format!("see them: kubectl get nodes; to roll them: {RESUME}"),
                )),
            },
            Exit::Interrupted => Passed::Interrupted,
            exit @ (Exit::Internal
            | Exit::Usage
            | Exit::Findings
            | Exit::Blocked
            | Exit::Refused
            | Exit::Incomplete) => Passed::Came(Came::Stopped(Stop {
                exit,
                why: format!("the roll of {group} to {to} has not come to its end"),
                next: format!(
                    "what it says is above; once that is cleared: {RESUME}; to end the roll: replank roll cancel {run}"
                ),
            })),
        })
    }
}

/// What was not seen keeps a step from being begun, as it keeps an upgrade.
fn not_seen(seen: &Seen) -> Option<Stop> {
    let coverage = &seen.planned.coverage;
    let exit = coverage::end(coverage, Exit::Passes);
    (exit != Exit::Passes).then(|| Stop {
        exit,
        why: format!(
            "not everything could be read, and the step is not begun without: {}",
            coverage.missing.join("; ")
        ),
        next: format!("give what is missing, or accept it: {RESUME} --allow-incomplete NAME"),
    })
}

/// What a plan of what there is now has before a step, and what to do about it; watching the cluster changes nothing.
fn before(todo: &Todo, steps: &[Step]) -> Option<Stop> {
    let again =
        "plan again with it: replank upgrade cancel, then replank upgrade run --to VERSION".to_owned();
    let at = steps.iter().position(|step| todo.is(&step.what));
    let changing =
        steps.iter().take(at.unwrap_or_default()).filter(|step| !matches!(step.what, What::Bake { .. }));
    let first: Vec<String> = changing.map(|step| words::title_done(&step.what)).collect();
    let why = match (at, first.as_slice()) {
        (None, _) => "a plan of what there is now does not have this step".to_owned(),
        (Some(_), []) => return None,
        (Some(_), first) => format!("by now something else comes before this step: {}", first.join("; ")),
    };
    Some(Stop { exit: Exit::Blocked, why, next: again })
}

/// What a look before a step of the control plane has found.
enum Preflight {
    /// Nothing stands in the way.
    Clear,
    /// Something does.
    Stopped(Came),
    /// The control plane is not as it was a moment ago.
    Changed,
}

/// What became of a step.
enum Passed {
    Came(Came),
    Interrupted,
    Lost,
}
