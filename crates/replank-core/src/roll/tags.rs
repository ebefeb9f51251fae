//! Tags and sizes of groups, written.

use std::sync::Arc;

use replank_model::object::cloud::{GroupSize, LaunchTemplate, NodeGroup};
use replank_model::text::{GroupName, Text};
use replank_protocol::command::{Effect, GroupEffect};
use replank_protocol::mark::size_text;
use replank_protocol::waiting::Subject;

use super::context::{Context, GroupRoll};

pub(super) fn tag(ctx: &mut Context<'_>, group: &GroupName, what: &str, key: &str, value: Text) {
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
    to: Arc<LaunchTemplate>,
) {
    let id = format!("{}/{}", roll.name, group.current);
    let effect =
        Effect::Group(GroupEffect::SetTemplate { group: group.id(), from: group.current.clone(), to });
    let key = ctx.key("template", id);
    ctx.send(roll.subject(), "update of the launch template", key, effect);
}

pub(super) fn resize(
    ctx: &mut Context<'_>,
    roll: &GroupRoll<'_>,
    from: GroupSize,
    to: GroupSize,
    what: &str,
) {
    let id = format!("{}/{}-{}", roll.name, size_text(from), size_text(to));
    let effect = Effect::Group(GroupEffect::Resize { group: ctx.view.group_id(roll.name), from, to });
    let key = ctx.key("resize", id);
    ctx.send(roll.subject(), what, key, effect);
}

pub(super) fn untag(ctx: &mut Context<'_>, group: &GroupName, key: &str) {
    let effect = Effect::Group(GroupEffect::Untag { group: ctx.view.group_id(group), key: key.into() });
    let id = ctx.key("untag", format!("{group}/{key}"));
    ctx.send(Subject::Group(group.clone()), "removal of the tag", id, effect);
}
