//! Steps that failed or were lost, and their next attempts (`processNodeRetries`).

use replank_core::batch::expression::LastRetry;
use replank_core::batch::retry::{self, Retried, Strategy};
use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::text::Name;
use replank_model::time::{Span, Time};
use replank_model::view::View;

use super::{Attempt, COMPLETED, Task, Workflows};
use crate::controllers::{Ctx, operators};
use crate::draw::Purpose;

impl Workflows {
    /// A pod is gone whose end was not recorded.
    pub(super) fn lost(&mut self, ctx: &mut Ctx<'_>, gone: &Pod) {
        if !self.is_assumed || !is_wanted(ctx.view(), gone) {
            return;
        }
        if gone.status.phase == PodPhase::Pending {
            let attempt = self.attempt(gone);
            self.again(ctx, gone, attempt, Span::ZERO);
            return;
        }
        let draw = ctx.draws.draw(gone.meta.uid.as_str(), Purpose::Order, 0);
        let was_read = gone.status.phase == PodPhase::Failed
            && draw.between(Span::ZERO, Span::from_millis(1)) == Span::ZERO;
        if was_read {
            self.failed(ctx, gone);
        } else {
            let last = LastRetry {
                retries: self.attempt(gone).retries,
                seconds: Some(seconds(ctx, gone)),
                ..retry::deleted()
            };
            self.next_attempt(ctx, gone, &last);
        }
        self.end_if_over(ctx, gone);
    }

    /// A pod has failed, and the controller has read how.
    pub(super) fn failed(&mut self, ctx: &mut Ctx<'_>, pod: &Pod) {
        if !self.is_assumed || !is_wanted(ctx.view(), pod) {
            return;
        }
        let ended = pod.status.container_statuses.iter().filter_map(|status| {
            let code = status.state.terminated.as_ref()?.exit_code;
            Some((&*status.name, code))
        });
        let ended: Vec<(&str, i32)> = ended.collect();
        let main = ended.iter().find(|(name, _)| *name == "main").or(ended.first());
        let last = LastRetry {
            exit_code: main.map(|(_, code)| *code),
            status: "Failed",
            seconds: Some(seconds(ctx, pod)),
            message: main.map_or(String::new(), |(name, code)| format!("{name}: Error (exit code {code})")),
            retries: self.attempt(pod).retries,
        };
        self.next_attempt(ctx, pod, &last);
    }

    fn attempt(&self, pod: &Pod) -> Attempt {
        let first = Attempt { retries: 0, first: pod.status.start_time };
        self.attempts.get(&pod.meta.uid).copied().unwrap_or(first)
    }

    fn next_attempt(&mut self, ctx: &mut Ctx<'_>, pod: &Pod, last: &LastRetry) {
        self.note_end(pod);
        let strategy = strategy_of(ctx.view(), pod).filter(|strategy| strategy.retries(last) == Retried::Yes);
        let Some(strategy) = strategy else { return self.note_failure(ctx, pod) };
        let attempt = self.attempt(pod);
        let next = Attempt { retries: attempt.retries + 1, ..attempt };
        // Without a limit the controller skips the pauses.
        let backoff = strategy.backoff.filter(|_| strategy.limit.is_some());
        let pause = backoff.map_or(Span::ZERO, |backoff| backoff.pause(next.retries));
        let most = backoff.and_then(|backoff| backoff.max_duration);
        let is_too_late = |first: Time| most.is_some_and(|most| ctx.api.now() + pause > first + most);
        if next.first.is_some_and(is_too_late) {
            self.note_failure(ctx, pod);
        } else {
            self.again(ctx, pod, next, pause);
        }
    }

    fn again(&mut self, ctx: &mut Ctx<'_>, pod: &Pod, attempt: Attempt, pause: Span) {
        let Some(owner) = pod.meta.controller().map(|owner| owner.uid.clone()) else { return };
        let mut next = operators::again(pod);
        next.meta.labels = next.meta.labels.with(COMPLETED, "false");
        next.meta.name = name_again(pod, attempt.retries);
        next.meta.generate_name = None;
        let draw = ctx.draws.draw(pod.meta.uid.as_str(), Purpose::Operator, 0);
        let after = pause + draw.between(operators::REACTION.0, operators::REACTION.1);
        self.later(ctx, after, Task::Make { owner, pod: Box::new(next), attempt });
    }

    pub(super) fn make(&mut self, ctx: &mut Ctx<'_>, pod: Pod, attempt: Attempt) {
        if !is_wanted(ctx.view(), &pod) {
            return;
        }
        // Refused by a quota, or because the namespace is on its way out: the step is in error, and stays so.
        if let Ok(made) = ctx.api.create(pod) {
            self.attempts.insert(made.meta.uid.clone(), attempt);
        }
    }
}

/// Whether the workflow of a pod is there and is to stay.
fn is_wanted(view: &View, pod: &Pod) -> bool {
    let workflow = pod.meta.controller().filter(|owner| &*owner.kind == "Workflow").and_then(|owner| {
        let key = Key { namespace: pod.meta.namespace.clone(), name: owner.name.clone() };
        view.other("argoproj.io", "Workflow", &key).filter(|found| found.meta.uid == owner.uid)
    });
    workflow.is_some_and(|workflow| !workflow.meta.is_terminating())
}

fn strategy_of(view: &View, pod: &Pod) -> Option<Strategy> {
    let owner = pod.meta.controller()?;
    let raw = retry::raw(view, &Key { namespace: pod.meta.namespace.clone(), name: owner.name.clone() })?;
    retry::strategy_of(&retry::spec_of(view, &raw), retry::template_of(&raw, pod))
}

fn seconds(ctx: &Ctx<'_>, pod: &Pod) -> i64 {
    pod.status.start_time.map_or(0, |start| (ctx.api.now() - start).as_secs().max(0))
}

/// A pod's name ends in the hash of its node's name, which tells attempts apart (`util.GeneratePodName`).
fn name_again(pod: &Pod, retries: i64) -> Name {
    let name = pod.meta.name.as_str();
    let is_hash = |text: &str| text.len() > 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    let base = name.rsplit_once('-').filter(|(_, last)| is_hash(last)).map_or(name, |(base, _)| base);
    name_of(base, &format!("{name}({retries})"))
}

/// A name that ends in the hash of a node's name.
pub(super) fn name_of(base: &str, node: &str) -> Name {
    // FNV-1a of 32 bits.
    let hash =
        node.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    Name::from(format!("{base}-{hash}"))
}
