//! The record of the run ([`replank_protocol::record`]): written before anything else, and kept up to date.
//!
//! Nothing is sent before it is seen: from then on another process can go on with the run, whatever becomes of this one. A ConfigMap of that name that holds
//! something else keeps the run from beginning. One that somebody deletes while the run is at work is written again. A run that ends at once, because there is
//! nothing to do or nothing that it may do, writes none.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::object::cloud::NodeGroup;
use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, RunId, Text};
use replank_model::view::View;
use serde_json::Value;

use super::context::{Context, GroupRoll};
use super::notes;
use super::prepare::MARK_LIFE;
use replank_facts::plan::Plan;
use replank_facts::run_record::group_by_json;
use replank_facts::target;
use replank_protocol::command::{Effect, KubernetesEffect};
use replank_protocol::mark::{self, read_size, read_template};
use replank_protocol::record::{self, FoundRecord, GroupRecord, RecordError, RunRecord};
use replank_protocol::waiting::{RecordWhy, RunEnd, Subject, WaitingOn};

/// What stands in the place of the record.
#[derive(Clone, Debug)]
pub(crate) enum Standing {
    /// Nothing.
    Absent,
    /// The record, and the ConfigMap that holds it.
    Written(Arc<RunRecord>, Arc<Other>),
    /// Something else.
    Taken(Subject, WaitingOn),
}

/// Reads the record, once for every state of it.
#[derive(Debug)]
pub(crate) struct Reader {
    key: Key,
    run: RunId,
    plan: Value,
    last: Option<(Arc<Other>, Standing)>,
}

impl Reader {
    pub(crate) fn new(plan: &Plan, run: &RunId) -> Self {
        let key = record::key(&plan.namespace, run);
        Self { key, run: run.clone(), plan: plan.to_json(), last: None }
    }

    pub(crate) fn drop_caches(&mut self) {
        self.last = None;
    }

    pub(crate) fn look(&mut self, view: &View) -> Standing {
        let Some(holder) = view.other("", "ConfigMap", &self.key) else {
            self.last = None;
            return Standing::Absent;
        };
        if let Some((known, standing)) = &self.last
            && Arc::ptr_eq(known, holder)
        {
            return standing.clone();
        }
        let Some(found) = record::find(view, &self.key) else { return Standing::Absent };
        let standing = self.standing(found);
        self.last = Some((holder.clone(), standing.clone()));
        standing
    }

    fn standing(&self, found: FoundRecord) -> Standing {
        let taken = |why| WaitingOn::RunEnd(RunEnd::Record { holder: self.key.clone(), why });
        let on = match found.record {
            Ok(record) if record.run == self.run && record.plan == self.plan => {
                return Standing::Written(Arc::new(record), found.holder);
            }
            Ok(_) => taken(RecordWhy::OtherPlan),
            Err(RecordError::Newer { version }) => WaitingOn::RunEnd(RunEnd::NewerVersion { version }),
            Err(RecordError::Unreadable { member }) => {
                taken(RecordWhy::Unreadable { member: Text::from(member) })
            }
        };
        Standing::Taken(subject(&self.key), on)
    }
}

/// The ConfigMap, as something that waits.
pub(crate) fn subject(key: &Key) -> Subject {
    Subject::Object(Text::from(format!("ConfigMap {key}")))
}

/// Writes the record. Returns whether that is on its way.
pub(super) fn write(
    ctx: &mut Context<'_>,
    rolls: &[GroupRoll<'_>],
    noted: &BTreeMap<GroupName, GroupRecord>,
) -> bool {
    let (plan, options) = (&ctx.scope.plan, &ctx.scope.options);
    let record = RunRecord {
        run: ctx.scope.run.clone(),
        plan: plan.to_json(),
        begin: options.started,
        expires: options.started + plan.deadline + MARK_LIFE,
        group_by: group_by_json(&options.group_by),
        intent: ctx.intent,
        groups: groups(ctx, rolls, noted),
    };
    let key = record::key(&plan.namespace, &ctx.scope.run);
    let effect = Effect::Kubernetes(KubernetesEffect::Create { object: record.object(&key) });
    let id = ctx.key("record", &key);
    ctx.send(Subject::Run, "record of the run", id, effect);
    ctx.is_moving
}

/// Writes what has changed into the record. What was written when the run began stays.
pub(super) fn note(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>], known: &RunRecord, holder: &Arc<Other>) {
    let groups = notes::written(groups(ctx, rolls, &known.groups), &ctx.notes);
    if known.intent == ctx.intent && known.groups == groups {
        return;
    }
    let record = RunRecord { intent: ctx.intent, groups, ..known.clone() };
    let id = ctx.record_key(holder, notes::halts(&ctx.notes));
    let key = holder.meta.key();
    let effect = Effect::Kubernetes(KubernetesEffect::Replace { object: record.rewritten(holder) });
    ctx.send(subject(&key), "record of the run", id, effect);
}

/// The groups of the run. One that it is through with is not forgotten.
fn groups(
    ctx: &Context<'_>,
    rolls: &[GroupRoll<'_>],
    known: &BTreeMap<GroupName, GroupRecord>,
) -> BTreeMap<GroupName, GroupRecord> {
    let mut groups = known.clone();
    for roll in rolls {
        let own = roll.group.map(|group| (roll.name, group, roll.allowance(ctx.scope).surge));
        let sources = roll.sources.iter().filter_map(|source| Some((source.name, source.group?, 0)));
        for (name, group, surge) in own.into_iter().chain(sources) {
            let one = of_group(ctx, group, surge, groups.get(name));
            groups.insert(name.clone(), one);
        }
    }
    groups
}

fn of_group(ctx: &Context<'_>, group: &NodeGroup, surge: u32, last: Option<&GroupRecord>) -> GroupRecord {
    let size = group.tags.value(mark::ORIGINAL_SIZE).and_then(read_size);
    let original = size.or(last.map(|last| last.original)).unwrap_or(group.size);
    let template = group.tags.value(mark::ORIGINAL_TEMPLATE).and_then(read_template);
    let template =
        template.or_else(|| last.map(|last| last.template.clone())).unwrap_or_else(|| group.current.clone());
    let wanted = match last.filter(|last| last.original == original) {
        Some(last) => last.wanted,
        None => original.desired + surge,
    };
    let notes = last.map(|last| last.notes.clone()).unwrap_or_default();
    let before = match last {
        Some(last) => last.before.clone(),
        None => {
            let instances = ctx.view.instances().values().map(|one| &**one);
            target::former(&ctx.scope.plan.target, group, instances.filter(|one| one.group == group.name))
        }
    };
    GroupRecord { original, template, wanted, notes, before }
}
