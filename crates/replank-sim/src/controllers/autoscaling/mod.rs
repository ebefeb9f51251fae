//! Horizontal pod autoscalers (pkg/controller/podautoscaler).
//!
//! Upstream looks at every autoscaler each 15 s. Here there is a look only where it may come out differently from the one before:
//! without metrics ([`unmeasured`]) when the autoscaler or its target's scale has changed; where somebody says what the
//! target is asked to do ([`measured`]), as long as load, samples, windows or policies move.

mod measured;
mod meter;
mod reach;
mod unmeasured;

use replank_model::object::Object;
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::meta::{Key, Meta};
use replank_model::object::pod::Pod;
use replank_model::time::{Span, Time};
use replank_model::view::{Change, Ix};
use rustc_hash::FxHashMap;

use super::Ctx;
use crate::event::ControlDue;
use crate::event::Event;
use crate::load::Load;
use measured::Measuring;
use replank_apiserver::draw::Purpose;

pub(crate) use measured::{rivals, scale};
pub use meter::takes_share;

pub(crate) use reach::address;
use reach::{PERIOD, pods_of};

/// The controller.
#[derive(Debug, Default)]
pub(crate) struct Autoscaling {
    /// Autoscalers by slot.
    known: FxHashMap<u32, Known>,
    /// Those whose targets' load is known.
    measuring: FxHashMap<Key, Measuring>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    /// Looks are whole periods after this moment.
    origin: Time,
    /// The next look, if there is one.
    due: Option<Time>,
}

impl Known {
    /// The first look after a moment.
    fn next(&self, after: Time) -> Time {
        let periods = (after - self.origin).as_millis().div_euclid(PERIOD.as_millis()) + 1;
        self.origin + Span::from_millis(periods * PERIOD.as_millis())
    }
}

impl Autoscaling {
    /// Says what the targets of autoscalers are asked to do from here on. Pods that are there have had their share before.
    pub(crate) fn load(&mut self, ctx: &mut Ctx<'_>, loads: Vec<Load>) {
        let mut by_hpa: std::collections::BTreeMap<Key, Vec<_>> = std::collections::BTreeMap::new();
        for load in loads {
            by_hpa.entry(load.hpa).or_default().push((load.of, load.curve));
        }
        for (key, loads) in by_hpa {
            self.measuring.insert(key.clone(), Measuring::begin(ctx, &key, loads));
            let known = ctx.view().horizontal_pod_autoscalers.find(&key);
            if let Some(ix) = known {
                let meta = ctx.view().horizontal_pod_autoscalers.get(ix).map(|hpa| hpa.meta.clone());
                meta.iter().for_each(|meta| self.look_soon(ctx, ix.raw(), meta));
            }
        }
    }

    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (old, Some(Object::HorizontalPodAutoscaler(new))) => {
                let is_same = match old {
                    Some(Object::HorizontalPodAutoscaler(old)) => {
                        old.spec == new.spec && old.meta.uid == new.meta.uid
                    }
                    Some(_) | None => false,
                };
                if !is_same {
                    self.look_soon(ctx, *slot, &new.meta);
                    self.neighbours_look_soon(ctx, &new.meta);
                }
            }
            (Some(Object::HorizontalPodAutoscaler(old)), None) => {
                self.known.remove(slot);
                self.measuring.remove(&old.meta.key());
                self.neighbours_look_soon(ctx, &old.meta);
            }
            (old, new) if !self.known.is_empty() => {
                if let Some(Object::Pod(pod)) = new.as_ref().or(old.as_ref()) {
                    let is_there = new.is_some();
                    self.pod_changed(ctx, pod, is_there);
                }
                let replicas = |object: &Option<Object>| object.as_ref().map(scale_of);
                if let Some(object) = new.as_ref().or(old.as_ref())
                    && is_scalable(object)
                    && replicas(old) != replicas(new)
                {
                    self.target_changed(ctx, object);
                }
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        let now = ctx.api.now();
        let Some(known) = self.known.get_mut(&slot).filter(|known| known.due == Some(now)) else { return };
        known.due = None;
        let next = known.next(now);
        let ix = Ix::<HorizontalPodAutoscaler>::new(slot);
        let Some(scaler) = ctx.view().horizontal_pod_autoscalers.get(ix).cloned() else { return };
        let Some(measuring) = self.measuring.get_mut(&scaler.meta.key()) else {
            unmeasured::look(ctx, &scaler);
            return;
        };
        // A write of its own wakes the others, and itself, through what it changes; the rest is a matter of time.
        let wake = match measuring.sync(ctx, &scaler) {
            measured::Wake::Next => Some(next),
            measured::Wake::At(at) => {
                self.known.get(&slot).map(|known| known.next(at - Span::from_millis(1)))
            }
            measured::Wake::WhenTouched => None,
        };
        if let (Some(at), Some(known)) = (wake, self.known.get_mut(&slot)) {
            put_down(ctx, known, slot, at);
        }
    }

