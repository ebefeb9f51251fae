//! Where it is told: a table that renews itself, lines, or events.

use std::collections::BTreeMap;

use replank_core::drain::{DryRun, NodeStatus, Phase};
use replank_model::object::meta::Key;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_protocol::waiting::{DrainWait, Hope, PodWait, Subject, Waiting, WaitingOn};

use super::remedy::remedy;
use super::said::Said;
use crate::live::{Form, Format, RENEWED_EVERY, ROWS_MAX, Waits, error_line, line};
use crate::report::{cut, words};

/// See the module's page.
pub(super) struct Screen {
    form: Form,
    dry_run: DryRun,
    begun: Option<Time>,
    /// When each node is to be drained, as it was rehearsed: from the beginning.
    rehearsed: BTreeMap<NodeName, Span>,
    /// What is waited for.
    waits: Waits,
}

impl Screen {
    pub(super) fn new(format: Format, dry_run: DryRun) -> Self {
        let form = Form::new(format, dry_run == DryRun::None);
        Self { form, dry_run, begun: None, rehearsed: BTreeMap::new(), waits: Waits::default() }
    }

    /// How long each node takes, as it was rehearsed.
    pub(super) fn rehearsed(&mut self, times: BTreeMap<NodeName, Span>) {
        self.rehearsed = times;
    }

    /// Whether lines are told, and not events.
    pub(super) fn is_text(&self) -> bool {
        self.form.is_text()
    }

    /// Tells something.
    pub(super) fn say(&mut self, at: Time, said: &Said) {
        let dry_run = self.dry_run;
        match &mut self.form {
            Form::Json => line(&said.event(at, dry_run).to_string()),
            Form::Lines => match said.line(dry_run) {
                Ok(text) => line(&text),
                Err(text) => error_line(&text),
            },
            Form::Table(table) => {
                // The table shows what becomes of pods and what is waited for.
                let text = match said {
                    Said::Asked { .. } | Said::Gone { .. } | Said::Waits { .. } => return,
                    Said::Marked { .. }
                    | Said::Warning { .. }
                    | Said::Refused { .. }
                    | Said::Drained { .. }
                    | Said::Left { .. } => said.line(dry_run),
                };
                table.say(&text.unwrap_or_else(|text| text));
            }
        }
    }

    /// Tells what is going to be waited for, once and for all.
    pub(super) fn foretell(&mut self, at: Time, waiting: &Waiting) {
        self.waits.foretold(at, waiting);
        self.say(at, &Said::Waits { waiting: waiting.clone() });
    }

    /// Tells text that is no event.
    pub(super) fn note(&mut self, text: &str) {
        match &mut self.form {
            Form::Json => {}
            Form::Lines => error_line(text),
            Form::Table(table) => table.say(text),
        }
    }

    /// Shows how far everything is; when it is to be shown again, whatever happens.
    pub(super) fn show(&mut self, now: Time, statuses: &[NodeStatus], waiting: &[Waiting]) -> Option<Time> {
        let begun = *self.begun.get_or_insert(now);
        match &mut self.form {
            Form::Json | Form::Lines => self.tell_waits(now, waiting),
            Form::Table(drawn) => {
                drawn.draw(&table(statuses, waiting, (begun, now), &self.rehearsed, drawn.width()));
                Some(now + RENEWED_EVERY)
            }
        }
    }

    /// The table stays as it was drawn last.
    pub(super) fn finish(&mut self) {
        self.form.finish();
    }

    /// Tells what has been waited for long enough; when to look next.
    fn tell_waits(&mut self, now: Time, waiting: &[Waiting]) -> Option<Time> {
        let told = waiting.iter().filter(|one| is_told(&one.on));
        let (due, next) = self.waits.due(now, told, |one| passes(&one.on));
        for one in due {
            self.say(now, &Said::Waits { waiting: one.clone() });
        }
        next
    }
}

/// Whether it may be over in a moment: a budget is, whenever a successor is Ready.
fn passes(on: &WaitingOn) -> bool {
    let is_budget = matches!(on, WaitingOn::Pod(PodWait::Budget { .. } | PodWait::BudgetUncounted { .. }));
    is_budget || on.hope() == Hope::Moving
}

/// Whether a person is told of it in a line: what passes by itself is not, and what becomes of a node is told otherwise.
fn is_told(on: &WaitingOn) -> bool {
    if let WaitingOn::Pod(on) = on {
        return !matches!(on, PodWait::Terminating { .. });
    }
    matches!(on, WaitingOn::PodEnd(_)) || on.hope() == Hope::None && !matches!(on, WaitingOn::DrainEnd(_))
}

