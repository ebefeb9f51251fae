//! Security Token Service: who asks, and as whom they ask from then on. Credentials themselves are the gate's to hand out.
//!
//! Every role of the account can be assumed, by whoever may call: roles, their policies and whom they trust are IAM's, which is not simulated.

use serde_json::{Value, json};

use super::names::Names;
use super::unknown::unknown;
use crate::call::{ASSUMED, Call, Reply};
use crate::caller::{Caller, WebIdentity, role_id};
use crate::fault::Fault;
use crate::input::Input;
use crate::service::Service;

/// How long credentials of a role last where nothing is said, at least, and at most (MaxSessionDuration).
const LASTS: i64 = 3_600;
const LASTS_MIN: i64 = 900;
const LASTS_MAX: i64 = 43_200;
/// How long they last at most where a role assumes it.
const CHAINED_MAX: i64 = 3_600;
/// Whom tokens are for that are shown to STS (IRSA).
const AUDIENCE: &str = "sts.amazonaws.com";

pub(crate) fn answer(names: &Names, call: &Call) -> Reply {
    let input = Input(&call.input);
    match call.action.as_str() {
        "GetCallerIdentity" => Ok(json!({
            "Arn": call.caller.arn(names.account()),
            "UserId": call.caller.id(),
            "Account": names.account(),
        })),
        "AssumeRole" => {
            let max = match call.caller {
                Caller::Role { .. } => CHAINED_MAX,
                Caller::User | Caller::Web(_) => LASTS_MAX,
            };
            let refused = |arn: &str| {
                let user = call.caller.arn(names.account());
                format!("User: {user} is not authorized to perform: sts:AssumeRole on resource: {arn}")
            };
            assumed(names, input, max, &refused)
        }
        "AssumeRoleWithWebIdentity" => {
            let shown = input.required("WebIdentityToken")?;
            let identity = trusted(&call.caller, shown)?;
            let refused = |_: &str| "Not authorized to perform sts:AssumeRoleWithWebIdentity".to_owned();
            let mut reply = assumed(names, input, LASTS_MAX, &refused)?;
            let issuer = identity.issuer.trim_start_matches("https://");
            reply["SubjectFromWebIdentityToken"] = json!(identity.subject);
            reply["Audience"] = json!(AUDIENCE);
            reply["Provider"] = json!(format!("arn:aws:iam::{}:oidc-provider/{issuer}", names.account()));
            Ok(reply)
        }
        other => Err(unknown(Service::Sts, other)),
    }
}

/// What a token of the cluster says, where STS goes by it.
fn trusted<'c>(caller: &'c Caller, shown: &str) -> Result<&'c WebIdentity, Fault> {
    let wrong = |words: &str| Fault::bad("InvalidIdentityToken", words);
    if shown.split('.').count() != 3 {
        return Err(wrong(
            "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)",
        ));
    }
    let known = match caller {
        Caller::Web(known) => known.as_ref(),
        Caller::User | Caller::Role { .. } => None,
    };
    let identity = known.ok_or_else(|| {
        wrong("Couldn't retrieve verification key from your identity provider,  please reference AssumeRoleWithWebIdentity documentation for requirements")
    })?;
    if identity.until <= identity.shown {
        return Err(Fault::bad(
            "ExpiredTokenException",
            format!(
                "Token expired: current date/time {} must be before the expiration date/time{}",
                identity.shown, identity.until
            ),
        ));
    }
    if !identity.audiences.iter().any(|audience| audience == AUDIENCE) {
        return Err(wrong("Incorrect token audience"));
    }
    Ok(identity)
}

fn assumed(names: &Names, input: Input<'_>, max: i64, refused: &dyn Fn(&str) -> String) -> Reply {
    let (arn, session) = (input.required("RoleArn")?, input.required("RoleSessionName")?);
    let role = role_of(arn).ok_or_else(|| Fault::validation(format!("{arn} is invalid")))?;
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_+=,.@-".contains(letter);
    if !(2..=64).contains(&session.len()) || !session.chars().all(is_letter) {
        return Err(Fault::validation(format!(
            "1 validation error detected: Value '{session}' at 'roleSessionName' failed to satisfy constraint: Member must satisfy regular expression pattern: [\\w+=,.@-]*, and have 2 to 64 characters"
        )));
    }
    let seconds = input.number("DurationSeconds")?.unwrap_or(LASTS);
    if !(LASTS_MIN..=LASTS_MAX).contains(&seconds) {
        let (word, bound) = if seconds < LASTS_MIN { ("greater", LASTS_MIN) } else { ("less", LASTS_MAX) };
        return Err(Fault::validation(format!(
            "1 validation error detected: Value '{seconds}' at 'durationSeconds' failed to satisfy constraint: Member must have value {word} than or equal to {bound}"
        )));
    }
    if seconds > max {
        return Err(Fault::validation(
            "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining",
        ));
    }
    if arn.split(':').nth(4) != Some(names.account()) {
        return Err(Fault::new(403, "AccessDenied", refused(arn)));
    }
    let caller = Caller::Role { role: role.to_owned(), session: session.to_owned() };
    Ok(json!({
        "AssumedRoleUser": {"AssumedRoleId": format!("{}:{session}", role_id(role)), "Arn": caller.arn(names.account())},
        ASSUMED: {"role": role, "session": session, "seconds": seconds},
    }))
}

