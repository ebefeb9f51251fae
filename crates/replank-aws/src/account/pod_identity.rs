//! EKS Pod Identity: which role pods of a service account have.

use replank_model::time::Time;
use serde_json::{Value, json};

use super::access::listed;
use super::associations::Association;
use super::eks::invalid;
use super::own::Account;
use crate::call::{ASSUMED, Reply};
use crate::caller::{Caller, WebIdentity, role_id};
use crate::fault::Fault;
use crate::input::Input;
use crate::text::{epoch, hash};

/// Whom tokens are for that are shown to EKS for a role.
const AUDIENCE: &str = "pods.eks.amazonaws.com";
/// How long credentials last: the agent gets others before.
const LASTS: i64 = 6 * 3_600;

impl Account {
    pub(crate) fn pod_identity(&mut self, now: Time, action: &str, input: Input<'_>) -> Reply {
        let id = input.text("associationId").unwrap_or_default().to_owned();
        match action {
            "ListPodIdentityAssociations" => {
                let is_one = |member: &str, own: &str| input.text(member).is_none_or(|asked| asked == own);
                let asked = self.eks.pods.0.iter().filter(|(_, one)| {
                    is_one("namespace", &one.namespace) && is_one("serviceAccount", &one.account)
                });
                let all = asked.map(|(id, one)| {
                    let shown = json!({"clusterName": self.names.cluster(), "namespace": one.namespace, "serviceAccount": one.account,
                        "associationArn": self.association_arn(id), "associationId": id, "ownerArn": one.owner});
                    (id.clone(), shown)
                });
                listed("associations", all.collect(), input)
            }
            "CreatePodIdentityAssociation" => self.associate(now, input, None),
            "DescribePodIdentityAssociation" => Ok(json!({"association": self.shown_association(&id)?})),
            "UpdatePodIdentityAssociation" => {
                self.shown_association(&id)?;
                if let (Some(role), Some(one)) = (input.text("roleArn"), self.eks.pods.0.get_mut(&id)) {
                    one.role = known_role(role)?.to_owned();
                    one.modified = now;
                }
                Ok(json!({"association": self.shown_association(&id)?}))
            }
            _ => {
                let shown = self.shown_association(&id)?;
                self.eks.pods.0.remove(&id);
                self.eks.tags.remove(&self.association_arn(&id));
                Ok(json!({"association": shown}))
            }
        }
    }

    pub(crate) fn associate(&mut self, now: Time, input: Input<'_>, owner: Option<&str>) -> Reply {
        let text = |member: &str| {
            let found = input.text(member).filter(|text| !text.is_empty()).map(str::to_owned);
            found.ok_or_else(|| invalid(format!("{member} can't be blank")))
        };
        let (namespace, account, role) = (text("namespace")?, text("serviceAccount")?, text("roleArn")?);
        known_role(&role)?;
        if self.eks.pods.0.values().any(|one| one.namespace == namespace && one.account == account) {
            return Err(Fault::new(
                409,
                "ResourceInUseException",
                format!("Association already exists: namespace {namespace}, service account {account}"),
            )
            .with("clusterName", self.names.cluster()));
        }
        self.eks.count += 1;
        let id = format!(
            "a-{:017x}",
            hash(&format!("{namespace}/{account}/{}/{}", self.eks.count, now.as_millis()))
        );
        let tags = input.get("tags").and_then(Value::as_object).cloned().unwrap_or_default();
        let tags = tags.into_iter().map(|(key, value)| (key, value.as_str().unwrap_or_default().to_owned()));
        self.eks.tags.insert(self.association_arn(&id), tags.collect());
        self.eks.pods.0.insert(
            id.clone(),
            Association {
                namespace,
                account,
                role,
                owner: owner.map(str::to_owned),
                created: now,
                modified: now,
            },
        );
        Ok(json!({"association": self.shown_association(&id)?}))
    }

    pub(crate) fn association_arn(&self, id: &str) -> String {
        self.names.arn("eks", &format!("podidentityassociation/{}/{id}", self.names.cluster()))
    }

    /// Whether an ARN is that of an association.
    pub(crate) fn is_association(&self, asked: &str) -> bool {
        self.eks.pods.0.keys().any(|id| self.association_arn(id) == asked)
    }

    fn shown_association(&self, id: &str) -> Result<Value, Fault> {
        let one = self.eks.pods.0.get(id).ok_or_else(|| {
            Fault::new(404, "ResourceNotFoundException", format!("No association found for id: {id}"))
                .with("clusterName", self.names.cluster())
        })?;
        let arn = self.association_arn(id);
        Ok(
            json!({"clusterName": self.names.cluster(), "namespace": one.namespace, "serviceAccount": one.account, "roleArn": one.role, "associationArn": arn,
            "associationId": id, "tags": self.eks.tags.get(&arn).cloned().unwrap_or_default(), "createdAt": epoch(one.created), "modifiedAt": epoch(one.modified),
            "ownerArn": one.owner, "disableSessionTags": false}),
        )
    }

    /// The role of a pod that shows a token of the cluster, as the agent on its node asks (EKS Auth AssumeRoleForPodIdentity).
    pub(crate) fn assume_for_pod(&self, caller: &Caller) -> Reply {
        let known = match caller {
            Caller::Web(known) => known.as_ref(),
            Caller::User | Caller::Role { .. } => None,
        };
        let wrong = |words: &str| Fault::bad("InvalidTokenException", words);
        let WebIdentity { subject, audiences, until, shown, .. } =
            known.ok_or_else(|| wrong("The token included in the request is not one of the cluster's"))?;
        if until <= shown {
            return Err(Fault::bad("ExpiredTokenException", "The token included in the request is expired"));
        }
        if !audiences.iter().any(|audience| audience == AUDIENCE) {
            return Err(wrong(
                "The token included in the request has another audience than pods.eks.amazonaws.com",
            ));
        }
        let of = subject.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
        let found = of.and_then(|(namespace, account)| {
            self.eks.pods.0.iter().find(|(_, one)| one.namespace == namespace && one.account == account)
        });
        let (id, one) = found.ok_or_else(|| {
            Fault::new(404, "ResourceNotFoundException", format!("No association found for {subject}"))
        })?;
        let role = known_role(&one.role)?;
        let name = super::sts::role_of(role).unwrap_or_default();
        let session = format!("eks-{}-{}", self.names.cluster(), &id[2..10]);
        let caller = Caller::Role { role: name.to_owned(), session: session.clone() };
        Ok(
            json!({"AccountId": self.names.account(), "arn": caller.arn(self.names.account()), "id": role_id(name),
            ASSUMED: {"role": name, "session": session, "seconds": LASTS}}),
        )
    }
}

fn known_role(arn: &str) -> Result<&str, Fault> {
    super::sts::role_of(arn)
        .map(|_| arn)
        .ok_or_else(|| invalid(format!("Role provided in the request does not exist: {arn}")))
}
