//! Whether somebody may (plugin/pkg/auth/authorizer/rbac).

use std::sync::{Arc, RwLock};

use super::attributes::{Attributes, Place};
use super::policy::{Policy, storages};
use super::rule::Rule;
use super::user::User;
use crate::mirror::{Mirror, Snapshot};

/// How requests are authorized (kube-apiserver's `--authorization-mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authorization {
    /// Whoever is known may do anything.
    AlwaysAllow,
    /// Roles and bindings decide.
    #[default]
    Rbac,
}

/// What was decided, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it is allowed.
    pub is_allowed: bool,
    /// Which binding allows it, or what is wrong with some.
    pub reason: String,
}

/// Decides, on what the cluster's roles and bindings say.
#[derive(Debug)]
pub struct Authorizer {
    mode: Authorization,
    mirror: Arc<Mirror>,
    /// What was read last, and at which version of the cluster.
    known: RwLock<(u64, Arc<Policy>)>,
}

impl Authorizer {
    /// An authorizer on what readers see.
    #[must_use]
    pub fn new(mode: Authorization, mirror: Arc<Mirror>) -> Self {
        let snapshot = mirror.snapshot();
        let known = RwLock::new((snapshot.version, Arc::new(Policy::read(&snapshot))));
        Self { mode, mirror, known }
    }

    /// Whether somebody may do something.
    #[must_use]
    pub fn decide(&self, user: &User, asked: &Attributes) -> Verdict {
        match self.mode {
            Authorization::AlwaysAllow => Verdict { is_allowed: true, reason: String::new() },
            Authorization::Rbac if user.is_master() => Verdict { is_allowed: true, reason: String::new() },
            Authorization::Rbac => by_roles(&self.policy(), user, asked),
        }
    }

    /// Whether somebody may do something.
    #[must_use]
    pub fn allows(&self, user: &User, asked: &Attributes) -> bool {
        self.decide(user, asked).is_allowed
    }

    /// The rules that hold for somebody in a namespace, and what is wrong with some bindings.
    #[must_use]
    pub fn rules(&self, user: &User, namespace: &str) -> (Vec<Rule>, Vec<String>) {
        let policy = self.policy();
        let (mut rules, mut errors) = (Vec::new(), Vec::new());
        for (binding, _) in policy.bindings(user, namespace) {
            match policy.rules(&binding.role, &binding.namespace) {
                Ok(of_role) => rules.extend_from_slice(of_role),
                Err(error) => errors.push(error),
            }
        }
        (rules, errors)
    }

    /// The rules of a role that a binding of a namespace would name.
    ///
    /// # Errors
    /// There is no such role.
    pub fn rules_of(&self, kind: &str, name: &str, namespace: &str) -> Result<Vec<Rule>, String> {
        let role = super::policy::RoleRef { kind: kind.to_owned(), name: name.to_owned() };
        self.policy().rules(&role, namespace).map(<[Rule]>::to_vec)
    }

    /// Whether roles decide at all.
    #[must_use]
    pub fn mode(&self) -> Authorization {
        self.mode
    }

    /// What the roles and bindings say, read anew where one of them has changed since.
    fn policy(&self) -> Arc<Policy> {
        let snapshot = self.mirror.snapshot();
        let known = self.known.read().expect("nobody panics while holding it").clone();
        if known.0 == snapshot.version || !self.has_changed(known.0) {
            return known.1;
        }
        self.read(&snapshot)
    }

    fn has_changed(&self, since: u64) -> bool {
        storages().iter().any(|id| {
            let ring = self.mirror.ring(id);
            ring.after(since).is_ok_and(|number| number < ring.next()) || ring.after(since).is_err()
        })
    }

    fn read(&self, snapshot: &Snapshot) -> Arc<Policy> {
        let policy = Arc::new(Policy::read(snapshot));
        *self.known.write().expect("nobody panics while holding it") = (snapshot.version, policy.clone());
        policy
    }
}

fn by_roles(policy: &Policy, user: &User, asked: &Attributes) -> Verdict {
    let namespace = match &asked.place {
        Place::Resource { namespace, .. } => namespace.as_str(),
        Place::Path(_) => "",
    };
    let mut errors = Vec::new();
    for (binding, subject) in policy.bindings(user, namespace) {
        match policy.rules(&binding.role, &binding.namespace) {
            Ok(rules) if rules.iter().any(|rule| rule.allows(asked)) => {
                let (kind, name) = match binding.namespace.as_str() {
                    "" => ("ClusterRoleBinding", binding.name.clone()),
                    namespace => ("RoleBinding", format!("{}/{namespace}", binding.name)),
                };
                let role = &binding.role;
                let reason = format!(
                    "RBAC: allowed by {kind} \"{name}\" of {} \"{}\" to {subject}",
                    role.kind, role.name
                );
                return Verdict { is_allowed: true, reason };
            }
            Ok(_) => {}
            Err(error) => errors.push(error),
        }
    }
    let reason = if errors.is_empty() { String::new() } else { format!("RBAC: {}", aggregate(&errors)) };
    Verdict { is_allowed: false, reason }
}

