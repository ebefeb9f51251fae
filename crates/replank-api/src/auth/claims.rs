//! What a token of a service account says (pkg/serviceaccount/claims.go).

use replank_model::object::meta::Key;
use replank_model::object::{Kind, Object};
use replank_model::time::Time;
use serde::{Deserialize, Serialize};

use super::user::User;
use crate::mirror::{Snapshot, StorageId};

/// Who issues tokens, and whom they are for unless something else is asked (`--service-account-issuer`).
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
/// What the issuer of tokens in Secrets is called.
const LEGACY: &str = "kubernetes/serviceaccount";
/// How far a clock may be off, in seconds.
const LEEWAY: i64 = 60;

/// What a token says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Claims {
    /// Whom it is for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aud: Vec<String>,
    /// When it ends, in seconds; `None` for the tokens of Secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exp: Option<i64>,
    /// When it was issued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iat: Option<i64>,
    /// Who issued it.
    pub iss: String,
    /// Its own name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub jti: String,
    /// Whose it is.
    #[serde(rename = "kubernetes.io", skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    /// From when it counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nbf: Option<i64>,
    /// The name of the user.
    pub sub: String,
    /// Of a Secret's token: the namespace.
    #[serde(rename = "kubernetes.io/serviceaccount/namespace", skip_serializing_if = "String::is_empty")]
    pub legacy_namespace: String,
    /// Of a Secret's token: the Secret.
    #[serde(rename = "kubernetes.io/serviceaccount/secret.name", skip_serializing_if = "String::is_empty")]
    pub legacy_secret: String,
    /// Of a Secret's token: the account.
    #[serde(
        rename = "kubernetes.io/serviceaccount/service-account.name",
        skip_serializing_if = "String::is_empty"
    )]
    pub legacy_name: String,
    /// Of a Secret's token: the account's uid.
    #[serde(
        rename = "kubernetes.io/serviceaccount/service-account.uid",
        skip_serializing_if = "String::is_empty"
    )]
    pub legacy_uid: String,
}

/// Whose a token is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Account {
    /// The namespace.
    pub namespace: String,
    /// The node of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Named>,
    /// The pod that it ends with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<Named>,
    /// The Secret that it ends with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<Named>,
    /// The account.
    pub serviceaccount: Named,
    /// From when its use is warned about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnafter: Option<i64>,
}

/// An object, by name and uid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Named {
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
}

impl Claims {
    /// What the token of a Secret says.
    #[must_use]
    pub fn of_secret(namespace: &str, secret: &str, account: &Named) -> Self {
        Self {
            iss: LEGACY.to_owned(),
            sub: format!("system:serviceaccount:{namespace}:{}", account.name),
            legacy_namespace: namespace.to_owned(),
            legacy_secret: secret.to_owned(),
            legacy_name: account.name.clone(),
            legacy_uid: account.uid.clone(),
            ..Self::default()
        }
    }

    /// The user of a token whose signature is right, for some of the audiences (none: the server's own); and for which of them it is.
    ///
    /// # Errors
    /// Why it does not count.
    pub fn user(
        &self,
        audiences: &[String],
        snapshot: &Snapshot,
        now: Time,
    ) -> Result<(User, Vec<String>), String> {
        let own = [ISSUER.to_owned()];
        let audiences = if audiences.is_empty() { &own } else { audiences };
        if self.iss == LEGACY {
            return self.legacy_user(snapshot).map(|user| (user, own.to_vec()));
        }
        let account = self.account.as_ref().filter(|_| self.iss == ISSUER).ok_or_else(String::new)?;
        let common: Vec<String> = audiences.iter().filter(|one| self.aud.contains(one)).cloned().collect();
        if common.is_empty() {
            let quoted = |words: &[String]| super::cover::quoted(words);
            return Err(format!(
                "token audiences {} is invalid for the target audiences {}",
                quoted(&self.aud),
                quoted(audiences)
            ));
        }
        let now = now.as_millis() / 1000;
        if self.exp.is_some_and(|exp| now > exp + LEEWAY) {
            return Err("service account token has expired".to_owned());
        }
        if self.nbf.is_some_and(|nbf| now + LEEWAY < nbf) {
            return Err("service account token is not valid yet".to_owned());
        }
        let namespace = &account.namespace;
        let is_there = |kind: StorageId, named: &Named, what: &str| {
            let key = Key::new(namespace.as_str(), named.name.as_str());
            let found = snapshot.get(&kind, &key).filter(|stored| stored.meta().uid.as_str() == named.uid);
            found.map(|_| ()).ok_or_else(|| format!("service account token has been invalidated: {what}"))
        };
        is_there(account_storage(), &account.serviceaccount, "the service account is gone")?;
        if let Some(secret) = &account.secret {
            is_there(secret_storage(), secret, "the secret is gone")?;
        }
        if let Some(pod) = &account.pod {
            is_there(StorageId::Typed(Kind::Pod), pod, "the pod is gone")?;
        }
        let mut user = User::account(namespace, &account.serviceaccount.name, &account.serviceaccount.uid);
        self.describe(account, &mut user);
        Ok((user, common))
    }

    /// What else a token says of its user.
    fn describe(&self, account: &Account, user: &mut User) {
        let mut say = |what: &str, value: String| {
            user.extra.insert(format!("authentication.kubernetes.io/{what}"), vec![value]);
        };
        if !self.jti.is_empty() {
            say("credential-id", format!("JTI={}", self.jti));
        }
        if let Some(pod) = &account.pod {
            say("pod-name", pod.name.clone());
            say("pod-uid", pod.uid.clone());
        }
        if let Some(node) = &account.node {
            say("node-name", node.name.clone());
            say("node-uid", node.uid.clone());
        }
    }

    fn legacy_user(&self, snapshot: &Snapshot) -> Result<User, String> {
        let (namespace, gone) =
            (self.legacy_namespace.as_str(), "the token is not the one of its secret any more");
        let secret = snapshot.get(&secret_storage(), &Key::new(namespace, self.legacy_secret.as_str()));
        let account = snapshot.get(&account_storage(), &Key::new(namespace, self.legacy_name.as_str()));
        let is_right = account.is_some_and(|account| account.meta().uid.as_str() == self.legacy_uid);
        if secret.is_none() || !is_right {
            return Err(gone.to_owned());
        }
        Ok(User::account(namespace, &self.legacy_name, &self.legacy_uid))
    }
}

/// Where service accounts are held.
#[must_use]
pub(crate) fn account_storage() -> StorageId {
    StorageId::Untyped { group: "".into(), kind: "ServiceAccount".into() }
}

/// Where Secrets are held.
#[must_use]
pub(crate) fn secret_storage() -> StorageId {
    StorageId::Untyped { group: "".into(), kind: "Secret".into() }
}

/// Name and uid of an object.
#[must_use]
pub(crate) fn named(object: &Object) -> Named {
    Named { name: object.meta().name.as_str().to_owned(), uid: object.meta().uid.as_str().to_owned() }
}
