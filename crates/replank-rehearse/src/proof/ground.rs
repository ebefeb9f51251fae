//! What findings are found on, and remedies are proved on: a cluster, what the cloud says of it, and a plan.

use replank_apiserver::json::merge_patch;
use replank_facts::group_facts::Facts;
use replank_facts::groups::LearntGroup;
use replank_facts::plan::Plan;
use replank_facts::remedy::Edit;
use replank_model::time::Time;
use replank_model::view::View;
use serde_json::Value;

/// A cluster at a moment, and what is to be done with it.
#[derive(Clone)]
pub struct Ground {
    /// Everything there is.
    pub view: View,
    /// Its node groups, with their instances.
    pub groups: Vec<LearntGroup>,
    /// The moment.
    pub now: Time,
    /// What the cloud says of its groups.
    pub facts: Vec<Facts>,
    /// What is to be done.
    pub plan: Option<Plan>,
}

impl Ground {
    /// What stands beside the cluster, without the cluster.
    pub(super) fn beside(&self) -> Self {
        Self {
            view: View::default(),
            groups: self.groups.clone(),
            now: self.now,
            facts: self.facts.clone(),
            plan: self.plan.clone(),
        }
    }

    /// Makes a change of the plan, or of what the cloud does. Changes of objects are not made here.
    pub(super) fn apply(&mut self, edit: &Edit) -> Result<(), String> {
        if let Some(patch) = edit.of_plan() {
            return self.patch_plan(&patch);
        }
        if let Edit::ResumeProcess { group, process } = edit {
            for learnt in self.groups.iter_mut().filter(|one| one.group.auto_scaling_group == *group) {
                learnt.group.ways.suspended.retain(|one| one.as_str() != &**process);
            }
            let is_it = |facts: &Facts| match &facts.auto_scaling {
                Some(name) => name == group,
                None => facts.name.as_str() == &**group,
            };
            for facts in self.facts.iter_mut().filter(|facts| is_it(facts)) {
                if let Some(suspended) = &mut facts.suspended {
                    suspended.retain(|one| one.as_str() != &**process);
                }
            }
        }
        Ok(())
    }

    fn patch_plan(&mut self, patch: &Value) -> Result<(), String> {
        let Some(plan) = &self.plan else { return Err("no plan is given".to_owned()) };
        let mut json = plan.to_json();
        // A plan made of options has a name that no file can have.
        json["metadata"]["name"] = "changed".into();
        merge_patch(&mut json["spec"], patch);
        let changed = Plan::read(&json).map_err(|errors| errors.to_string())?;
        self.plan = Some(Plan { name: plan.name.clone(), ..changed });
        Ok(())
    }
}