/// The name of a role, without its path.
pub(crate) fn role_of(arn: &str) -> Option<&str> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let ["arn", "aws", "iam", "", account, resource] = parts.as_slice() else { return None };
    let is_account = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
    let name = resource.strip_prefix("role/").filter(|_| is_account)?.rsplit('/').next()?;
    (!name.is_empty()).then_some(name)
}

/// An answer with the credentials that belong there.
pub(crate) fn with_credentials(mut reply: Value, credentials: Value) -> Value {
    if let Some(members) = reply.as_object_mut() {
        members.remove(ASSUMED);
        members.insert("Credentials".to_owned(), credentials);
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::names::Setting;

    fn names() -> Names {
        Names::new(Setting { account: "111122223333".to_owned(), ..Setting::default() })
    }

    fn asked(caller: Caller, action: &str, input: Value) -> Result<Value, String> {
        let call = Call { service: Service::Sts, action: action.to_owned(), input, caller, is_again: false };
        answer(&names(), &call).map_err(|fault| fault.code)
    }

    fn of_role(session: &str, seconds: &str) -> Value {
        json!({"RoleArn": "arn:aws:iam::111122223333:role/path/shop", "RoleSessionName": session, "DurationSeconds": seconds})
    }

    #[test]
    fn roles_of_the_account_are_assumed_for_as_long_as_aws_allows() {
        let right = asked(Caller::User, "AssumeRole", of_role("me", "900")).expect("it is right");
        assert_eq!(right["AssumedRoleUser"]["Arn"], "arn:aws:sts::111122223333:assumed-role/shop/me");
        assert_eq!(right[ASSUMED], json!({"role": "shop", "session": "me", "seconds": 900}));
        let invalid = Err("ValidationError".to_owned());
        for wrong in
            [of_role("m", "900"), of_role("a b", "900"), of_role("me", "899"), of_role("me", "43201")]
        {
            assert_eq!(asked(Caller::User, "AssumeRole", wrong), invalid);
        }
        let role = Caller::Role { role: "shop".to_owned(), session: "me".to_owned() };
        assert!(asked(role.clone(), "AssumeRole", of_role("me", "3600")).is_ok());
        assert_eq!(asked(role.clone(), "AssumeRole", of_role("me", "3601")), invalid);
        for (arn, code) in [
            ("arn:aws:iam::111122223333:user/shop", "ValidationError"),
            ("shop", "ValidationError"),
            ("arn:aws:iam::444455556666:role/shop", "AccessDenied"),
        ] {
            let input = json!({"RoleArn": arn, "RoleSessionName": "me"});
            assert_eq!(asked(Caller::User, "AssumeRole", input), Err(code.to_owned()), "{arn}");
        }
        let who = asked(role, "GetCallerIdentity", json!({})).expect("it is answered");
        assert_eq!(who["Arn"], "arn:aws:sts::111122223333:assumed-role/shop/me");
    }

    #[test]
    fn tokens_of_the_cluster_are_taken_for_sts_and_in_time_only() {
        let identity = WebIdentity {
            issuer: "https://kubernetes.default.svc".to_owned(),
            subject: "system:serviceaccount:shop:web".to_owned(),
            audiences: vec![AUDIENCE.to_owned()],
            until: 1_001,
            shown: 1_000,
        };
        let shown = |known: Option<WebIdentity>, token: &str| {
            let mut input = of_role("me", "900");
            input["WebIdentityToken"] = json!(token);
            asked(Caller::Web(known), "AssumeRoleWithWebIdentity", input)
        };
        let right = shown(Some(identity.clone()), "a.b.c").expect("it is right");
        assert_eq!(right["SubjectFromWebIdentityToken"], "system:serviceaccount:shop:web");
        assert_eq!(right["Provider"], "arn:aws:iam::111122223333:oidc-provider/kubernetes.default.svc");
        let invalid = Err("InvalidIdentityToken".to_owned());
        assert_eq!(shown(Some(identity.clone()), "abc"), invalid);
        assert_eq!(shown(None, "a.b.c"), invalid);
        let late = WebIdentity { until: 1_000, ..identity.clone() };
        assert_eq!(shown(Some(late), "a.b.c"), Err("ExpiredTokenException".to_owned()));
        let other = WebIdentity { audiences: vec!["vault".to_owned()], ..identity };
        assert_eq!(shown(Some(other), "a.b.c"), invalid);
    }
}