fn table(
    statuses: &[NodeStatus],
    waiting: &[Waiting],
    (begun, now): (Time, Time),
    rehearsed: &BTreeMap<NodeName, Span>,
    width: usize,
) -> Vec<String> {
    let name = statuses.iter().map(|status| status.node.name.as_str().len()).max().unwrap_or(4).clamp(4, 40);
    let eta = !rehearsed.is_empty();
    let eta_head = if eta { "ETA     " } else { "" };
    let drained = statuses.iter().filter(|status| status.phase == Phase::Drained).count();
    let mut rows = vec![
        format!("{drained}/{} nodes drained, {} elapsed", statuses.len(), words::span(now - begun)),
        format!("{:name$}  {:<10} {:>4}  {eta_head}WAITS FOR", "NODE", "PHASE", "PODS"),
    ];
    for status in statuses.iter().take(ROWS_MAX) {
        let (on, next) = blocker(status, waiting);
        let eta = match (eta, rehearsed.get(&status.node.name)) {
            (false, _) => String::new(),
            (true, Some(_)) if status.phase == Phase::Drained => format!("{:<8}", "-"),
            (true, Some(at)) => format!("{:<8}", words::span((begun + *at - now).max(Span::ZERO))),
            (true, None) => format!("{:<8}", "?"),
        };
        let row = format!(
            "{:name$}  {:<10} {:>4}  {eta}{on}",
            status.node.name.as_str(),
            phase(&status.phase),
            status.pods.len()
        );
        rows.push(cut(&row, width));
        if let Some(next) = next {
            rows.push(cut(&format!("{:name$}  next: {next}", ""), width));
        }
    }
    if let Some(more) = statuses.len().checked_sub(ROWS_MAX).filter(|more| *more > 0) {
        rows.push(format!("and {more} more"));
    }
    rows
}

/// What keeps a node, in words, and what to do about it: of its pods the one that waiting helps least.
fn blocker(status: &NodeStatus, waiting: &[Waiting]) -> (String, Option<String>) {
    let own = waiting.iter().find(|one| one.what == Subject::Node(status.node.name.clone()));
    let is_own_end = own.is_some_and(|one| one.on.finality().is_some());
    let weight = |on: &WaitingOn| match on.hope() {
        Hope::None => 0,
        Hope::Possible => 1,
        Hope::Moving => 2,
    };
    let of = |pod: &Key| waiting.iter().find(|one| one.what == Subject::Pod(pod.clone()));
    let of_pods = status.pods.iter().filter_map(of).min_by_key(|one| weight(&one.on));
    let shown = if is_own_end { own } else { of_pods.or(own) };
    match shown {
        Some(one) if matches!(one.what, Subject::Pod(_)) => {
            (format!("{}: {}", one.what, one.on.reason()), remedy(&one.on))
        }
        Some(one) if matches!(one.on, WaitingOn::Drain(DrainWait::PodsLeft { .. })) => (String::new(), None),
        Some(one) => (one.on.reason().to_string(), remedy(&one.on)),
        None => (String::new(), None),
    }
}

fn phase(phase: &Phase) -> &'static str {
    match phase {
        Phase::Open => "open",
        Phase::Cordoned => "cordoned",
        Phase::Draining => "draining",
        Phase::Drained => "drained",
        Phase::Refused(_) => "refused",
        Phase::Ended(_) => "left",
    }
}

#[cfg(test)]
mod tests {
    use replank_protocol::command::NodeTarget;

    use super::*;

    #[test]
    fn a_table_names_what_keeps_each_node_with_its_numbers_and_the_next_step() {
        let at: Time = "2026-01-01T00:00:00Z".parse().expect("a time");
        let status = |name: &str, phase: Phase, pods: &[&str]| NodeStatus {
            node: NodeTarget { name: name.into(), uid: name.into() },
            phase,
            is_cordoned: true,
            pods: pods.iter().map(|pod| Key::new("shop", *pod)).collect(),
            from: Some(at),
        };
        let statuses =
            [status("n1", Phase::Draining, &["web-0"]), status("n2", Phase::Cordoned, &["web-1", "web-2"])];
        let budget = PodWait::Budget { budget: Key::new("shop", "web"), healthy: 2, needed: 2 };
        let waiting = [
            Waiting { what: Subject::Node("n1".into()), on: DrainWait::PodsLeft { pods: 1 }.into() },
            Waiting {
                what: Subject::Node("n2".into()),
                on: DrainWait::DrainTurn { active: 1, limit: 1 }.into(),
            },
            Waiting { what: Subject::Pod(Key::new("shop", "web-0")), on: budget.into() },
        ];
        let etas = BTreeMap::from([(NodeName::from("n1"), Span::from_secs(90))]);
        let rows = table(&statuses, &waiting, (at, at + Span::from_secs(30)), &etas, 120);
        assert_eq!(
            rows,
            [
                "0/2 nodes drained, 30s elapsed",
                "NODE  PHASE      PODS  ETA     WAITS FOR",
                "n1    draining      1  1m      pod shop/web-0: disruption budget shop/web: 2 healthy, 2 needed",
                "      next: it ends when more than 2 pods are healthy; if that never comes, scale the workload up, or relax the budget:…",
                "n2    cordoned      2  ?       its turn: 1 of at most 1 being drained",
            ]
        );
    }
}
