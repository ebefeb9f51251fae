//! What the tags of groups say, as they are written and read.
//!
//! A tag's value is its version, the run's name and `key=value` pairs behind it: `v1 web nodes=12 surge=2`. A value that cannot be read is nobody's, or a
//! newer Replank's ([`super::version`]).

use std::collections::BTreeMap;
use std::fmt;

use replank_model::object::cloud::{GroupSize, LaunchTemplateRef, ScalingProcess, VersionWord};
use replank_model::text::{RunId, Text};
use replank_model::time::Time;
use serde::{Deserialize, Serialize};

use super::version::{known, written};

/// The run and the pairs behind it, of which all keys are known; `None` where another version wrote it.
pub(super) fn pairs<'t>(text: &'t str, keys: &[&str]) -> Option<(RunId, BTreeMap<&'t str, &'t str>)> {
    let mut rest = known(text)?;
    let mut pairs = BTreeMap::new();
    while let Some((head, pair)) = rest.rsplit_once(' ')
        && let Some((key, value)) = pair.split_once('=')
        && keys.contains(&key)
        && !pairs.contains_key(key)
    {
        pairs.insert(key, value);
        rest = head;
    }
    Some((RunId::from(rest), pairs))
}

fn number<T: std::str::FromStr>(pairs: &BTreeMap<&str, &str>, key: &str) -> Option<T> {
    pairs.get(key)?.parse().ok()
}

/// What [`super::BEGUN`] says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Begun {
    /// The run.
    pub run: RunId,
    /// Nodes that it replaces.
    pub nodes: u32,
    /// By how many it raised the group.
    pub surge: u32,
    /// How many more instances than before the group may want for the run's sake at any time: the surge, and nodes that are kept beside those in their
    /// places, or move in from other groups.
    pub extra: u32,
    /// How many of the nodes were dead when it began: they are no part of its stages.
    pub dead: u32,
}

impl Begun {
    /// As it is written.
    #[must_use]
    pub fn to_text(&self) -> Text {
        let Self { run, nodes, surge, extra, dead } = self;
        let extra = if extra == surge { String::new() } else { format!(" extra={extra}") };
        let dead = if *dead == 0 { String::new() } else { format!(" dead={dead}") };
        Text::from(written(&format!("{run} nodes={nodes} surge={surge}{extra}{dead}")))
    }

    /// As it is read; `None` for anything else.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (run, pairs) = pairs(text, &["nodes", "surge", "extra", "dead"])?;
        let surge = number(&pairs, "surge")?;
        let extra = number(&pairs, "extra").unwrap_or(surge);
        let dead = number(&pairs, "dead").unwrap_or(0);
        Some(Self { run, nodes: number(&pairs, "nodes")?, surge, extra, dead })
    }
}

/// What [`super::HALTED`] says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Halted {
    /// The run.
    pub run: RunId,
    /// When it halted.
    pub at: Time,
    /// Why.
    pub why: Halt,
}

/// Why a run ended without being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Halt {
    /// Only a person could have helped.
    Hopeless,
    /// Nothing had moved for as long as the plan allows.
    Stalled {
        /// Since when.
        since: Time,
    },
    /// The plan's deadline had passed.
    Deadline,
    /// Things had become worse than the plan allows.
    Unhealthy(Ailment),
    /// A person wanted it to end.
    Cancelled,
    /// A person wanted everything to be as before.
    Undone,
}

/// More pods, or nodes, are in a bad way than may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ailment {
    /// In which way.
    pub illness: Illness,
    /// Of what is counted.
    pub whose: Whose,
    /// How many there are.
    pub found: u32,
    /// How many there may be: the plan's number, and what there was before the run.
    pub max: u32,
}

/// A bad way that pods or nodes are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Illness {
    /// A container is in `CrashLoopBackOff`.
    CrashLooping,
    /// A container ends again and again, though seldom enough for the kubelet not to let it rest.
    Restarting,
    /// A pod does not end though its grace is long over.
    StuckTerminating,
    /// A pod that is kept up is not Ready for long.
    NotReady,
    /// A condition of a new node says that it is in a bad way.
    NodeCondition,
    /// A new node is not of use for long.
    NodeNotReady,
}

