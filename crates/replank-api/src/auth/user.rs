//! Who asks (apiserver `pkg/authentication/user`).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The group of those who may do anything.
pub(crate) const MASTERS: &str = "system:masters";
/// The group of all who have said who they are.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of all who have not.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of all who have not said who they are.
pub(crate) const ANONYMOUS: &str = "system:anonymous";
/// What names of service accounts begin with; namespace and name follow.
const ACCOUNT: &str = "system:serviceaccount:";

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Name.
    pub name: String,
    /// Uid; empty for none.
    pub uid: String,
    /// Groups.
    pub groups: Vec<String>,
    /// What else is known of them.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Whoever holds the cluster's own token.
    #[must_use]
    pub fn admin() -> Self {
        Self {
            name: "admin".to_owned(),
            uid: "admin".to_owned(),
            groups: vec![MASTERS.to_owned(), AUTHENTICATED.to_owned()],
            extra: BTreeMap::new(),
        }
    }

    /// Whoever shows nothing.
    #[must_use]
    pub fn anonymous() -> Self {
        Self { name: ANONYMOUS.to_owned(), groups: vec![UNAUTHENTICATED.to_owned()], ..Self::default() }
    }

    /// A service account.
    #[must_use]
    pub fn account(namespace: &str, name: &str, uid: &str) -> Self {
        let mut groups = account_groups(namespace);
        groups.push(AUTHENTICATED.to_owned());
        Self {
            name: format!("{ACCOUNT}{namespace}:{name}"),
            uid: uid.to_owned(),
            groups,
            extra: BTreeMap::new(),
        }
    }

    /// Whoever a certificate is for; `hash` is the certificate's, in hexadecimal.
    #[must_use]
    pub fn certified(name: String, uid: String, organizations: Vec<String>, hash: &str) -> Self {
        let mut groups = organizations;
        groups.push(AUTHENTICATED.to_owned());
        let id =
            ("authentication.kubernetes.io/credential-id".to_owned(), vec![format!("X509SHA256={hash}")]);
        Self { name, uid, groups, extra: BTreeMap::from([id]) }
    }

    /// Whether they may do anything.
    #[must_use]
    pub fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }

    /// authentication.k8s.io/v1 UserInfo.
    #[must_use]
    pub fn info(&self) -> Value {
        let mut info = Map::new();
        if !self.name.is_empty() {
            info.insert("username".to_owned(), self.name.as_str().into());
        }
        if !self.uid.is_empty() {
            info.insert("uid".to_owned(), self.uid.as_str().into());
        }
        if !self.groups.is_empty() {
            info.insert("groups".to_owned(), json!(self.groups));
        }
        if !self.extra.is_empty() {
            info.insert("extra".to_owned(), json!(self.extra));
        }
        Value::Object(info)
    }
}

/// The groups of every service account of a namespace.
#[must_use]
pub(crate) fn account_groups(namespace: &str) -> Vec<String> {
    vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]
}

/// Namespace and name of a service account, if a user is one.
#[must_use]
pub(crate) fn account_of(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(ACCOUNT)?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}
