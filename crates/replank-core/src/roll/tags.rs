//! Tags and sizes of groups, written.

use std::sync::Arc;

use replank_model::object::cloud::{
    GroupKind, GroupSize, LaunchTemplate, NodeGroup, NodegroupChange, NodegroupUpdate, VersionWord,
};
use replank_model::text::{GroupName, Text};
use replank_protocol::command::{Effect, GroupEffect};
use replank_protocol::mark::{self, read_followed, size_text};
use replank_protocol::waiting::{RollWait, RunWait, Subject, WaitingOn};

use super::context::{Context, GroupRoll};

pub(super) fn tag(ctx: &mut Context<'_>, group: &GroupName, what: &str, key: &str, value: Text) {
    if ctx.scope.is_external() {
        ctx.note(group, key, Some(value));
        return;
    }
    let effect = Effect::Group(GroupEffect::Tag {
        group: ctx.view.group_id(group),
        key: key.into(),
        from: None,
        value,
    });
    let id = ctx.key("tag", format!("{group}/{key}"));
    ctx.send(Subject::Group(group.clone()), &format!("tag with the {what}"), id, effect);
}

pub(super) fn set_template(
    ctx: &mut Context<'_>,
    roll: &GroupRoll<'_>,
    group: &NodeGroup,
    (to, follow): (Arc<LaunchTemplate>, Option<VersionWord>),
) {
    let id = format!("{}/{}", roll.name, group.current);
    let effect = Effect::Group(GroupEffect::SetTemplate {
        group: group.id(),
        from: group.current.clone(),
        to,
        follow,
    });
    let key = ctx.key("template", id);
    ctx.send(roll.subject(), "update of the launch template", key, effect);
}

/// Changes the size of a group: through EKS where it is a managed one, once no other update of it is in progress.
pub(super) fn resize(ctx: &mut Context<'_>, group: &NodeGroup, to: GroupSize, what: &str) {
    let (name, from) = (&group.name, group.size);
    if let Some(update) = group.update_in_progress() {
        wait_for_update(ctx, name, update);
        return;
    }
    let subject = Subject::Group(name.clone());
    if ctx.awaits_raise(subject.clone(), name) {
        return;
    }
    let id = format!("{name}/{}-{}", size_text(from), size_text(to));
    let group = ctx.view.group_id(name);
    let effect = Effect::Group(match group.kind {
        GroupKind::SelfManaged => GroupEffect::Resize { group, from, to },
        GroupKind::EksManaged => GroupEffect::UpdateNodegroupConfig { group, from, to },
    });
    let key = ctx.key("resize", id);
    ctx.send(subject, what, key, effect);
}

/// Says that an update of a managed node group is waited for: a change of its size takes seconds, a new version takes hours.
pub(super) fn wait_for_update(ctx: &mut Context<'_>, group: &GroupName, update: &NodegroupUpdate) {
    let (id, since) = (update.id.clone(), update.created);
    let on = match update.change {
        NodegroupChange::Config { .. } => {
            ctx.is_moving = true;
            let what = Text::from(format!("EKS update {id} of its size, in progress since {since},"));
            WaitingOn::Run(RunWait::Effect { what })
        }
        NodegroupChange::Version { .. } => RollWait::OtherUpdate { id, since }.into(),
    };
    ctx.wait(Subject::Group(group.clone()), on);
}

pub(super) fn untag(ctx: &mut Context<'_>, group: &GroupName, key: &str) {
    if ctx.scope.is_external() {
        ctx.note(group, key, None);
        return;
    }
    let effect = Effect::Group(GroupEffect::Untag { group: ctx.view.group_id(group), key: key.into() });
    let id = ctx.key("untag", format!("{group}/{key}"));
    ctx.send(Subject::Group(group.clone()), "removal of the tag", id, effect);
}

/// The word by which the group named its version before the run, where it can mean that version again: the last one can be made, and what is the default is its owner's to say.
pub(super) fn followed(group: &NodeGroup, to: &LaunchTemplate) -> Option<VersionWord> {
    let word = read_followed(group.tags.value(mark::ORIGINAL_TEMPLATE)?)?;
    match word {
        VersionWord::Latest => Some(word),
        VersionWord::Default => {
            let default = group.templates.get(group.default_version.as_ref()?);
            default.filter(|default| *default == to).map(|_| word)
        }
    }
}
