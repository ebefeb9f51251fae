//! Who is bound to the roles of a verb (`replank rbac --for`), and has a flow schema of its own: what it asks of the API server neither waits behind others nor keeps
//! others waiting (API Priority and Fairness).

use std::fmt;
use std::str::FromStr;

use super::rules::RbacVerb;

/// Seats of the priority level, as shares beside those of others: a hundredth of those of a server with its defaults.
const SHARES: u32 = 10;
/// Before the catch-all schemas of a server (9900 and 10000) and its own for service accounts (9000).
const PRECEDENCE: u32 = 900;

/// Whom roles are bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    User(String),
    Group(String),
    ServiceAccount { namespace: String, name: String },
}

/// Why a word names nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nobody;

impl fmt::Display for Nobody {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("name a user (User:NAME), a group (Group:NAME) or a service account (ServiceAccount:NAMESPACE/NAME)")
    }
}

impl std::error::Error for Nobody {}

impl FromStr for Who {
    type Err = Nobody;

    fn from_str(text: &str) -> Result<Self, Nobody> {
        let (kind, name) = text.split_once(':').ok_or(Nobody)?;
        // Names are written between quotes.
        let is_name =
            |name: &str| !name.is_empty() && !name.contains(['"', '\\']) && !name.contains(char::is_control);
        match (kind, name.split_once('/')) {
            ("User", _) if is_name(name) => Ok(Self::User(name.to_owned())),
            ("Group", _) if is_name(name) => Ok(Self::Group(name.to_owned())),
            ("ServiceAccount", Some((namespace, name))) if is_name(namespace) && is_name(name) => {
                Ok(Self::ServiceAccount { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            (_, None | Some(_)) => Err(Nobody),
        }
    }
}

impl Who {
    /// As a subject of a binding.
    fn subject(&self) -> String {
        match self {
            Self::User(name) => of_name("User", name),
            Self::Group(name) => of_name("Group", name),
            Self::ServiceAccount { namespace, name } => {
                format!("- kind: ServiceAccount\n  name: \"{name}\"\n  namespace: \"{namespace}\"\n")
            }
        }
    }

    /// As a subject of a flow schema, indented as it stands there.
    fn subject_of_flow(&self) -> String {
        let (kind, member, more) = match self {
            Self::User(name) => ("User", "user", format!("name: \"{name}\"")),
            Self::Group(name) => ("Group", "group", format!("name: \"{name}\"")),
            Self::ServiceAccount { namespace, name } => {
                ("ServiceAccount", "serviceAccount", format!("name: \"{name}\", namespace: \"{namespace}\""))
            }
        };
        format!("    - kind: {kind}\n      {member}: {{{more}}}\n")
    }
}

fn of_name(kind: &str, name: &str) -> String {
    format!("- apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: \"{name}\"\n")
}

/// The bindings of a verb's roles, and the flow schema with its priority level, as YAML that follows that of the roles.
pub(super) fn manifest(verb: RbacVerb, namespaces: &[&str], who: &Who) -> String {
    let role = verb.role();
    let binding = |kind: &str, place: &str| {
        format!(
            "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}Binding\nmetadata:\n  name: {role}\n{place}roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: {role}\nsubjects:\n{}",
            who.subject()
        )
    };
    let mut text = binding("ClusterRole", "");
    for namespace in namespaces {
        text += &binding("Role", &format!("  namespace: {namespace}\n"));
    }
    text += &format!(
        "---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata:
  name: replank
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: {SHARES}
    limitResponse:
      type: Queue
      queuing: {{queues: 16, handSize: 4, queueLengthLimit: 50}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata:
  name: {role}
spec:
  priorityLevelConfiguration: {{name: replank}}
  matchingPrecedence: {PRECEDENCE}
  distinguisherMethod: {{type: ByUser}}
  rules:
  - subjects:
{}    resourceRules:
    - {{apiGroups: [\"*\"], resources: [\"*\"], verbs: [\"*\"], namespaces: [\"*\"], clusterScope: true}}
    nonResourceRules:
    - {{nonResourceURLs: [\"*\"], verbs: [\"*\"]}}
",
        who.subject_of_flow()
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_roles_are_bound_to_is_named_in_one_word() {
        let account = Who::ServiceAccount { namespace: "ops".to_owned(), name: "replank".to_owned() };
        assert_eq!("ServiceAccount:ops/replank".parse(), Ok(account));
        assert_eq!("User:a/b@example.com".parse(), Ok(Who::User("a/b@example.com".to_owned())));
        assert_eq!("Group:ops".parse(), Ok(Who::Group("ops".to_owned())));
        for wrong in ["ops", "User:", "ServiceAccount:ops", "ServiceAccount:/a", "user:a", "User:a\"b", ""] {
            assert_eq!(wrong.parse::<Who>(), Err(Nobody), "{wrong}");
        }
    }
}
