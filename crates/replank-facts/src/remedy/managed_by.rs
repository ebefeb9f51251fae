//! Who manages what an account has, by its tags: there its settings are changed, or the next run of that takes them back.
//!
//! Sources: CloudFormation template reference, "CloudFormation resource tagging"; eksctl, pkg/apis/eksctl.io/v1alpha5/types.go (`NodeGroupNameTag`, `ClusterNameTag`). Terraform gives no tag by itself.

use replank_model::text::Text;

/// Tags that CloudFormation gives what it makes.
const STACK: &str = "aws:cloudformation:stack-name";
const LOGICAL_ID: &str = "aws:cloudformation:logical-id";
/// Tags that eksctl gives what its stacks make.
const EKSCTL: [&str; 2] = ["alpha.eksctl.io/nodegroup-name", "alpha.eksctl.io/cluster-name"];
/// Keys of tags by which people say what manages something, in small letters and without what stands between words.
const SAID_BY: [&str; 4] = ["managedby", "provisionedby", "createdby", "terraform"];

/// What manages something of an account, in the sense of the label `app.kubernetes.io/managed-by`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManagedBy {
    /// A stack of CloudFormation, in which it has a name.
    Stack {
        /// The stack's name.
        name: Text,
        /// The name in its template.
        logical_id: Option<Text>,
    },
    /// eksctl, which writes the templates of its stacks itself.
    Eksctl,
    /// Terraform, as somebody's tags say.
    Terraform,
}

impl ManagedBy {
    /// By tags; nothing where none of them says so.
    #[must_use]
    pub fn of(tags: &[(Text, Text)]) -> Option<Self> {
        let tag = |wanted: &str| {
            let own = tags.iter().find(|(key, _)| &**key == wanted);
            own.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
        };
        if EKSCTL.iter().any(|key| tag(key).is_some()) {
            return Some(Self::Eksctl);
        }
        if let Some(name) = tag(STACK) {
            return Some(Self::Stack { name, logical_id: tag(LOGICAL_ID) });
        }
        let says = |(key, value): &(Text, Text)| {
            let key: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
            let (key, value) = (key.to_ascii_lowercase(), value.to_ascii_lowercase());
            SAID_BY.contains(&&*key) && (value == "terraform" || key == "terraform" && value == "true")
        };
        tags.iter().any(says).then_some(Self::Terraform)
    }
}