/// Of what is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Whose {
    /// New nodes, and pods on them.
    New,
    /// The whole cluster's pods.
    All,
}

const ILLNESSES: [(Illness, &str, &str); 6] = [
    (Illness::CrashLooping, "crashLooping", "pods in CrashLoopBackOff"),
    (Illness::Restarting, "restarting", "pods restarting again and again"),
    (Illness::StuckTerminating, "stuckTerminating", "pods stuck in Terminating"),
    (Illness::NotReady, "notReady", "pods not Ready"),
    (Illness::NodeCondition, "nodeCondition", "nodes with a bad condition"),
    (Illness::NodeNotReady, "nodeNotReady", "nodes not Ready"),
];

impl Illness {
    fn row(self) -> &'static (Illness, &'static str, &'static str) {
        ILLNESSES.iter().find(|(illness, ..)| *illness == self).expect("every illness has a row")
    }

    /// One word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.row().1
    }
}

/// Of one pod or node: `stuck in Terminating`.
impl fmt::Display for Illness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.row().2;
        f.pad(words.split_once(' ').map_or(words, |(_, rest)| rest))
    }
}

impl fmt::Display for Ailment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { illness, whose, found, max } = self;
        let what = illness.row().2;
        let of = match (illness, whose) {
            (Illness::NodeCondition | Illness::NodeNotReady, Whose::New) => "among the new nodes",
            (
                Illness::CrashLooping | Illness::Restarting | Illness::StuckTerminating | Illness::NotReady,
                Whose::New,
            ) => "on new nodes",
            (_, Whose::All) => "in the cluster",
        };
        match (found, what.split_once("s ")) {
            (1, Some((noun, rest))) => write!(f, "1 {noun} {rest} {of}, the plan allows {max}"),
            (_, _) => write!(f, "{found} {what} {of}, the plan allows {max}"),
        }
    }
}

impl Halt {
    fn to_text(self) -> String {
        match self {
            Self::Hopeless => "why=hopeless".to_owned(),
            Self::Stalled { since } => format!("why=stalled since={since}"),
            Self::Deadline => "why=deadline".to_owned(),
            Self::Unhealthy(Ailment { illness, whose, found, max }) => {
                let whose = match whose {
                    Whose::New => "new",
                    Whose::All => "all",
                };
                format!("why=unhealthy of={whose} {}={found} max={max}", illness.as_str())
            }
            Self::Cancelled => "why=cancelled".to_owned(),
            Self::Undone => "why=undone".to_owned(),
        }
    }

    fn read(pairs: &BTreeMap<&str, &str>) -> Option<Self> {
        Some(match *pairs.get("why")? {
            "hopeless" => Self::Hopeless,
            "stalled" => Self::Stalled { since: number(pairs, "since")? },
            "deadline" => Self::Deadline,
            "unhealthy" => {
                let whose = match *pairs.get("of")? {
                    "new" => Whose::New,
                    "all" => Whose::All,
                    _ => return None,
                };
                let (illness, word, _) = ILLNESSES.iter().find(|(_, word, _)| pairs.contains_key(word))?;
                let found = number(pairs, word)?;
                Self::Unhealthy(Ailment { illness: *illness, whose, found, max: number(pairs, "max")? })
            }
            "cancelled" => Self::Cancelled,
            "undone" => Self::Undone,
            _ => return None,
        })
    }
}

impl Halted {
    /// As it is written.
    #[must_use]
    pub fn to_text(&self) -> Text {
        Text::from(written(&format!("{} at={} {}", self.run, self.at, self.why.to_text())))
    }

    /// As it is read; `None` for anything else.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut keys = vec!["at", "why", "since", "of", "max"];
        keys.extend(ILLNESSES.iter().map(|(_, word, _)| *word));
        let (run, pairs) = pairs(text, &keys)?;
        Some(Self { run, at: number(&pairs, "at")?, why: Halt::read(&pairs)? })
    }
}

