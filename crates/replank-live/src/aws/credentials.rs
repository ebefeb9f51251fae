//! Credentials, by the chain of AWS's SDKs: the environment, profiles, web identity (IRSA), containers (EKS Pod Identity, ECS), the instance (IMDSv2).
//!
//! A profile that is asked for by name goes before the environment. The first source that is there is the one: where it fails, nothing else is tried.

use std::env;
use std::fs;

use http::Method;
use serde_json::{Value, json};

use super::error::AwsError;
use super::found::Found;
use super::profile::Profiles;
use super::service::Service;
use super::sign::Key;
use super::wire::{Plain, Wire};

/// Roles that assume roles: more in a row are a circle.
const DEEP_MAX: usize = 5;
const IMDS: &str = "http://169.254.169.254";
const ECS: &str = "http://169.254.170.2";

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn failed(source: &str, why: impl std::fmt::Display) -> AwsError {
    AwsError::Credentials { source_of: source.to_owned(), why: why.to_string() }
}

/// Gets credentials.
pub(super) async fn find(wire: &Wire, profiles: &Profiles, asked: Option<&str>) -> Result<Found, AwsError> {
    if asked.is_none()
        && let (Some(access_key), Some(secret_key)) =
            (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"))
    {
        let key = Key { access_key, secret_key, session_token: variable("AWS_SESSION_TOKEN") };
        return Ok(Found::fixed(key, "the environment"));
    }
    let named = asked.map(str::to_owned).or_else(|| variable("AWS_PROFILE"));
    let name = named.clone().unwrap_or_else(|| "default".to_owned());
    if named.is_some() && !profiles.has(&name) {
        return Err(AwsError::NoProfile { profile: name, known: profiles.names() });
    }
    if let Some(found) = Box::pin(of_profile(wire, profiles, &name, 0)).await? {
        return Ok(found);
    }
    if let (Some(file), Some(role)) = (variable("AWS_WEB_IDENTITY_TOKEN_FILE"), variable("AWS_ROLE_ARN")) {
        return of_web_identity(wire, &file, &role).await;
    }
    if let Some(found) = of_container().await? {
        return Ok(found);
    }
    if let Some(found) = of_instance().await? {
        return Ok(found);
    }
    let looked_at = "the environment has none, no profile has any, and neither a pod's identity nor an instance's role is there";
    Err(AwsError::NoCredentials { looked_at: looked_at.to_owned() })
}

/// Those of a profile; `None` where it has none.
async fn of_profile(
    wire: &Wire,
    profiles: &Profiles,
    name: &str,
    depth: usize,
) -> Result<Option<Found>, AwsError> {
    let source = format!("the profile {name}");
    let get = |key: &str| profiles.get(name, key).map(str::to_owned);
    if let Some(role) = get("role_arn") {
        if let Some(file) = get("web_identity_token_file") {
            return of_web_identity(wire, &file, &role).await.map(Some);
        }
        if depth >= DEEP_MAX {
            return Err(failed(&source, "its roles go in a circle (source_profile)"));
        }
        let base = match (get("source_profile"), get("credential_source").as_deref()) {
            (Some(other), _) if other != name => {
                Box::pin(of_profile(wire, profiles, &other, depth + 1)).await?
            }
            (Some(_), _) => fixed(profiles, name),
            (None, Some("Environment")) => of_environment(),
            (None, Some("EcsContainer")) => of_container().await?,
            (None, Some("Ec2InstanceMetadata")) => of_instance().await?,
            (None, _) => {
                return Err(failed(
                    &source,
                    "it has role_arn, and neither source_profile nor credential_source",
                ));
            }
        };
        let base = base.ok_or_else(|| failed(&source, "the source of its role has no credentials"))?;
        let mut params =
            json!({"RoleArn": role, "RoleSessionName": get("role_session_name").unwrap_or_else(session)});
        if let Some(id) = get("external_id") {
            params["ExternalId"] = id.into();
        }
        let answer = wire.query(Service::Sts, "AssumeRole", &params, Some(&base)).await;
        let answer = answer.map_err(|error| failed(&source, error))?;
        return of_sts(&answer, format!("{source} ({role})")).map(Some);
    }
    if let Some(found) = fixed(profiles, name) {
        return Ok(Some(found));
    }
    if let Some(command) = get("credential_process") {
        return of_process(&command, &source).await.map(Some);
    }
    if get("sso_session").or_else(|| get("sso_start_url")).is_some() {
        return Err(failed(
            &source,
            format!(
                "it signs in by IAM Identity Center, which is not supported: export its credentials (eval \"$(aws configure export-credentials --profile {name} --format env)\"), or set credential_process to aws configure export-credentials --profile {name}"
            ),
        ));
    }
    Ok(None)
}

fn session() -> String {
    variable("AWS_ROLE_SESSION_NAME").unwrap_or_else(|| "replank".to_owned())
}

fn fixed(profiles: &Profiles, name: &str) -> Option<Found> {
    let get = |key: &str| profiles.get(name, key).map(str::to_owned);
    let key = Key {
        access_key: get("aws_access_key_id")?,
        secret_key: get("aws_secret_access_key")?,
        session_token: get("aws_session_token"),
    };
    Some(Found::fixed(key, format!("the profile {name}")))
}

fn of_environment() -> Option<Found> {
    let key = Key {
        access_key: variable("AWS_ACCESS_KEY_ID")?,
        secret_key: variable("AWS_SECRET_ACCESS_KEY")?,
        session_token: variable("AWS_SESSION_TOKEN"),
    };
    Some(Found::fixed(key, "the environment"))
}

/// IRSA: a token that the cluster has signed is changed for credentials of a role.
async fn of_web_identity(wire: &Wire, file: &str, role: &str) -> Result<Found, AwsError> {
    let source = format!("the web identity token {file}");
    let token = fs::read_to_string(file).map_err(|error| failed(&source, error))?;
    let params = json!({"RoleArn": role, "RoleSessionName": session(), "WebIdentityToken": token.trim()});
    let answer = wire.query(Service::Sts, "AssumeRoleWithWebIdentity", &params, None).await;
    of_sts(&answer.map_err(|error| failed(&source, error))?, source)
}

fn of_sts(answer: &Value, source: String) -> Result<Found, AwsError> {
    read(&answer["Credentials"], ["AccessKeyId", "SecretAccessKey", "SessionToken"], source)
}

/// EKS Pod Identity, and tasks of ECS.
async fn of_container() -> Result<Option<Found>, AwsError> {
    let uri = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
        .map(|path| format!("{ECS}{path}"))
        .or_else(|| variable("AWS_CONTAINER_CREDENTIALS_FULL_URI"));
    let Some(uri) = uri else { return Ok(None) };
    let source = format!("the container's {uri}");
    let mut headers = Vec::new();
    if let Some(file) = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
        let token = fs::read_to_string(&file).map_err(|error| failed(&source, format!("{file}: {error}")))?;
        headers.push(("authorization", token.trim().to_owned()));
    } else if let Some(token) = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN") {
        headers.push(("authorization", token));
    }
    let answer = Plain { method: Method::GET, uri: &uri, headers }.text().await;
    let answer = answer.map_err(|why| failed(&source, why))?;
    of_json(&answer, source).map(Some)
}