/// Several errors as one text, each once.
#[must_use]
pub(crate) fn aggregate(errors: &[String]) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    for error in errors {
        if !distinct.contains(&error.as_str()) {
            distinct.push(error);
        }
    }
    match distinct.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("[{}]", many.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use replank_model::object::Object;
    use serde_json::{Value, json};

    use super::*;
    use crate::mirror::Publisher;

    #[expect(clippy::needless_pass_by_value, reason = "what a test hands over is made for it")]
    fn object(kind: &str, namespace: &str, name: &str, rest: Value) -> Object {
        let mut value = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
            "metadata": {"name": name, "resourceVersion": "2"}});
        if !namespace.is_empty() {
            value["metadata"]["namespace"] = namespace.into();
        }
        for (member, what) in rest.as_object().expect("members") {
            value[member] = what.clone();
        }
        Object::from_json(value).expect("it is well formed")
    }

    fn reader(namespace: &str) -> Vec<Object> {
        let subjects = json!([{"kind": "User", "name": "bob"}, {"kind": "ServiceAccount", "name": "robot", "namespace": "a"}]);
        vec![
            object(
                "ClusterRole",
                "",
                "read",
                json!({"rules": [
                {"apiGroups": [""], "resources": ["pods", "*/status"], "verbs": ["get", "list"]},
                {"nonResourceURLs": ["/logs/*"], "verbs": ["get"]}]}),
            ),
            object(
                "RoleBinding",
                namespace,
                "read",
                json!({"roleRef": {"kind": "ClusterRole", "name": "read"}, "subjects": subjects}),
            ),
            object(
                "RoleBinding",
                namespace,
                "void",
                json!({"roleRef": {"kind": "Role", "name": "gone"}, "subjects": subjects}),
            ),
        ]
    }

    fn bob() -> User {
        User { name: "bob".to_owned(), ..User::default() }
    }

    fn get(resource: &str, namespace: &str) -> Attributes {
        Attributes::of("get", ("", resource), namespace, "p")
    }

    #[test]
    fn a_binding_allows_in_its_namespace_and_says_so() {
        let publisher = Publisher::new(reader("a"), Vec::new(), 2);
        let authorizer = Authorizer::new(Authorization::Rbac, publisher.mirror());
        let verdict = authorizer.decide(&bob(), &get("pods", "a"));
        assert_eq!(
            (verdict.is_allowed, verdict.reason.as_str()),
            (true, "RBAC: allowed by RoleBinding \"read/a\" of ClusterRole \"read\" to User \"bob\"")
        );
        assert!(authorizer.allows(&User::account("a", "robot", ""), &get("pods", "a")));
        assert!(!authorizer.allows(&User::account("b", "robot", ""), &get("pods", "a")));
        let verdict = authorizer.decide(&bob(), &get("secrets", "a"));
        let gone = "RBAC: role.rbac.authorization.k8s.io \"gone\" not found";
        assert_eq!((verdict.is_allowed, verdict.reason.as_str()), (false, gone));
        assert_eq!(authorizer.decide(&bob(), &get("pods", "b")).reason, "");
        assert!(authorizer.allows(&User::admin(), &get("secrets", "b")));
        let always = Authorizer::new(Authorization::AlwaysAllow, publisher.mirror());
        assert!(always.allows(&bob(), &get("secrets", "b")));
    }

    #[test]
    fn a_change_counts_at_once() {
        let mut publisher = Publisher::new(reader("b"), Vec::new(), 2);
        let authorizer = Authorizer::new(Authorization::Rbac, publisher.mirror());
        assert!(!authorizer.allows(&bob(), &get("pods", "a")));
        let binding = object(
            "RoleBinding",
            "a",
            "read",
            json!({"roleRef": {"kind": "ClusterRole", "name": "read"}, "subjects": [{"kind": "User", "name": "bob"}]}),
        );
        let binding =
            binding.map_meta(|meta| meta.resource_version = replank_model::object::meta::ResourceVersion(3));
        publisher.changed(None, Some(&binding));
        publisher.publish(3);
        assert!(authorizer.allows(&bob(), &get("pods", "a")));
        publisher.changed(Some(&binding.clone().map_meta(|meta| meta.resource_version.0 = 4)), None);
        publisher.publish(4);
        assert!(!authorizer.allows(&bob(), &get("pods", "a")));
    }
}