/// What [`super::HEALTH`] says: pods of the cluster in a bad way when the run began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Before {
    /// The run.
    pub run: RunId,
    /// Pods in `CrashLoopBackOff`.
    pub crash_looping: u32,
    /// Pods stuck in Terminating.
    pub stuck_terminating: u32,
    /// Pods not Ready.
    pub not_ready: u32,
    /// Pods that restart again and again, those of DaemonSets aside; none where an earlier Replank wrote it.
    pub restarting: u32,
}

impl Before {
    /// As it is written.
    #[must_use]
    pub fn to_text(&self) -> Text {
        let Self { run, crash_looping, stuck_terminating, not_ready, restarting } = self;
        let restarting = if *restarting == 0 { String::new() } else { format!(" restarting={restarting}") };
        Text::from(written(&format!(
            "{run} crashLooping={crash_looping} stuckTerminating={stuck_terminating} notReady={not_ready}{restarting}"
        )))
    }

    /// As it is read; `None` for anything else.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (run, pairs) = pairs(text, &["crashLooping", "stuckTerminating", "notReady", "restarting"])?;
        Some(Self {
            run,
            crash_looping: number(&pairs, "crashLooping")?,
            stuck_terminating: number(&pairs, "stuckTerminating")?,
            not_ready: number(&pairs, "notReady")?,
            restarting: number(&pairs, "restarting").unwrap_or(0),
        })
    }
}

/// What tags of [`super::STAGE`] and [`super::RETAINED`] say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Until {
    /// The run.
    pub run: RunId,
    /// Until when it stands still, or keeps what was replaced.
    pub until: Time,
}

impl Until {
    /// As it is written.
    #[must_use]
    pub fn to_text(&self) -> Text {
        Text::from(written(&format!("{} until={}", self.run, self.until)))
    }

    /// As it is read; `None` for anything else.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (run, pairs) = pairs(text, &["until"])?;
        Some(Self { run, until: number(&pairs, "until")? })
    }
}

/// What tags of [`super::PAUSED`] and [`super::RESUMED`] say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Moment {
    /// The run.
    pub run: RunId,
    /// When a pause of it began, or ended.
    pub at: Time,
}

impl Moment {
    /// As it is written.
    #[must_use]
    pub fn to_text(&self) -> Text {
        Text::from(written(&format!("{} at={}", self.run, self.at)))
    }

    /// As it is read; `None` for anything else.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (run, pairs) = pairs(text, &["at"])?;
        Some(Self { run, at: number(&pairs, "at")? })
    }
}

/// A process as [`super::SUSPENDED`] has it.
#[must_use]
pub fn process_tag(process: ScalingProcess) -> Text {
    Text::from(written(process.as_str()))
}

/// What [`super::SUSPENDED`] says; `None` for anything else.
#[must_use]
pub fn read_process(text: &str) -> Option<ScalingProcess> {
    ScalingProcess::of(known(text)?)
}

/// What [`super::PROTECTED`] says: the run.
#[must_use]
pub fn protected_tag(run: &RunId) -> Text {
    Text::from(written(run.as_str()))
}

/// The run that such a tag names; `None` where another version wrote it.
#[must_use]
pub fn protected_by(text: &str) -> Option<RunId> {
    known(text).filter(|run| !run.is_empty()).map(RunId::from)
}

/// A launch template's version as [`super::ORIGINAL_TEMPLATE`] has it.
#[must_use]
pub fn template_tag(version: &LaunchTemplateRef, follows: Option<VersionWord>) -> Text {
    // A tag's value may not contain a `$`.
    let word = follows.map(|word| format!(" {}", word.as_str().trim_start_matches('$'))).unwrap_or_default();
    Text::from(written(&format!("{version}{word}")))
}