/// IMDSv2: `None` where there is no instance metadata service.
async fn of_instance() -> Result<Option<Found>, AwsError> {
    if variable("AWS_EC2_METADATA_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    let at = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT").unwrap_or_else(|| IMDS.to_owned());
    let at = at.trim_end_matches('/').to_owned();
    let ttl = vec![("x-aws-ec2-metadata-token-ttl-seconds", "21600".to_owned())];
    let token =
        Plain { method: Method::PUT, uri: &format!("{at}/latest/api/token"), headers: ttl }.text().await;
    let Ok(token) = token else { return Ok(None) };
    let source = "the instance's role".to_owned();
    let get = async |path: &str| {
        let headers = vec![("x-aws-ec2-metadata-token", token.clone())];
        let uri = format!("{at}/latest/meta-data/iam/security-credentials/{path}");
        Plain { method: Method::GET, uri: &uri, headers }.text().await
    };
    let Ok(role) = get("").await else { return Ok(None) };
    let role = role.lines().next().unwrap_or_default().trim().to_owned();
    let answer = get(&role).await.map_err(|why| failed(&source, why))?;
    of_json(&answer, source).map(Some)
}

/// A program that prints credentials.
async fn of_process(command: &str, source: &str) -> Result<Found, AwsError> {
    let command = command.to_owned();
    let ran =
        tokio::task::spawn_blocking(move || std::process::Command::new("sh").args(["-c", &command]).output());
    let output = match ran.await {
        Ok(output) => output.map_err(|error| failed(source, error))?,
        Err(error) => return Err(failed(source, error)),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(source, format!("its program failed ({}): {}", output.status, said.trim())));
    }
    let answer: Value = serde_json::from_slice(&output.stdout).map_err(|error| failed(source, error))?;
    read(&answer, ["AccessKeyId", "SecretAccessKey", "SessionToken"], format!("{source} (its program)"))
}

fn of_json(text: &str, source: String) -> Result<Found, AwsError> {
    let answer: Value = serde_json::from_str(text).map_err(|error| failed(&source, error))?;
    read(&answer, ["AccessKeyId", "SecretAccessKey", "Token"], source)
}

fn read(from: &Value, names: [&str; 3], source: String) -> Result<Found, AwsError> {
    let text = |name: &str| from[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let missing = |name: &str| failed(&source, format!("the answer has no {name}"));
    let key = Key {
        access_key: text(names[0]).ok_or_else(|| missing(names[0]))?,
        secret_key: text(names[1]).ok_or_else(|| missing(names[1]))?,
        session_token: text(names[2]),
    };
    let until = match text("Expiration") {
        Some(until) => Some(until.parse().map_err(|error| failed(&source, error))?),
        None => None,
    };
    Ok(Found { key, source, until })
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::*;

    #[test]
    fn credentials_are_fresh_until_shortly_before_their_end() {
        let of = |until: Timestamp| {
            let answer = json!({"AccessKeyId": "A", "SecretAccessKey": "S", "Token": "T", "Expiration": until.to_string()});
            of_json(&answer.to_string(), "a test".to_owned()).expect("they are whole")
        };
        let now = Timestamp::now();
        assert!(of(now + SignedDuration::from_mins(10)).is_fresh());
        assert!(!of(now + SignedDuration::from_mins(4)).is_fresh());
        assert_eq!(of(now).key.session_token.as_deref(), Some("T"));
        let error = of_json("{\"AccessKeyId\": \"A\"}", "a test".to_owned()).expect_err("a part is missing");
        assert_eq!(
            error.to_string(),
            "cannot get AWS credentials from a test: the answer has no SecretAccessKey"
        );
    }
}
