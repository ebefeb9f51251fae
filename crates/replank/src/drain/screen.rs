//! Where it is told: a table that renews itself, lines, or events.

use std::collections::BTreeMap;

use replank_core::drain::{DryRun, NodeStatus, Phase};
use replank_model::object::meta::Key;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_protocol::wait_list::WaitList;
use replank_protocol::waiting::{DrainWait, Hope, PodWait, Subject, Waiting, WaitingOn};

use super::eta::{ByGrace, Expected};
use super::remedy::remedy;
use super::said::Said;
use crate::live::{Form, RENEWED_EVERY, Waits, error_line, event_line, fitting, line};
use crate::output::EventsFormat;
use crate::report::{cut, words, wrap};
use crate::zone::times;

/// See the module's page.
pub(super) struct Screen {
    form: Form,
    dry_run: DryRun,
    begun: Option<Time>,
    /// When each node is to be drained.
    expected: Expected,
    /// What is waited for.
    waits: Waits,
}

impl Screen {
    pub(super) fn new(format: EventsFormat, dry_run: DryRun) -> Self {
        let form = Form::new(format, dry_run == DryRun::None);
        Self {
            form,
            dry_run,
            begun: None,
            expected: Expected::Grace(BTreeMap::new()),
            waits: Waits::default(),
        }
    }

    /// How long each node takes, as it was rehearsed.
    pub(super) fn rehearsed(&mut self, times: BTreeMap<NodeName, Span>) {
        self.expected = Expected::Rehearsed(times);
    }

    /// Whether lines are told, and not events.
    pub(super) fn is_text(&self) -> bool {
        self.form.is_text()
    }

