//! What is left on a group: its size and launch template from before, how far the run was, bounds that were raised.

use std::collections::BTreeMap;

use replank_model::object::cloud::{GroupSize, NodeGroup, ScalingProcess};
use replank_model::text::{InstanceId, RunId, Text};
use replank_model::time::Time;

use super::{Holds, Leftover, On, State};
use replank_protocol::command::{Effect, GroupEffect};
use replank_protocol::mark::version::apart;
use replank_protocol::mark::{self, Before, Begun, Halted, Moment, OURS, Until, read_template};

/// What a tag says of itself.
enum Says {
    /// A run's; since when, and until when it holds by itself.
    Of(RunId, Option<Time>, Option<Time>),
    /// It names no run: it is that of the run that has raised the group, or has halted on it.
    NoRun,
    /// What a newer Replank means by it.
    Newer(u64),
    /// Nothing that can be read.
    Nothing,
}

fn says(key: &str, value: &str) -> Says {
    if let Some(version) = apart(value).0.newer() {
        return Says::Newer(version);
    }
    let of = match key {
        mark::ORIGINAL_SIZE => return mark::read_size(value).map_or(Says::Nothing, |_| Says::NoRun),
        mark::ORIGINAL_TEMPLATE => return read_template(value).map_or(Says::Nothing, |_| Says::NoRun),
        mark::SUSPENDED => return mark::read_process(value).map_or(Says::Nothing, |_| Says::NoRun),
        mark::BEGUN => Begun::read(value).map(|begun| (begun.run, None, None)),
        mark::HEALTH => Before::read(value).map(|before| (before.run, None, None)),
        mark::HALTED => Halted::read(value).map(|halted| (halted.run, Some(halted.at), None)),
        mark::PAUSED => Moment::read(value).map(|moment| (moment.run, Some(moment.at), None)),
        mark::RESUMED => Moment::read(value).map(|moment| (moment.run, None, None)),
        key if mark::protected_in(key).is_some() => mark::protected_by(value).map(|run| (run, None, None)),
        key if key == mark::RETAINED || key.starts_with(mark::STAGE) => {
            Until::read(value).map(|until| (until.run, None, Some(until.until)))
        }
        _ => None,
    };
    of.map_or(Says::Nothing, |(run, since, until)| Says::Of(run, since, until))
}

/// Tags of one run.
#[derive(Default)]
struct Tags {
    keys: Vec<Text>,
    since: Option<Time>,
    until: Option<Time>,
}

pub(super) fn of(holds: &Holds, group: &NodeGroup) -> Vec<Leftover> {
    let mut by_run: BTreeMap<Option<RunId>, Tags> = BTreeMap::new();
    let mut unread = Vec::new();
    let mut without = Vec::new();
    let mut newer: BTreeMap<u64, Vec<Text>> = BTreeMap::new();
    for (key, value) in group.tags.iter().filter(|(key, _)| key.starts_with(OURS)) {
        match says(key, value) {
            Says::Of(run, since, until) => {
                let tags = by_run.entry(Some(run)).or_default();
                tags.keys.push(key.into());
                tags.since = tags.since.max(since);
                tags.until = tags.until.max(until);
            }
            Says::NoRun => without.push(Text::from(key)),
            Says::Newer(version) => newer.entry(version).or_default().push(Text::from(key)),
            Says::Nothing => unread.push(Text::from(key)),
        }
    }
    if !without.is_empty() {
        by_run.entry(owner(group, &by_run)).or_default().keys.extend(without);
    }
    let mut all: Vec<Leftover> = by_run
        .into_iter()
        .map(|(run, tags)| {
            let state = holds.state(run.as_ref(), tags.until);
            leftover(holds, group, tags.keys, (run, tags.since), state)
        })
        .collect();
    if !unread.is_empty() {
        all.push(leftover(holds, group, unread, (None, None), State::Unreadable));
    }
    all.extend(newer.into_iter().map(|(version, keys)| left_alone(group, keys, version)));
    all
}

/// What a newer Replank wrote: nothing here takes it off.
fn left_alone(group: &NodeGroup, keys: Vec<Text>, version: u64) -> Leftover {
    Leftover {
        on: On::Group(group.name.clone()),
        what: named(&keys),
        run: None,
        since: None,
        state: State::Newer { version },
        effects: Vec::new(),
        lines: Vec::new(),
        keys,
        stays: None,
    }
}

/// `tags begun, original-size`
fn named(keys: &[Text]) -> String {
    let names: Vec<&str> = keys.iter().map(|key| key.strip_prefix(OURS).unwrap_or(key)).collect();
    let noun = if keys.len() == 1 { "tag" } else { "tags" };
    format!("{noun} {}", names.join(", "))
}

/// The run whose size and launch template from before these are.
fn owner(group: &NodeGroup, by_run: &BTreeMap<Option<RunId>, Tags>) -> Option<RunId> {
    let tag = |key| group.tags.value(key);
    let begun = tag(mark::BEGUN).and_then(Begun::read).map(|begun| begun.run);
    let halted = || tag(mark::HALTED).and_then(Halted::read).map(|halted| halted.run);
    begun.or_else(halted).or_else(|| by_run.keys().next().cloned().flatten())
}