    fn target_changed(&mut self, ctx: &mut Ctx<'_>, target: &Object) {
        let (kind, meta) = (target.kind_name().to_owned(), target.meta());
        self.wake(ctx, |scaler| {
            let wanted = &scaler.spec.scale_target_ref;
            scaler.meta.namespace == meta.namespace && wanted.name == meta.name && *wanted.kind == *kind
        });
    }

    /// Whether pods are wanted by several is a matter of all autoscalers of the namespace.
    fn neighbours_look_soon(&mut self, ctx: &mut Ctx<'_>, meta: &Meta) {
        if !self.measuring.is_empty() {
            let measured: Vec<Key> = self.measuring.keys().cloned().collect();
            self.wake(ctx, |scaler| {
                scaler.meta.namespace == meta.namespace && measured.contains(&scaler.meta.key())
            });
        }
    }

    fn pod_changed(&mut self, ctx: &mut Ctx<'_>, pod: &Pod, is_there: bool) {
        let now = ctx.api.now();
        let mut touched = Vec::new();
        for (key, measuring) in &mut self.measuring {
            if key.namespace == pod.meta.namespace && measuring.note(pod, is_there, now) {
                touched.push(key.clone());
            }
        }
        if !touched.is_empty() {
            self.wake(ctx, |scaler| touched.contains(&scaler.meta.key()));
        }
    }

    fn wake(&mut self, ctx: &mut Ctx<'_>, is_meant: impl Fn(&HorizontalPodAutoscaler) -> bool) {
        let scalers: Vec<(u32, Meta)> = ctx
            .view()
            .horizontal_pod_autoscalers
            .sorted()
            .into_iter()
            .filter(|(_, scaler)| is_meant(scaler))
            .map(|(ix, scaler)| (ix.raw(), scaler.meta.clone()))
            .collect();
        for (slot, meta) in scalers {
            self.look_soon(ctx, slot, &meta);
        }
    }

    /// Puts the next look on the agenda.
    fn look_soon(&mut self, ctx: &mut Ctx<'_>, slot: u32, meta: &Meta) {
        let now = ctx.api.now();
        let new = || {
            // One that was there before the world is somewhere within its period.
            let is_new = meta.creation_timestamp == Some(ctx.api.timestamp());
            let drawn = ctx.draws.draw(meta.uid.as_str(), Purpose::Phase, 0).between(Span::default(), PERIOD);
            Known { origin: if is_new { now } else { now - drawn }, due: None }
        };
        let known = self.known.entry(slot).or_insert_with(new);
        let at = known.next(now);
        put_down(ctx, known, slot, at);
    }
}

/// Puts a look on the agenda, unless there is one before it.
fn put_down(ctx: &mut Ctx<'_>, known: &mut Known, slot: u32, at: Time) {
    if known.due.is_none_or(|due| due > at) {
        known.due = Some(at);
        ctx.agenda.at(at, Event::Control(ControlDue::Autoscaler(slot)));
    }
}

fn is_scalable(object: &Object) -> bool {
    matches!(
        object,
        Object::Deployment(_)
            | Object::ReplicaSet(_)
            | Object::StatefulSet(_)
            | Object::ReplicationController(_)
            | Object::Other(_)
    )
}

#[expect(clippy::wildcard_enum_match_arm, reason = "no other kind has a scale")]
fn scale_of(object: &Object) -> Option<i32> {
    match object {
        Object::Deployment(object) => object.spec.replicas,
        Object::ReplicaSet(object) => object.spec.replicas,
        Object::StatefulSet(object) => object.spec.replicas,
        Object::ReplicationController(object) => object.spec.replicas,
        Object::Other(object) => object.replicas,
        _ => None,
    }
}
