//! D1 and D2: what a driver shows is true, if late, and what it calls done was done as the command says.

use replank_model::delta::Delta;
use replank_model::view::View;
use replank_protocol::command::{Effect, GroupEffect};
use replank_sim::Sent;

use super::{Found, Promise};

/// Whoever decides is shown something. An instance id is never given twice: one that is shown as gone must be gone.
pub(super) fn shown(delta: &Delta, view: &View, found: &mut Found<'_>) {
    if let Delta::InstanceGone(id) = delta
        && view.instances().contains_key(id)
    {
        found.broken(Promise::D1, format!("instance {id} is shown as terminated, but exists"));
    }
}

/// A command was answered as done: a group launches what the command names, whatever number that version has.
pub(super) fn done(view: &View, sent: &Sent, found: &mut Found<'_>) {
    let Effect::Group(GroupEffect::SetTemplate { group, to, .. }) = &sent.command.effect else { return };
    let is_done = matches!(sent.result, Some((_, Ok(()))));
    let Some(group) = view.groups().get(&group.node_group).filter(|_| is_done) else { return };
    if group.templates.get(&group.current) != Some(&**to) {
        let what = format!("group {} was to launch {}, and launches {}", group.name, to.image, group.current);
        found.broken(Promise::D2, what);
    }
}
