//! The words of a line.

use std::collections::VecDeque;

use replank_model::object::Kind;
use replank_model::object::cloud::{Market, TerminationPolicy};
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, Text, Zone};
use replank_model::time::Span;
use serde_json::Value;

use crate::cloud::{Capacity, Rate};
use crate::kubelet::NodeTrouble;
use replank_model::object::cloud::ScalingProcess;

/// Why taking an argument cannot fail.
const AS_THE_FORM_SAYS: &str = "a form takes what its pattern has, in order";

/// What stands in the places of a form.
#[derive(Debug, Default)]
pub(super) struct Args(pub(super) VecDeque<Arg>);

#[derive(Debug)]
pub(super) enum Arg {
    Word(String),
    Key(Key),
    Kind(Kind),
    Count(u32),
    Code(i32),
    Span(Span),
    Pair(String, String),
    Json(Value),
    Objects(Vec<Value>),
    Market(Option<Market>),
    Rate(Rate),
    Process(ScalingProcess),
    Policies(Vec<TerminationPolicy>),
    Trouble(NodeTrouble),
}

impl Args {
    pub(super) fn word(&mut self) -> String {
        match self.0.pop_front() {
            Some(Arg::Word(word)) => word,
            other => panic!("{AS_THE_FORM_SAYS}: {other:?}"),
        }
    }

    /// One or several with commas between them.
    pub(super) fn words(&mut self) -> Vec<String> {
        self.word().split(',').map(str::to_owned).collect()
    }

    pub(super) fn text(&mut self) -> Text {
        Text::from(self.word())
    }

    pub(super) fn group(&mut self) -> GroupName {
        GroupName::from(self.word().as_str())
    }

    pub(super) fn key(&mut self) -> Key {
        match self.0.pop_front() {
            Some(Arg::Key(key)) => key,
            other => panic!("{AS_THE_FORM_SAYS}: {other:?}"),
        }
    }

    pub(super) fn kind(&mut self) -> Kind {
        match self.0.pop_front() {
            Some(Arg::Kind(kind)) => kind,
            other => panic!("{AS_THE_FORM_SAYS}: {other:?}"),
        }
    }

    pub(super) fn count(&mut self) -> u32 {
        match self.0.pop_front() {
            Some(Arg::Count(count)) => count,
            other => panic!("{AS_THE_FORM_SAYS}: {other:?}"),
        }
    }

    pub(super) fn code(&mut self) -> i32 {
        match self.0.pop_front() {
            Some(Arg::Code(code)) => code,
            other => panic!("{AS_THE_FORM_SAYS}: {other:?}"),
        }
    }

    pub(super) fn span(&mut self) -> Span {
        match self.0.pop_front() {
            Some(Arg::Span(span)) => span,
            other => panic!("{AS_THE_FORM_SAYS}: {other:?}"),
        }
    }

    pub(super) fn trouble(&mut self) -> NodeTrouble {
        match self.0.pop_front() {
            Some(Arg::Trouble(trouble)) => trouble,
            other => panic!("{AS_THE_FORM_SAYS}: {other:?}"),
        }
    }

    pub(super) fn pair(&mut self) -> (String, String) {
        match self.0.pop_front() {
            Some(Arg::Pair(key, value)) => (key, value),
            other => panic!("{AS_THE_FORM_SAYS}: {other:?}"),
        }
    }

    pub(super) fn json(&mut self) -> Value {
        match self.0.pop_front() {
            Some(Arg::Json(value)) => value,
            other => panic!("{AS_THE_FORM_SAYS}: {other:?}"),
        }
    }

    /// A market, a type and a zone.
    pub(super) fn capacity(&mut self) -> Capacity {
        let market = match self.0.pop_front() {
            Some(Arg::Market(market)) => market,
            other => panic!("{AS_THE_FORM_SAYS}: {other:?}"),
        };
        Capacity { market, instance_type: self.any_text(), zone: self.any_zone() }
    }

    /// `None` is any.
    pub(super) fn any_text(&mut self) -> Option<Text> {
        Some(self.text()).filter(|word| **word != *"any")
    }

    /// `None` is any.
    pub(super) fn any_zone(&mut self) -> Option<Zone> {
        self.any_text().map(Zone::new)
    }

    pub(super) fn rate(&mut self) -> Rate {
        match self.0.pop_front() {
            Some(Arg::Rate(rate)) => rate,
            other => panic!("{AS_THE_FORM_SAYS}: {other:?}"),
        }
    }

    pub(super) fn process(&mut self) -> ScalingProcess {
        match self.0.pop_front() {
            Some(Arg::Process(process)) => process,
            other => panic!("{AS_THE_FORM_SAYS}: {other:?}"),
        }
    }

    pub(super) fn policies(&mut self) -> Vec<TerminationPolicy> {
        match self.0.pop_front() {
            Some(Arg::Policies(policies)) => policies,
            other => panic!("{AS_THE_FORM_SAYS}: {other:?}"),
        }
    }

    pub(super) fn objects(&mut self) -> Vec<Value> {
        match self.0.pop_front() {
            Some(Arg::Objects(objects)) => objects,
            other => panic!("{AS_THE_FORM_SAYS}: {other:?}"),
        }
    }
}
