//! From a claim to a Ready node.

use replank_apiserver::condition as conditions;
use replank_apiserver::draw::Purpose;
use replank_model::object::affinity::{Taint, TaintEffect};
use replank_model::object::condition::ConditionStatus;
use replank_model::object::karpenter::{
    NodeClaim, NodeClaimStatus, TERMINATION_FINALIZER, TERMINATION_TIMESTAMP,
};
use replank_model::object::meta::{Key, Meta, OwnerReference};
use replank_model::object::node::{LABEL_INSTANCE_TYPE, LABEL_ZONE, Node};
use replank_model::text::{Name, Text};
use replank_model::time::Span;

use super::state::{Karpenter, Launched, Wanted, csi_node};
use crate::cloud::{free_name, instance_id};
use crate::context::Ctx;
use crate::event::{ControlDue, Event, KarpenterDue as Due};

/// How long a pod that found no room on a new node waits for the next look.
const AGAIN: Span = Span::from_secs(10);

impl Karpenter {
    /// Writes a claim down, and launches its machine.
    pub(super) fn launch(&mut self, ctx: &mut Ctx<'_>, wanted: &Wanted) {
        let Some(pool) = self.pools.get(&wanted.pool) else { return };
        let number = u32::try_from(self.launched.len()).expect("fewer than 2^32 machines in one run");
        let draw = |purpose| ctx.draws.draw(wanted.pool.as_str(), purpose, u64::from(number));
        let id = instance_id(draw(Purpose::Uid));
        let machine = Text::from(format!("aws:///{}/{id}", wanted.zone));
        let name = free_name(ctx, Some(pool.sibling.as_str()), wanted.pool.as_str(), &id);
        let shape = &pool.like.profile().shapes[wanted.shape];
        let of_node = [(LABEL_ZONE, wanted.zone.text()), (LABEL_INSTANCE_TYPE, &shape.instance_type)];
        let known = &pool.claim.meta;
        let mut labels = known.labels.clone();
        for (key, value) in of_node.into_iter().filter(|(key, _)| known.labels.contains_key(key)) {
            labels = labels.with(key, value.clone());
        }
        let claim = NodeClaim {
            meta: Meta {
                generate_name: Some(Text::from(format!("{}-", wanted.pool))),
                labels,
                annotations: known.annotations.without(TERMINATION_TIMESTAMP),
                owner_references: known.owner_references.clone(),
                finalizers: vec![TERMINATION_FINALIZER.into()],
                ..Meta::default()
            },
            spec: pool.claim.spec.clone(),
            status: NodeClaimStatus { provider_id: machine.clone(), ..NodeClaimStatus::default() },
        };
        let Ok(claim) = ctx.api.create(claim) else { return };
        let claim = claim.meta.key();
        note(ctx, &claim, "Launched");
        let span = self.timings.boot.draw(ctx.draws.draw(id.as_str(), Purpose::Boot, 0));
        ctx.agenda.after(span, Event::Control(ControlDue::Karpenter(Due::Register(number))));
        self.launched.push(Launched { node: wanted.clone(), name, claim, machine, is_over: false });
    }

    /// The kubelet of a machine registers.
    pub(super) fn register(&mut self, ctx: &mut Ctx<'_>, number: u32) {
        let launched = self.launched[number as usize].clone();
        let claim = ctx.view().node_claims.by_key(&launched.claim).cloned();
        let claim = claim
            .filter(|claim| claim.status.provider_id == launched.machine && !claim.meta.is_terminating());
        let (Some(claim), Some(pool)) = (claim, self.pools.get(&launched.node.pool)) else {
            self.launched[number as usize].is_over = true;
            return;
        };
        let profile = pool.like.profile();
        let shape = &profile.shapes[launched.node.shape];
        let mut node: Node = profile.node(&launched.name, &launched.node.zone, shape);
        node.meta.finalizers = vec![TERMINATION_FINALIZER.into()];
        node.meta.owner_references = vec![OwnerReference {
            api_version: Text::from("karpenter.sh/v1"),
            kind: Text::from("NodeClaim"),
            name: claim.meta.name.clone(),
            uid: claim.meta.uid.clone(),
            controller: None,
            block_owner_deletion: Some(true),
        }]
        .into();
        node.spec.provider_id = launched.machine.clone();
        node.spec.taints.push(Taint::new("node.kubernetes.io/not-ready", TaintEffect::NoSchedule));
        let now = ctx.api.timestamp();
        let not_ready = conditions::condition("Ready", ConditionStatus::False, "KubeletNotReady", "");
        conditions::set(&mut node.status.conditions, not_ready, now);
        let csi = csi_node(&launched.name, shape);
        let created = ctx.api.create(node);
        debug_assert!(created.is_ok(), "a free name was chosen");
        if !csi.spec.drivers.is_empty() && ctx.view().csi_nodes.by_key(&csi.meta.key()).is_none() {
            let created = ctx.api.create(csi);
            debug_assert!(created.is_ok(), "the node is new");
        }
        let name = launched.name.clone();
        let written =
            ctx.api.modify::<NodeClaim>(&launched.claim, |claim| claim.status.node_name = Some(name));
        debug_assert!(written.is_ok(), "the claim was just read");
        note(ctx, &launched.claim, "Registered");
        let span = self.timings.ready.draw(ctx.draws.draw(&launched.machine, Purpose::NodeReady, 0));
        ctx.agenda.after(span, Event::Control(ControlDue::Karpenter(Due::Ready(number))));
    }

    /// Its node becomes Ready.
    pub(super) fn ready(&mut self, ctx: &mut Ctx<'_>, number: u32) {
        self.launched[number as usize].is_over = true;
        let launched = self.launched[number as usize].clone();
        let key = Key::cluster(Name::from(&launched.name));
        let now = ctx.api.timestamp();
        let written = ctx.api.modify::<Node>(&key, |node| {
            let ready = conditions::condition("Ready", ConditionStatus::True, "KubeletReady", "");
            conditions::set(&mut node.status.conditions, ready, now);
        });
        if written.is_err() || ctx.view().node_claims.by_key(&launched.claim).is_none() {
            return;
        }
        note(ctx, &launched.claim, "Initialized");
        let at = ctx.api.now() + AGAIN;
        if self.provision_at.is_none() {
            self.provision_at = Some(at);
            ctx.agenda.at(at, Event::Control(ControlDue::Karpenter(Due::Provision)));
        }
    }
}

fn note(ctx: &mut Ctx<'_>, claim: &Key, kind: &str) {
    let now = ctx.api.timestamp();
    let noted = ctx.api.modify::<NodeClaim>(claim, |claim| {
        let condition = conditions::condition(kind, ConditionStatus::True, kind, "");
        conditions::set(&mut claim.status.conditions, condition, now);
    });
    debug_assert!(noted.is_ok(), "the claim was just read");
}