fn leftover(
    holds: &Holds,
    group: &NodeGroup,
    mut keys: Vec<Text>,
    (run, since): (Option<RunId>, Option<Time>),
    state: State,
) -> Leftover {
    keys.sort();
    let what = match state {
        State::Unreadable => format!("{} that cannot be read", named(&keys)),
        State::Running { .. } | State::Expired { .. } | State::Newer { .. } => named(&keys),
    };
    let original = keys.iter().any(|key| **key == *mark::ORIGINAL_SIZE).then(|| original(group)).flatten();
    let lowered = original.map(|original| lowered(group, original)).filter(|to| *to != group.size);
    let stays = original.and_then(|original| stays(group, original));
    let is_needed = |key: &Text| stays.is_some() && (**key == *mark::ORIGINAL_SIZE || **key == *mark::BEGUN);
    let taken: Vec<Text> = keys.iter().filter(|key| !is_needed(key)).cloned().collect();
    let name = &group.name;
    let resize =
        lowered.map(|to| Effect::Group(GroupEffect::Resize { group: group.id(), from: group.size, to }));
    let untag =
        taken.iter().map(|key| Effect::Group(GroupEffect::Untag { group: group.id(), key: key.clone() }));
    let suspended = keys.iter().any(|key| **key == *mark::SUSPENDED).then(|| suspended(group)).flatten();
    let resume = suspended.map(|process| {
        Effect::Group(GroupEffect::SetProcess { group: group.id(), process, is_active: true })
    });
    let resumed = suspended.map(|process| {
        format!(
            "aws autoscaling resume-processes --auto-scaling-group-name {name} --scaling-processes {process}"
        )
    });
    let protected = protected(holds, &keys);
    let unprotect = protected.iter().map(|instance| {
        Effect::Group(GroupEffect::ProtectInstance {
            instance: instance.clone(),
            group: group.id(),
            is_protected: false,
        })
    });
    let ids: Vec<&str> = protected.iter().map(InstanceId::as_str).collect();
    let unprotected = (!ids.is_empty()).then(|| {
        let ids = ids.join(" ");
        format!(
            "aws autoscaling set-instance-protection --instance-ids {ids} --auto-scaling-group-name {name} --no-protected-from-scale-in"
        )
    });
    let line = lowered.map(|to| {
        let max = to.max;
        format!("aws autoscaling update-auto-scaling-group --auto-scaling-group-name {name} --max-size {max}")
    });
    let tags: Vec<String> = taken
        .iter()
        .map(|key| format!("ResourceId={name},ResourceType=auto-scaling-group,Key={key}"))
        .collect();
    let delete = (!tags.is_empty()).then(|| format!("aws autoscaling delete-tags --tags {}", tags.join(" ")));
    Leftover {
        on: On::Group(name.clone()),
        what,
        run,
        since,
        state,
        effects: resize.into_iter().chain(resume).chain(unprotect).chain(untag).collect(),
        lines: line.into_iter().chain(resumed).chain(unprotected).chain(delete).collect(),
        keys,
        stays,
    }
}

fn original(group: &NodeGroup) -> Option<GroupSize> {
    mark::read_size(group.tags.value(mark::ORIGINAL_SIZE)?)
}

/// The process that the run has suspended, and that still is.
fn suspended(group: &NodeGroup) -> Option<ScalingProcess> {
    let process = mark::read_process(group.tags.value(mark::SUSPENDED)?)?;
    (!group.ways.is_active(process)).then_some(process)
}

/// Instances that the run has protected from scale-in, as far as they are there.
fn protected(holds: &Holds, keys: &[Text]) -> Vec<InstanceId> {
    let named = keys.iter().filter_map(|key| mark::protected_in(key));
    named.filter(|id| holds.in_service.contains(id)).collect()
}

/// The most that the run can have raised the group to, where it has written that down.
fn raised_to(group: &NodeGroup, original: GroupSize) -> Option<u32> {
    let begun = Begun::read(group.tags.value(mark::BEGUN)?)?;
    Some(original.desired + begun.surge + begun.nodes)
}

/// The size with a maximum that the run has raised given back, as far as what the group wants allows. One that is beyond what the run can
/// have made of it is somebody else's, and stays; and so does all that is not the maximum.
fn lowered(group: &NodeGroup, original: GroupSize) -> GroupSize {
    let size = group.size;
    let max = original.max.max(size.desired);
    let is_ours = raised_to(group, original).is_none_or(|raised| size.max <= raised);
    if size.max > max && is_ours { GroupSize { max, ..size } } else { size }
}

/// Instances that the run has added: they may be in use, and no command says which of them are needed.
fn stays(group: &NodeGroup, original: GroupSize) -> Option<String> {
    let wants = group.size.desired;
    let is_ours = raised_to(group, original).is_none_or(|raised| wants <= raised);
    (wants > original.desired && is_ours).then(|| {
        format!(
            "its desired size is {wants}, {} before the run: start another run, which takes that into account; or drain and terminate the nodes that are not needed, then delete the tags kept for it",
            original.desired
        )
    })
}
