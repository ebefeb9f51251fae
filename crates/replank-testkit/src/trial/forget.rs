//! An engine around core that forgets: no decision may depend on what is cached.
//!
//! A core that knows nothing but what was observed is put in the place of the one in charge, at random decisions. What may not
//! be forgotten without a trace is what was sent and is not seen yet: it would be sent once more, under the same key. So
//!
//! - where nothing is under way, the fresh core takes over, and nothing at all may differ in the run ([`Forgetful`]);
//! - where something is, the fresh core is asked beside the other one: it must want the same, and again what is under
//!   way ([`Forgetful::differences`]).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use replank_core::Core;
use replank_model::delta::Delta;
use replank_model::object::cloud::NodeGroup;
use replank_model::time::{Span, Time};
use replank_protocol::command::{Command, CommandKey, Outcome};
use replank_protocol::decision::Decision;
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;
use replank_protocol::mark;

use super::{Cores, everything};
use replank_oracle::sched_random::Random;
use replank_protocol::command::Answer;

/// After which an effect has been seen: watches lag by two seconds.
const SEEN_WITHIN: Span = Span::from_secs(5);
/// After which a refused command has been tried again.
const RETRIED_WITHIN: Span = Span::from_secs(65);
/// One of which nobody knows what became of it keeps its claim for so long.
const UNKNOWN_FOR: Span = Span::from_secs(125);

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Forgotten {
    /// How often a fresh core took over.
    pub replaced: usize,
    /// How often one was asked beside the other.
    pub asked: usize,
    /// Where it wanted something else.
    pub differences: Vec<String>,
}

/// See the module's page.
pub struct Forgetful {
    core: Core,
    cores: Cores,
    random: Random,
    /// Keys of commands that were sent at any time: a fresh core may want these once more.
    sent: BTreeSet<CommandKey>,
    /// Commands without an answer.
    flying: BTreeSet<CommandKey>,
    /// Until when effects of what was carried out may not be seen yet, or what was refused rests.
    busy_until: Time,
    found: Rc<RefCell<Forgotten>>,
}

impl Forgetful {
    /// Forgets as chance will have it.
    #[must_use]
    pub fn new(core: Core, cores: Cores, random: Random, found: Rc<RefCell<Forgotten>>) -> Self {
        Self {
            core,
            cores,
            random,
            sent: BTreeSet::new(),
            flying: BTreeSet::new(),
            busy_until: Time::from_millis(0),
            found,
        }
    }

    /// A core that has observed the same and decided nothing.
    fn fresh(&self) -> Core {
        let mut core = self.cores.fresh();
        // What is there, not how it came to be: as after a restart.
        everything(self.core.view()).into_iter().for_each(|delta| core.observe(delta));
        core
    }

    /// Whether the run has halted, is to go back, and has not yet written that the way back has begun: a process that starts anew then
    /// releases once more what is released already, and only then goes back.
    fn is_between_ways(&self) -> bool {
        let groups = self.core.view().groups().values();
        let halted = groups.filter(|group| group.tags.contains_key(mark::HALTED));
        let has_begun = |group: &NodeGroup| group.tags.iter().any(|(_, value)| value.contains("-back "));
        self.cores.goes_back() && halted.clone().count() > 0 && !halted.clone().any(|group| has_begun(group))
    }

    fn compare(&mut self, now: Time, ours: &Decision, fresh: &Decision) {
        let mut found = self.found.borrow_mut();
        found.asked += 1;
        let is_again =
            |command: &&Command| self.sent.contains(&command.key) && !ours.commands.contains(command);
        let more: Vec<&Command> = fresh.commands.iter().filter(|command| !is_again(command)).collect();
        let wanted: Vec<&Command> = ours.commands.iter().collect();
        if more != wanted {
            found.differences.push(format!("at {now}: wanted {wanted:?}, from scratch {more:?}"));
        }
    }
}

impl Engine for Forgetful {
    fn observe(&mut self, delta: Delta) {
        self.core.observe(delta);
    }

    fn stands_by(&self) -> bool {
        self.core.stands_by()
    }

    fn outcome(&mut self, outcome: Outcome) {
        self.flying.remove(&outcome.key);
        let rests = match outcome.answer {
            Answer::Done => SEEN_WITHIN,
            Answer::Unknown { .. } => UNKNOWN_FOR,
            Answer::Refused(_) => RETRIED_WITHIN,
        };
        self.busy_until = self.busy_until.max(outcome.at + rests);
        self.core.outcome(&outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        let is_quiet = now > self.busy_until && self.flying.is_empty();
        let is_one_way = !self.is_between_ways();
        let decision = if self.random.percent(20) && is_quiet && is_one_way {
            self.found.borrow_mut().replaced += 1;
            self.core = self.fresh();
            self.core.decide(now)
        } else if self.random.percent(20) && is_one_way {
            let fresh = self.fresh().decide(now);
            let decision = self.core.decide(now);
            self.compare(now, &decision, &fresh);
            decision
        } else {
            self.core.decide(now)
        };
        for command in &decision.commands {
            self.sent.insert(command.key.clone());
            self.flying.insert(command.key.clone());
        }
        decision
    }

    fn intend(&mut self, intent: Intent) {
        self.core.intend(intent);
    }

    fn start_anew(&mut self) {
        self.core.start_anew();
        self.flying.clear();
    }
}
