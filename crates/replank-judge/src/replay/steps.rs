//! A rehearsal as a list of things to do, by time.

use super::moment::Moment;

use super::recorded::{NodeLine, Rehearsal, ScriptEvent};

/// Something to do, or to have seen, at a moment of the rehearsal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    pub(super) at: Moment,
    pub(super) what: What<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What<'a> {
    /// The pod of an eviction is gone.
    Gone(usize),
    /// The successor of an eviction is Ready.
    Ready(usize),
    /// A new node is Ready.
    Join(&'a NodeLine),
    /// Nodes are marked unschedulable.
    Cordon(&'a str),
    /// And schedulable again.
    Uncordon(&'a str),
    /// An eviction is asked for.
    Evict(usize),
    /// An instance is terminated.
    Silence(&'a str),
    /// A node object is deleted.
    Leave(&'a str),
}

impl What<'_> {
    /// What comes first within one second: what was seen, then what is done.
    fn rank(self) -> u8 {
        match self {
            Self::Gone(_) => 0,
            Self::Ready(_) => 1,
            Self::Join(_) => 2,
            Self::Cordon(_) => 3,
            Self::Uncordon(_) => 4,
            Self::Evict(_) => 5,
            Self::Silence(_) => 6,
            Self::Leave(_) => 7,
        }
    }
}

/// All steps, in order.
pub(super) fn steps(rehearsal: &Rehearsal) -> Vec<Step<'_>> {
    let mut all = Vec::new();
    for (index, eviction) in rehearsal.evictions.iter().enumerate() {
        all.push(Step { at: eviction.at, what: What::Evict(index) });
        all.extend(eviction.gone.map(|at| Step { at, what: What::Gone(index) }));
        let ready = eviction.successor.as_ref().and_then(|successor| successor.ready);
        all.extend(ready.map(|at| Step { at, what: What::Ready(index) }));
    }
    for line in &rehearsal.timeline {
        all.extend(of_node(line));
    }
    for event in &rehearsal.script_events {
        all.extend(by_hand(event));
    }
    all.sort_by_key(|step| (step.at, step.what.rank()));
    all
}

/// Cordons of a script: the timeline has those of a roll only. Evictions of a drain are among the rehearsal's.
fn by_hand(event: &ScriptEvent) -> Vec<Step<'_>> {
    let Some(("somebody", rest)) = event.what.split_once(' ').filter(|_| event.refused.is_none()) else {
        return Vec::new();
    };
    let Some((does, nodes)) = rest.split_once(' ') else { return Vec::new() };
    let nodes = nodes.split(',').map(str::trim);
    let what: Vec<What<'_>> = match does {
        "cordons" | "drains" => nodes.map(What::Cordon).collect(),
        "uncordons" => nodes.map(What::Uncordon).collect(),
        _ => Vec::new(),
    };
    what.into_iter().map(|what| Step { at: event.at, what }).collect()
}

fn of_node(line: &NodeLine) -> Vec<Step<'_>> {
    let Some(name) = line.node.as_deref() else { return Vec::new() };
    let mut steps = Vec::new();
    let (mut cordoned, mut silent) = (false, false);
    for phase in &line.phases {
        let what = match phase.phase.as_str() {
            "ready" if !line.old => Some(What::Join(line)),
            "cordoned" | "draining" if !cordoned => {
                cordoned = true;
                Some(What::Cordon(name))
            }
            "serving" if cordoned => {
                cordoned = false;
                Some(What::Uncordon(name))
            }
            "terminating" => {
                silent = true;
                Some(What::Silence(name))
            }
            "gone" if silent => Some(What::Leave(name)),
            "gone" => {
                steps.push(Step { at: phase.at, what: What::Silence(name) });
                Some(What::Leave(name))
            }
            _ => None,
        };
        steps.extend(what.map(|what| Step { at: phase.at, what }));
    }
    steps
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_script_cordons_is_cordoned() {
        let event = |what: &str, refused: Option<&str>| json!({"at": "2026-11-20T08:00:05Z", "origin": "script", "line": 1, "side": "hand", "what": what, "refused": refused});
        let rehearsal: Rehearsal = serde_json::from_value(json!({
            "verdict": "passes", "start": "2026-11-20T08:00:00Z", "virtualDurationMs": 0,
            "nodes": {"total": 0, "replaced": 0}, "workloads": [], "blockers": [], "timeline": [],
            "evictions": [{"at": "2026-11-20T08:00:05Z", "namespace": "a", "pod": "b"}],
            "scriptEvents": [
                event("somebody drains a, b", None), event("somebody uncordons a", None),
                event("somebody drains c", Some("pod shop/alone has no controller")), event("somebody deletes pod a/b", None),
            ],
        }))
        .expect("it is a rehearsal");
        let told: Vec<String> = steps(&rehearsal).iter().map(|step| format!("{:?}", step.what)).collect();
        assert_eq!(told, ["Cordon(\"a\")", "Cordon(\"b\")", "Uncordon(\"a\")", "Evict(0)"]);
    }
}
