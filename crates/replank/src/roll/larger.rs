//! Groups that a run has left larger than they were: what was launched beside nodes that are gone is in use by now, so that nobody takes it back.

use std::fmt;

use replank_model::object::cloud::{GroupId, GroupSize};
use replank_model::view::View;
use replank_protocol::mark;
use replank_protocol::wait_list::WaitList;
use replank_protocol::waiting::{RollEnd, Subject, WaitingOn};
use serde_json::{Value, json};

/// A group, as it is and as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Larger {
    group: GroupId,
    size: GroupSize,
    original: GroupSize,
    /// Whether its tags stay: an autoscaler that is at work takes away what is not needed once they are gone.
    is_tagged: bool,
}

/// Those of a run that is done.
pub(super) fn larger(view: &View, waiting: &WaitList) -> Vec<Larger> {
    let found = waiting.iter().filter_map(|one| match (&one.what, &one.on) {
        (Subject::Bounds(name), WaitingOn::RollEnd(RollEnd::Bounds { size, original })) => {
            let tags = view.groups().get(name).map(|group| &group.tags);
            let is_tagged = tags.is_some_and(|tags| tags.contains_key(mark::ORIGINAL_SIZE));
            Some(Larger { group: view.group_id(name), size: *size, original: *original, is_tagged })
        }
        (_, _) => None,
    });
    found.collect()
}

impl Larger {
    pub(super) fn to_json(&self) -> Value {
        json!({"group": self.group.node_group, "size": self.size, "original": self.original, "message": self.to_string()})
    }
}

impl fmt::Display for Larger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, size, original, is_tagged } = self;
        let name = &group.auto_scaling_group;
        write!(
            f,
            "group {} stays larger than before the run: desired size {} (before {}), maximum {} (before {}); ",
            group.node_group, size.desired, original.desired, size.max, original.max,
        )?;
        let lower = format!(
            "aws autoscaling update-auto-scaling-group --auto-scaling-group-name {name} --max-size {}",
            original.max
        );
        if !is_tagged {
            return write!(
                f,
                "the autoscaler removes the added nodes when they are not needed; next, once its desired size is {} or less: {lower}",
                original.max,
            );
        }
        write!(
            f,
            "pods run on what was launched beside, and the tags {} and {} stay; next: another run of the group takes that into account; or, once a node is not needed: replank drain NODE, aws autoscaling terminate-instance-in-auto-scaling-group --instance-id ID --should-decrement-desired-capacity, {lower}; replank leftover prints what takes the tags off",
            mark::ORIGINAL_SIZE,
            mark::BEGUN,
        )
    }
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::cloud::{LaunchTemplate, NodeGroup};
    use replank_protocol::waiting::Waiting;

    use super::*;

    #[test]
    fn what_where_and_what_to_do_are_told() {
        let (original, size) =
            (GroupSize { min: 1, max: 3, desired: 3 }, GroupSize { min: 1, max: 4, desired: 4 });
        let group = NodeGroup {
            auto_scaling_group: "web-NodeGroup-1A2B".into(),
            ..NodeGroup::new("web".into(), size, Vec::new(), LaunchTemplate::default())
        };
        let tags = group.tags.with(mark::ORIGINAL_SIZE, "1/3/3");
        let tagged = NodeGroup { tags, ..group.clone() };
        let view: View = [Delta::Group(tagged.into())].into_iter().collect();
        let bounds = Waiting {
            what: Subject::Bounds("web".into()),
            on: WaitingOn::RollEnd(RollEnd::Bounds { size, original }),
        };
        let skipped = Waiting { what: Subject::Node("n".into()), on: WaitingOn::RollEnd(RollEnd::Skipped) };
        let waiting: WaitList = vec![bounds, skipped].into();
        let found = larger(&view, &waiting);
        assert_eq!(found.len(), 1);
        let told = found[0].to_string();
        assert!(
            told.starts_with(
                "group web stays larger than before the run: desired size 4 (before 3), maximum 4 (before 3)"
            ),
            "{told}"
        );
        assert!(told.contains("--auto-scaling-group-name web-NodeGroup-1A2B --max-size 3"), "{told}");
        assert_eq!(found[0].to_json()["size"]["desired"], 4);
        assert_eq!(larger(&view, &WaitList::default()), []);
        assert!(told.contains("the tags replank.dev/original-size and replank.dev/begun stay"), "{told}");

        let view: View = [Delta::Group(group.into())].into_iter().collect();
        let told = larger(&view, &waiting)[0].to_string();
        assert!(!told.contains("tags"), "{told}");
        assert!(told.contains("the autoscaler removes the added nodes when they are not needed"), "{told}");
        assert!(
            told.ends_with("next, once its desired size is 3 or less: aws autoscaling update-auto-scaling-group --auto-scaling-group-name web-NodeGroup-1A2B --max-size 3"),
            "{told}"
        );
    }
}
