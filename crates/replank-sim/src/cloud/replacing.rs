//! Somebody who replaces nodes that Replank has drained (`provider: external`): a person, or a controller of theirs.
//!
//! They go by the mark that says that a node is empty ([`NodeRole::Drained`]). Some time after it they take the machine away, and its group launches another in its
//! place, made as the plan's target says. A node that is left alone stays as it is.

use std::sync::Arc;

use replank_apiserver::draw::Purpose;
use replank_facts::groups::instance_id_of;
use replank_facts::plan::Target;
use replank_facts::target;
use replank_model::delta::Delta;
use replank_model::object::cloud::NodeGroup;
use replank_model::object::node::Node;
use replank_model::text::GroupName;
use replank_model::time::Span;
use replank_protocol::command::NodeRole;
use replank_protocol::mark;

use super::state::SimulatedCloud;
use crate::context::Ctx;
use crate::durations::Assumption;
use crate::event::{CloudDue, Event};
use crate::timing::{Lasting, Range};

impl SimulatedCloud {
    /// Somebody replaces what is drained from now on.
    pub(crate) fn assume_replacer(&mut self, target: Target) {
        self.replacer.target = Some(target);
    }

    /// What is assumed of them.
    pub(crate) fn replacer_assumption(&self) -> Assumption {
        let Range { low, high } = self.timings.replace;
        let value = format!(
            "each machine is taken away {low} to {high} after its node is empty, and another of the same group is launched at once"
        );
        Assumption::default_of("somebody else who replaces drained nodes (provider: external)", &value)
    }

    /// Something of the life of machines takes exactly so long from now on.
    pub(crate) fn takes(&mut self, what: Lasting, span: Span) {
        self.timings.set(what, span);
    }

    /// They leave a node as it is.
    pub(crate) fn leave_drained(&mut self, node: &Node) {
        self.replacer.left.insert(node.meta.uid.clone());
    }

    /// A node may have been drained.
    pub(super) fn see_drained(&mut self, ctx: &mut Ctx<'_>, node: Option<&Node>) {
        let Some(node) = node.filter(|node| self.replacer.target.is_some() && is_drained(node)) else {
            return;
        };
        if !self.replacer.seen.insert(node.meta.uid.clone()) {
            return;
        }
        let id = instance_id_of(node);
        let number = self.instance_number(&id);
        let span = self.timings.replace.draw(ctx.draws.draw(id.as_str(), Purpose::Replacement, 0));
        self.replacer.drained.insert(number, id);
        ctx.agenda.after(span, Event::Cloud(CloudDue::Replaced(number)));
    }

    /// A drained node is replaced, if it is still there and drained.
    pub(super) fn replace(&mut self, ctx: &mut Ctx<'_>, number: u32) {
        let Some(id) = self.replacer.drained.remove(&number) else { return };
        let Some(instance) = ctx.view().instances().get(&id).filter(|one| one.state.is_alive()).cloned()
        else {
            return;
        };
        let node = instance.node.as_ref().and_then(|name| ctx.view().node(name)).cloned();
        let is_due = |node: &Arc<Node>| is_drained(node) && !self.replacer.left.contains(&node.meta.uid);
        if !node.as_ref().is_some_and(is_due) {
            return;
        }
        self.renew(ctx, &instance.group);
        self.terminate(ctx, &instance);
    }

    /// New nodes of a group are as the target says.
    fn renew(&self, ctx: &mut Ctx<'_>, name: &GroupName) {
        let (Some(wanted), Some(group)) = (&self.replacer.target, ctx.view().groups().get(name)) else {
            return;
        };
        if target::meets_template(wanted, group, group.template()) {
            return;
        }
        let template = target::template(wanted, group);
        let mut group = NodeGroup::clone(group);
        let version = group.version_of(&template);
        group.templates.entry(version.clone()).or_insert_with(|| (*template).clone());
        group.current = version;
        ctx.api.apply_cloud(Delta::Group(Arc::new(group)));
    }
}

fn is_drained(node: &Node) -> bool {
    node.spec.unschedulable && mark::of(node).is_some_and(|found| found.mark.role == NodeRole::Drained)
}
