//! What is left of a run that nothing else tells of: its record.

use replank_model::object::Object;
use replank_model::view::View;

use super::{Holds, Leftover, On, State};
use replank_protocol::command::{Dependents, Effect, KubernetesEffect};
use replank_protocol::mark::{self, Halted};
use replank_protocol::record::{FoundRecord, RecordError, RunRecord};

pub(super) fn of(holds: &Holds, view: &View, found: &FoundRecord) -> Leftover {
    let key = found.holder.meta.key();
    let state = match &found.record {
        Ok(record) => state(holds, view, record),
        Err(RecordError::Newer { version }) => State::Newer { version: *version },
        Err(RecordError::Unreadable { .. }) => State::Unreadable,
    };
    let what = match &found.record {
        Ok(record) => format!("record, wanted: {},", record.intent),
        Err(RecordError::Newer { .. }) => "record".to_owned(),
        Err(RecordError::Unreadable { member }) => format!("record of which {member} cannot be read"),
    };
    let (effects, lines) = match &found.record {
        // It is theirs to delete.
        Err(RecordError::Newer { .. }) => (Vec::new(), Vec::new()),
        Ok(_) | Err(RecordError::Unreadable { .. }) => {
            let effect = KubernetesEffect::Delete {
                object: Object::Other(found.holder.clone()).reference(),
                version: found.holder.meta.resource_version,
                dependents: Dependents::Collected,
            };
            let line = format!("kubectl -n {} delete configmap {}", key.namespace, key.name);
            (vec![Effect::Kubernetes(effect)], vec![line])
        }
    };
    Leftover {
        on: On::Record(key),
        what,
        keys: Vec::new(),
        run: found.run.clone(),
        since: found.record.as_ref().ok().map(|record| record.begin),
        state,
        effects,
        lines,
        stays: None,
    }
}

/// A run that has halted holds no longer than its marks; any other as long as its record says.
fn state(holds: &Holds, view: &View, record: &RunRecord) -> State {
    let mut halted =
        view.groups().values().filter_map(|group| group.tags.value(mark::HALTED).and_then(Halted::read));
    let has_halted = halted.any(|halted| halted.run == record.run);
    holds.state(Some(&record.run), (!has_halted).then_some(record.expires))
}