    /// Tells something.
    pub(super) fn say(&mut self, at: Time, said: &Said) {
        let dry_run = self.dry_run;
        match &mut self.form {
            Form::Json => event_line(&said.event(at, dry_run)),
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

    /// Shows how far everything is; when it is to be shown again, whatever happens. `by_grace` is asked where nothing better is known.
    pub(super) fn show(
        &mut self,
        now: Time,
        statuses: &[NodeStatus],
        waiting: &WaitList,
        by_grace: impl FnOnce() -> BTreeMap<NodeName, ByGrace>,
    ) -> Option<Time> {
        let begun = *self.begun.get_or_insert(now);
        match &mut self.form {
            Form::Json | Form::Lines => self.tell_waits(now, waiting),
            Form::Table(drawn) => {
                if let Expected::Grace(all) = &mut self.expected {
                    *all = by_grace();
                }
                drawn.draw(&table(statuses, waiting, (begun, now), &self.expected, drawn.room()));
                Some(now + RENEWED_EVERY)
            }
        }
    }

    /// The table stays as it was drawn last.
    pub(super) fn finish(&mut self) {
        self.form.finish();
    }

    /// Tells what has been waited for long enough; when to look next.
    fn tell_waits(&mut self, now: Time, waiting: &WaitList) -> Option<Time> {
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
    waiting: &WaitList,
    (begun, now): (Time, Time),
    expected: &Expected,
    (lines, width): (usize, usize),
) -> Vec<String> {
    let name = statuses.iter().map(|status| status.node.name.as_str().len()).max().unwrap_or(4).clamp(4, 40);
    let drained = statuses.iter().filter(|status| status.phase == Phase::Drained).count();
    let elapsed = words::span(now - begun);
    let head =
        format!("{drained}/{} nodes drained, {elapsed} elapsed; {}", statuses.len(), expected.source());
    let mut all = vec![
        cut(&head, width),
        cut(&format!("{:name$}  {:<10} {:>4}  {:<8}WAITS FOR", "NODE", "PHASE", "PODS", "ETA"), width),
    ];
    let mut rows = Vec::new();
    for status in statuses {
        let (on, next) = blocker(status, waiting);
        let on = times(&on);
        let head = format!(
            "{:name$}  {:<10} {:>4}  {:<8}",
            status.node.name.as_str(),
            phase(&status.phase),
            status.pods.len(),
            expected.of(status, (begun, now)),
        );
        let mut shown = below(&head, &on, name + 2, width);
        if let Some(next) = next {
            shown.extend(below(&format!("{:name$}  next: ", ""), &next, name + 2, width));
        }
        rows.push((rank(&status.phase), shown));
    }
    all.extend(fitting(rows, lines.saturating_sub(all.len())));
    all
}

/// A text after the head of its first line, in as many lines as it needs: what is to be done about it must not be cut off.
fn below(head: &str, text: &str, indent: usize, width: usize) -> Vec<String> {
    let room = width.saturating_sub(head.chars().count());
    if text.chars().count() <= room {
        return vec![cut(format!("{head}{text}").trim_end(), width)];
    }
    let mut words = text.split(' ').peekable();
    let mut first = head.to_owned();
    while let Some(word) = words.next_if(|word| first.chars().count() + word.chars().count() <= width) {
        first = format!("{first}{word} ");
    }
    let rest = words.collect::<Vec<_>>().join(" ");
    let more = wrap(&rest, width.saturating_sub(indent).max(1));
    let more = more.iter().map(|line| cut(&format!("{:indent$}{line}", ""), width));
    [cut(first.trim_end(), width)].into_iter().chain(more).collect()
}

/// What is looked at first where not all nodes find room.
fn rank(phase: &Phase) -> u8 {
    match phase {
        Phase::Draining => 0,
        Phase::Refused(_) | Phase::Ended(_) => 1,
        Phase::Cordoned => 2,
        Phase::Open => 3,
        Phase::Drained => 4,
    }
}

/// What keeps a node, in words, and what to do about it: of its pods the one that waiting helps least.
fn blocker(status: &NodeStatus, waiting: &WaitList) -> (String, Option<String>) {
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
        let waiting = WaitList::from_iter([
            Waiting { what: Subject::Node("n1".into()), on: DrainWait::PodsLeft { pods: 1 }.into() },
            Waiting {
                what: Subject::Node("n2".into()),
                on: DrainWait::DrainTurn { active: 1, limit: 1 }.into(),
            },
            Waiting { what: Subject::Pod(Key::new("shop", "web-0")), on: budget.into() },
        ]);
        let etas = BTreeMap::from([(NodeName::from("n1"), Span::from_secs(90))]);
        let now = at + Span::from_secs(30);
        let rows = table(&statuses, &waiting, (at, now), &Expected::Rehearsed(etas), (30, 120));
        assert_eq!(
            rows,
            [
                "0/2 nodes drained, 30s elapsed; ETA as rehearsed",
                "NODE  PHASE      PODS  ETA     WAITS FOR",
                "n1    draining      1  1m      pod shop/web-0: disruption budget shop/web: 2 healthy, 2 needed",
                "      next: it ends when more than 2 pods are healthy; if that never comes, scale the workload up, or relax the budget:",
                "      kubectl -n shop edit pdb web",
                "n2    cordoned      2  ?       its turn: 1 of at most 1 being drained",
            ]
        );
    }

    #[test]
    fn what_finds_no_room_is_counted_and_what_is_drained_is_left_out_first() {
        let at: Time = "2026-01-01T00:00:00Z".parse().expect("a time");
        let status = |number: usize| NodeStatus {
            node: NodeTarget { name: format!("n{number}").as_str().into(), uid: "u".into() },
            phase: if number < 9 { Phase::Drained } else { Phase::Cordoned },
            is_cordoned: true,
            pods: Vec::new(),
            from: None,
        };
        let statuses: Vec<NodeStatus> = (0..12).map(status).collect();
        let expected = Expected::Rehearsed(BTreeMap::from([("n9".into(), Span::from_secs(10))]));
        let rows = table(&statuses, &WaitList::default(), (at, at + Span::from_secs(30)), &expected, (7, 60));
        assert_eq!(rows.len(), 7, "{rows:?}");
        let shown: Vec<&str> =
            rows[2..].iter().map(|row| row.split(' ').next().unwrap_or_default()).collect();
        assert_eq!(shown, ["n9", "n10", "n11", "n0", "and"], "{rows:?}");
        assert!(rows[2].contains("20s late") && rows[6] == "and 8 more", "{rows:?}");
    }
}
