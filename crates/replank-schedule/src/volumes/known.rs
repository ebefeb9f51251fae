//! What the volumes of a class's pods ask for, kept until a claim or a volume changes.

use std::sync::Arc;

use replank_model::object::pod::Pod;
use replank_model::view::View;

use super::plan::{Refusal, VolumePlan};
use crate::world::World;

/// What the volumes of a class's pods ask for.
#[derive(Clone, Debug)]
pub(crate) struct KnownVolumes {
    /// The generation of claims, volumes and classes that it goes by.
    generation: u64,
    plan: Arc<VolumePlan>,
}

impl KnownVolumes {
    /// What the volumes of a pod ask for, as [`VolumePlan::of`] says; kept where it goes for all pods of the class.
    pub(in super::super) fn of(
        known: &mut Option<Self>,
        world: &mut World,
        view: &View,
        pod: &Pod,
    ) -> (Arc<VolumePlan>, Option<Refusal>) {
        let generation = world.volumes.generation;
        if let Some(known) = known.as_ref().filter(|known| known.generation == generation) {
            return (known.plan.clone(), None);
        }
        let (plan, refused) = VolumePlan::of(world, view, pod);
        let plan = Arc::new(plan);
        let lasts = refused.is_none() && plan.lasts();
        *known = lasts.then(|| Self { generation, plan: plan.clone() });
        (plan, refused)
    }
}
