//! Steps that failed or were lost, and their next attempts (`processNodeRetries`).

use replank_facts::batch::expression::LastRetry;
use replank_facts::batch::retry::{self, Retried, Strategy};
use replank_model::object::Kind;
use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::time::{Span, Time};
use replank_model::view::View;

use super::names::{NODE_NAME, attempt_of, hashed};
use super::run::State;
use super::{Attempt, COMPLETED, Task, Workflows, pod, workflow_of};
use crate::controllers::{Ctx, operators};
use replank_apiserver::DeleteOptions;
use replank_apiserver::draw::Purpose;

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
        if let Some(id) = workflow_of(gone) {
            self.advance(ctx, &id);
        }
    }

    /// A pod has failed, and the controller has read how.
    pub(super) fn failed(&mut self, ctx: &mut Ctx<'_>, pod: &Pod) {
        if !self.is_assumed || !is_wanted(ctx.view(), pod) {
            return;
        }
        if self.is_made_again(ctx.view(), pod) {
            let mut attempt = self.attempt(pod);
            attempt.restarts += 1;
            let options = DeleteOptions { uid: Some(pod.meta.uid.clone()), ..DeleteOptions::default() };
            // One that is gone meanwhile makes room for the next as well.
            let _gone = ctx.api.delete(Kind::Pod, &pod.meta.key(), &options);
            return self.again(ctx, pod, attempt, Span::ZERO);
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

    /// Whether a pod that failed before its main container ran is made again (`failedPodRestart`, 4.0 and later).
    fn is_made_again(&self, view: &View, pod: &Pod) -> bool {
        const REASONS: [&str; 4] = ["Evicted", "NodeShutdown", "NodeAffinity", "UnexpectedAdmissionError"];
        let has_run = pod.status.container_statuses.iter().any(|status| {
            let ended = status.state.terminated.as_ref();
            status.state.running.is_some() || ended.is_some_and(|ended| ended.started_at.is_some())
        });
        let most = retry::failed_pod_restarts(view);
        !has_run
            && REASONS.contains(&&*pod.status.reason)
            && most.is_some_and(|most| self.attempt(pod).restarts < most)
    }

    fn attempt(&self, pod: &Pod) -> Attempt {
        let node = pod.meta.annotations.value(NODE_NAME).unwrap_or_default();
        let retries = attempt_of(node).1.unwrap_or(0);
        let first =
            Attempt { retries, first: pod.status.start_time, nodes: Vec::new(), template: None, restarts: 0 };
        self.attempts.get(&pod.meta.uid).cloned().unwrap_or(first)
    }

    fn next_attempt(&mut self, ctx: &mut Ctx<'_>, pod: &Pod, last: &LastRetry) {
        let attempt = self.attempt(pod);
        let is_stopped =
            workflow_of(pod).and_then(|id| self.runs.get(&id.uid)).is_some_and(|run| run.stop.is_some());
        let strategy = strategy_of(ctx.view(), pod, &attempt);
        let strategy = strategy.filter(|strategy| !is_stopped && strategy.retries(last) == Retried::Yes);
        let Some(strategy) = strategy else { return self.settle_pod(ctx, pod, State::Bad) };
        let mut next = Attempt {
            retries: attempt.retries + 1,
            first: attempt.first.or(pod.status.start_time),
            ..attempt
        };
        next.nodes.extend(pod.node.iter().map(ToString::to_string));
        // Without a limit the controller skips the pauses.
        let backoff = strategy.backoff.filter(|_| strategy.limit.is_some());
        let pause = backoff.map_or(Span::ZERO, |backoff| backoff.pause(next.retries));
        let most = backoff.and_then(|backoff| backoff.max_duration);
        let is_too_late = |first: Time| most.is_some_and(|most| ctx.api.now() + pause > first + most);
        if next.first.is_some_and(is_too_late) {
            self.settle_pod(ctx, pod, State::Bad);
        } else if strategy.avoids_nodes {
            let elsewhere = pod::away_from(pod, &next.nodes);
            self.again(ctx, &elsewhere, next, pause);
        } else {
            self.again(ctx, pod, next, pause);
        }
    }

    fn again(&mut self, ctx: &mut Ctx<'_>, pod: &Pod, attempt: Attempt, pause: Span) {
        let Some(id) = workflow_of(pod) else { return };
        let mut next = operators::again(pod);
        next.meta.labels = next.meta.labels.with(COMPLETED, "false");
        next.meta.generate_name = None;
        let known = self.attempt(pod).retries;
        if let Some((base, Some(_))) = pod.meta.annotations.value(NODE_NAME).map(attempt_of) {
            let node = format!("{base}({})", attempt.retries);
            next.meta.name = hashed(prefix_of(pod), &node);
            next.meta.annotations = next.meta.annotations.with(NODE_NAME, node);
        } else if attempt.retries > known || !pod.meta.annotations.iter().any(|(key, _)| key == NODE_NAME) {
            next.meta.name = hashed(prefix_of(pod), &format!("{}({})", pod.meta.name, attempt.retries));
        }
        self.settle_pod(ctx, pod, State::Open);
        if let Some(deadline) = self.runs.get(&id.uid).and_then(|run| run.deadline) {
            let left = (deadline - ctx.api.now()).as_secs().max(1);
            let mut spec = next.spec.as_ref().clone();
            spec.active_deadline_seconds =
                Some(spec.active_deadline_seconds.map_or(left, |own| own.min(left)));
            next.spec = spec.into();
        }
        let draw = ctx.draws.draw(pod.meta.uid.as_str(), Purpose::Operator, 0);
        let after = pause + draw.between(operators::REACTION.0, operators::REACTION.1);
        self.later(ctx, after, Task::Make { owner: id.uid, pod: Box::new(next), attempt });
    }

    pub(super) fn make(&mut self, ctx: &mut Ctx<'_>, pod: &Pod, attempt: Attempt) {
        if !is_wanted(ctx.view(), pod) {
            return;
        }
        match ctx.api.create(pod.clone()) {
            Ok(made) => {
                self.attempts.insert(made.meta.uid.clone(), attempt);
            }
            // Refused by a quota, or because the namespace is on its way out: the step is in error, and stays so.
            Err(_) => {
                self.settle_pod(ctx, pod, State::Bad);
                if let Some(id) = workflow_of(pod) {
                    self.advance(ctx, &id);
                }
            }
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

fn strategy_of(view: &View, pod: &Pod, attempt: &Attempt) -> Option<Strategy> {
    let owner = pod.meta.controller()?;
    let raw = retry::raw(view, &Key { namespace: pod.meta.namespace.clone(), name: owner.name.clone() })?;
    let spec = retry::spec_of(view, &raw);
    match &attempt.template {
        Some(template) => retry::strategy_of(&spec, Some(&**template)),
        None => retry::strategy_of(&spec, retry::template_of(view, &raw, pod).as_ref()),
    }
}

fn seconds(ctx: &Ctx<'_>, pod: &Pod) -> i64 {
    pod.status.start_time.map_or(0, |start| (ctx.api.now() - start).as_secs().max(0))
}

/// A pod's name less the hash of its node's name, which tells attempts apart (`util.GeneratePodName`).
fn prefix_of(pod: &Pod) -> &str {
    let name = pod.meta.name.as_str();
    let is_hash = |text: &str| text.len() > 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    name.rsplit_once('-').filter(|(_, last)| is_hash(last)).map_or(name, |(base, _)| base)
}