/// What [`super::ORIGINAL_TEMPLATE`] says; `None` for anything else.
#[must_use]
pub fn read_template(text: &str) -> Option<LaunchTemplateRef> {
    version_and_word(text).map(|(version, _)| version)
}

/// The word by which the group named that version, if it did.
#[must_use]
pub fn read_followed(text: &str) -> Option<VersionWord> {
    version_and_word(text)?.1
}

fn version_and_word(text: &str) -> Option<(LaunchTemplateRef, Option<VersionWord>)> {
    let value = known(text)?;
    let word = VersionWord::ALL.into_iter().find_map(|word| {
        let version = value.strip_suffix(word.as_str().trim_start_matches('$'))?.strip_suffix(' ')?;
        Some((version, word))
    });
    match word {
        Some((version, word)) => Some((version.parse().ok()?, Some(word))),
        None => Some((value.parse().ok()?, None)),
    }
}

/// A size as [`super::ORIGINAL_SIZE`] has it.
#[must_use]
pub fn size_tag(size: GroupSize) -> Text {
    Text::from(written(&size_text(size)))
}

/// A size in short: `min/max/desired`.
pub fn size_text(size: GroupSize) -> Text {
    Text::from(format!("{}/{}/{}", size.min, size.max, size.desired))
}

/// What [`super::ORIGINAL_SIZE`] says; `None` for anything else.
pub fn read_size(text: &str) -> Option<GroupSize> {
    let mut parts = known(text)?.split('/').map(|part| part.parse::<u32>().ok());
    let size = GroupSize { min: parts.next()??, max: parts.next()??, desired: parts.next()?? };
    parts.next().is_none().then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    fn time(text: &str) -> Time {
        text.parse().expect("a time")
    }

    #[test]
    fn tags_are_read_as_they_were_written() {
        for (extra, dead) in [(2, 0), (18, 0), (2, 3), (18, 1)] {
            let begun = Begun { run: RunId::from("web to 1.36"), nodes: 16, surge: 2, extra, dead };
            assert_eq!(Begun::read(&begun.to_text()), Some(begun));
        }
        assert_eq!(Begun::read("something else"), None);
        let ailment = Ailment { illness: Illness::StuckTerminating, whose: Whose::New, found: 3, max: 0 };
        let reasons = [
            Halt::Hopeless,
            Halt::Stalled { since: time("2026-01-01T00:00:00Z") },
            Halt::Deadline,
            Halt::Unhealthy(ailment),
            Halt::Cancelled,
            Halt::Undone,
        ];
        for why in reasons {
            let halted = Halted { run: "at=noon why=not".into(), at: time("2026-01-01T01:00:00Z"), why };
            assert_eq!(Halted::read(&halted.to_text()), Some(halted));
        }
        assert_eq!(Halted::read("something else"), None);
        for restarting in [0, 3] {
            let run = RunId::from("r");
            let before = Before { run, crash_looping: 1, stuck_terminating: 0, not_ready: 12, restarting };
            assert_eq!(Before::read(&before.to_text()), Some(before));
        }
        let until = Until { run: "r s".into(), until: time("2026-01-01T01:00:00Z") };
        assert_eq!(Until::read(&until.to_text()), Some(until));
        let moment = Moment { run: "r s".into(), at: time("2026-01-01T01:00:00Z") };
        assert_eq!(Moment::read(&moment.to_text()), Some(moment));
        let run = RunId::from("r s");
        assert_eq!(protected_by(&protected_tag(&run)), Some(run));
        assert_eq!(protected_by("v2 r s"), None);
        let size = GroupSize { min: 0, max: 5, desired: 3 };
        assert_eq!(&*size_tag(size), "v1 0/5/3");
        assert_eq!(read_size(&size_tag(size)), Some(size));
        let version = LaunchTemplateRef { id: "lt-0123456789abcdef0".into(), version: 7 };
        assert_eq!(&*template_tag(&version, None), "v1 lt-0123456789abcdef0 v7");
        assert_eq!(read_template(&template_tag(&version, None)), Some(version.clone()));
        let followed = template_tag(&version, Some(VersionWord::Latest));
        assert_eq!(&*followed, "v1 lt-0123456789abcdef0 v7 Latest");
        assert_eq!(
            (read_template(&followed), read_followed(&followed)),
            (Some(version), Some(VersionWord::Latest))
        );
        assert_eq!(read_template("v1 lt-0123456789abcdef0 v7 Other"), None);
    }

    #[test]
    fn a_tag_without_a_version_is_version_1_and_one_of_a_newer_replank_is_not_read() {
        let begun = Begun { run: "web".into(), nodes: 3, surge: 1, extra: 1, dead: 0 };
        assert_eq!(&*begun.to_text(), "v1 web nodes=3 surge=1");
        assert_eq!(Begun::read("web nodes=3 surge=1"), Some(begun));
        assert_eq!(Begun::read("v2 web nodes=3 surge=1"), None);
        assert_eq!(read_size("0/5/3"), Some(GroupSize { min: 0, max: 5, desired: 3 }));
        assert_eq!(read_size("v2 0/5/3"), None);
        let version = LaunchTemplateRef { id: "lt-1".into(), version: 7 };
        assert_eq!(read_template("lt-1 v7"), Some(version));
        assert_eq!(read_template("v2 lt-1 v7"), None);
        let halted = Halted { run: "web".into(), at: time("2026-01-01T01:00:00Z"), why: Halt::Deadline };
        assert_eq!(Halted::read("web at=2026-01-01T01:00:00Z why=deadline"), Some(halted));
        assert_eq!(Halted::read("v2 web at=2026-01-01T01:00:00Z why=deadline"), None);
        let before = Before::read("v1 r crashLooping=1 stuckTerminating=0 notReady=12");
        assert_eq!(before.map(|before| (before.not_ready, before.restarting)), Some((12, 0)));
        assert_eq!(Before::read("v2 r crashLooping=1 stuckTerminating=0 notReady=12"), None);
        assert_eq!(Until::read("v2 r until=2026-01-01T01:00:00Z"), None);
        assert_eq!(Moment::read("v2 r at=2026-01-01T01:00:00Z"), None);
    }

    #[test]
    fn the_longest_values_fit_a_tag_of_aws() {
        let run = limits::run_named(&format!("{}-back", "n".repeat(limits::OBJECT_NAME_MAX)));
        assert_eq!(run.as_str().len(), limits::RUN_NAME_MAX);
        let back = RunId::new(format!("{run}-back"));
        let late = time("2026-12-31T23:59:59Z");
        let most = u32::MAX;
        let mut all = vec![
            Begun { run: back.clone(), nodes: most, surge: most, extra: most - 1, dead: most }.to_text(),
            Before {
                run: back.clone(),
                crash_looping: most,
                stuck_terminating: most,
                not_ready: most,
                restarting: most,
            }
            .to_text(),
            Until { run: back.clone(), until: late }.to_text(),
            Moment { run: back.clone(), at: late }.to_text(),
            size_tag(GroupSize { min: most, max: most, desired: most }),
            template_tag(
                &LaunchTemplateRef { id: "lt-0123456789abcdef0".into(), version: u64::MAX },
                Some(VersionWord::Default),
            ),
        ];
        let unhealthy = ILLNESSES.iter().map(|(illness, ..)| {
            Halt::Unhealthy(Ailment { illness: *illness, whose: Whose::New, found: most, max: most })
        });
        let whys = unhealthy.chain([
            Halt::Hopeless,
            Halt::Stalled { since: late },
            Halt::Deadline,
            Halt::Cancelled,
            Halt::Undone,
        ]);
        for why in whys {
            let halted = Halted { run: back.clone(), at: late, why };
            assert_eq!(Halted::read(&halted.to_text()), Some(halted.clone()));
            all.push(halted.to_text());
        }
        for value in all {
            assert!(value.chars().count() <= limits::TAG_VALUE_MAX, "{} characters: {value}", value.len());
            assert!(limits::is_taggable(&value), "{value}");
        }
    }
}
