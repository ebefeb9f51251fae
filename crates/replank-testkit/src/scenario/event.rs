//! The section `events`: lines of a script ([`replank_sim::script`]); what somebody creates may be said in the shorthand of
//! the section `cluster`.

use replank_sim::script::{self, Hand, Origin, ScriptEvent, What};
use serde_json::Value;

use super::cluster::{self, Declared};
use super::file::Flaw;
use super::words::Line;

pub(super) fn read(lines: &[(usize, &str)]) -> Result<Vec<ScriptEvent>, Flaw> {
    lines.iter().map(|(number, text)| one(*number, text)).collect()
}

fn one(line: usize, text: &str) -> Result<ScriptEvent, Flaw> {
    let flaw = |flaw: script::Flaw| Flaw::new(line, flaw.message);
    let (when, words, column) = script::moment_and_words(line, text).map_err(flaw)?;
    let in_shorthand = words.strip_prefix("somebody creates ").filter(|rest| !rest.starts_with(['{', '[']));
    let what = match in_shorthand {
        Some(rest) => What::Hand(Hand::Create(creation(line, rest)?)),
        None => script::what_of(line, column, words).map_err(flaw)?,
    };
    Ok(ScriptEvent { origin: Origin::Script, line, when, text: words.to_owned(), what })
}

/// Whether something that happens before the roll is to come true in the cluster that the roll finds, or in the roll itself.
pub(super) fn is_of_the_roll(what: &What) -> bool {
    match what {
        // Kubelets' faults and the run's intents are in no object that the roll could find.
        What::Image(..) | What::Intend(_) | What::Restart => true,
        // Nor are a queue and its messages, hooks, or health: groups are learnt from nodes.
        What::Cloud(..)
        | What::Some(..)
        | What::Post(_)
        | What::Queue(_)
        | What::Capacity(..)
        | What::Hazard(_)
        | What::Status(..)
        | What::Targets(..)
        | What::UnhealthyTarget(_)
        | What::Hand(
            Hand::Hook(..)
            | Hand::Ways(..)
            | Hand::NewVersion(..)
            | Hand::DefaultVersion(_)
            | Hand::Follow(..)
            | Hand::Protect(..)
            | Hand::Health(..)
            | Hand::RegisterTargets(_),
        ) => true,
        What::Pod(..) | What::Pods(..) | What::Silence(_) | What::Wake(_) | What::Hand(_) => false,
    }
}

fn creation(line: usize, text: &str) -> Result<Vec<Value>, Flaw> {
    Ok(match cluster::declared(&Line::read(line, text)?)? {
        Declared::Workload(workload, mut objects) => {
            objects.extend(workload.object(workload.count));
            objects.extend(workload.own_pods());
            objects
        }
        Declared::Object(object) => vec![object],
    })
}
