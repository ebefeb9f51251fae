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
use super::wire::{Plain, PlainError, Wire};

/// Roles that assume roles: more in a row are a circle.
const DEEP_MAX: usize = 5;
/// How often a source is asked that may answer soon.
const TRIES: u32 = 4;
const IMDS: &str = "http://169.254.169.254";
const ECS: &str = "http://169.254.170.2";

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn failed(source: &str, why: impl std::fmt::Display) -> AwsError {
    AwsError::Credentials { source_of: source.to_owned(), why: why.to_string() }
}

/// Gets credentials.
///
/// # Errors
/// Where there are none, or their source fails.
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
    if let Some(found) = of_container(wire).await? {
        return Ok(found);
    }
    if let Some(found) = of_instance(wire, Metadata::MaybeAbsent).await? {
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
            (None, Some("EcsContainer")) => of_container(wire).await?,
            (None, Some("Ec2InstanceMetadata")) => of_instance(wire, Metadata::Expected).await?,
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
        let answer = sts(wire, "AssumeRole", &params, Some(&base)).await;
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
    let answer = sts(wire, "AssumeRoleWithWebIdentity", &params, None).await;
    of_sts(&answer.map_err(|error| failed(&source, error))?, source)
}

/// A call of STS, tried as other reads are: it changes nothing.
async fn sts(wire: &Wire, action: &str, params: &Value, by: Option<&Found>) -> Result<Value, AwsError> {
    let mut backoff = wire.backoff(format!("credentials/{action}"));
    let mut tries = 0;
    loop {
        tries += 1;
        match wire.query(Service::Sts, action, params, by).await {
            Err(error) if error.is_passing() && tries < TRIES.min(wire.reads(Service::Sts)) => {
                tokio::time::sleep(backoff.next()).await;
            }
            answer => return answer,
        }
    }
}

/// The text of a source beside this process, tried a few times where `is_passing` says that it may answer soon.
async fn patiently(
    wire: &Wire,
    plain: Plain<'_>,
    is_passing: fn(&PlainError) -> bool,
) -> Result<String, PlainError> {
    let mut backoff = wire.backoff(format!("credentials/{}", plain.uri));
    let mut tries = 0;
    loop {
        tries += 1;
        match plain.text().await {
            Err(error) if is_passing(&error) && tries < TRIES => tokio::time::sleep(backoff.next()).await,
            answer => return answer,
        }
    }
}

fn of_sts(answer: &Value, source: String) -> Result<Found, AwsError> {
    read(&answer["Credentials"], ["AccessKeyId", "SecretAccessKey", "SessionToken"], source)
}

/// EKS Pod Identity, and tasks of ECS.
async fn of_container(wire: &Wire) -> Result<Option<Found>, AwsError> {
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
    of_agent(wire, &uri, headers, source).await.map(Some)
}

/// What a container's agent says.
async fn of_agent(
    wire: &Wire,
    uri: &str,
    headers: Vec<(&'static str, String)>,
    source: String,
) -> Result<Found, AwsError> {
    let plain = Plain { method: Method::GET, uri, headers };
    let answer = patiently(wire, plain, PlainError::is_passing).await;
    of_json(&answer.map_err(|why| failed(&source, why))?, source)
}

/// Whether there has to be an instance metadata service.
#[derive(Clone, Copy)]
enum Metadata {
    /// A profile says so.
    Expected,
    /// Most machines have none.
    MaybeAbsent,
}

impl Metadata {
    /// Whether its first answer may come soon. One that may not be there is not waited for.
    fn is_passing(self) -> fn(&PlainError) -> bool {
        match self {
            Self::Expected => PlainError::is_passing,
            Self::MaybeAbsent => |error| match error {
                PlainError::Silent(_) => false,
                PlainError::Wrong(_) | PlainError::Refused(..) => error.is_passing(),
            },
        }
    }
}

/// IMDSv2: `None` where there is no instance metadata service.
async fn of_instance(wire: &Wire, metadata: Metadata) -> Result<Option<Found>, AwsError> {
    if variable("AWS_EC2_METADATA_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    let at = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT").unwrap_or_else(|| IMDS.to_owned());
    of_metadata(wire, at.trim_end_matches('/'), metadata).await
}

async fn of_metadata(wire: &Wire, at: &str, metadata: Metadata) -> Result<Option<Found>, AwsError> {
    let source = "the instance's role".to_owned();
    let ttl = vec![("x-aws-ec2-metadata-token-ttl-seconds", "21600".to_owned())];
    let uri = format!("{at}/latest/api/token");
    let plain = Plain { method: Method::PUT, uri: &uri, headers: ttl };
    let is_passing = metadata.is_passing();
    let token = match patiently(wire, plain, is_passing).await {
        Ok(token) => token,
        // It is there, and fails.
        Err(why) if is_passing(&why) => return Err(failed(&source, why)),
        Err(_) => return Ok(None),
    };
    let get = async |path: &str| {
        let headers = vec![("x-aws-ec2-metadata-token", token.clone())];
        let uri = format!("{at}/latest/meta-data/iam/security-credentials/{path}");
        patiently(wire, Plain { method: Method::GET, uri: &uri, headers }, PlainError::is_passing).await
    };
    let role = match get("").await {
        Ok(role) => role,
        Err(why) if why.is_passing() => return Err(failed(&source, why)),
        // The instance has no role.
        Err(_) => return Ok(None),
    };
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
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::SeqCst;

    use jiff::{SignedDuration, Timestamp};

    use super::super::stand_in::StandIn;
    use super::*;

    fn run<T>(work: impl Future<Output = T>) -> T {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it can be made");
        runtime.block_on(work)
    }

    /// A source that fails so often, with that, before it answers.
    fn fails(times: usize, with: &'static str, answers: fn(&str) -> String) -> StandIn {
        let left = AtomicUsize::new(times);
        StandIn::new(move |line, _| {
            let is_failing = left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok();
            if is_failing { with.to_owned() } else { answers(line) }
        })
    }

    const KEY: &str = r#"{"AccessKeyId": "A", "SecretAccessKey": "S", "Token": "T"}"#;

    /// An instance with a role.
    fn metadata(line: &str) -> String {
        match line {
            "PUT /latest/api/token" => "session".to_owned(),
            "GET /latest/meta-data/iam/security-credentials/" => "shop\n".to_owned(),
            "GET /latest/meta-data/iam/security-credentials/shop" => KEY.to_owned(),
            other => panic!("it is not asked for: {other}"),
        }
    }

    #[test]
    fn a_role_is_asked_for_again_where_sts_fails_for_a_moment_and_not_where_it_refuses() {
        let answers = |_: &str| {
            "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>S</SecretAccessKey></Credentials></AssumeRoleResult></AssumeRoleResponse>".to_owned()
        };
        let role = async |source: &StandIn| {
            sts(&source.wire(), "AssumeRole", &json!({"RoleArn": "r"}), Some(&StandIn::found())).await
        };
        for with in ["500 InternalFailure x", "400 Throttling x"] {
            let source = fails(2, with, answers);
            let found = of_sts(&run(role(&source)).expect("it answers at last"), "a test".to_owned());
            assert_eq!(found.expect("it is whole").key.access_key, "A");
            assert_eq!(source.asked(), ["AssumeRole"; 3], "{with}");
        }
        let source = fails(usize::MAX, "503 ServiceUnavailable x", answers);
        let error = run(role(&source)).expect_err("it never answers");
        assert!(error.to_string().starts_with("sts:AssumeRole: ServiceUnavailable"), "{error}");
        assert_eq!(source.asked().len(), TRIES as usize);
        let source = fails(1, "403 AccessDenied x", answers);
        run(role(&source)).expect_err("it is refused");
        assert_eq!(source.asked().len(), 1);
    }

    #[test]
    fn an_agent_and_an_instance_are_asked_again_where_they_fail_for_a_moment() {
        let source = fails(2, "500 x x", |_| KEY.to_owned());
        let uri = format!("{}/v1/credentials", source.address());
        let found = run(of_agent(&source.wire(), &uri, Vec::new(), "an agent".to_owned()));
        assert_eq!(found.expect("it answers at last").key.access_key, "A");
        assert_eq!(source.asked().len(), 3);
        let source = fails(1, "403 x no", |_| KEY.to_owned());
        let uri = format!("{}/v1/credentials", source.address());
        let found = run(of_agent(&source.wire(), &uri, Vec::new(), "an agent".to_owned()));
        let error = found.expect_err("it is refused").to_string();
        assert_eq!(error, "cannot get AWS credentials from an agent: 403: no");
        assert_eq!(source.asked().len(), 1);
        for times in 1..3 {
            let source = fails(times, "503 x x", metadata);
            let found = run(of_metadata(&source.wire(), source.address(), Metadata::MaybeAbsent));
            let found = found.expect("it answers at last").expect("it has a role");
            assert_eq!(found.key.access_key, "A");
            assert_eq!(source.asked().len(), times + 3);
        }
    }

    #[test]
    fn a_metadata_service_that_fails_is_told_apart_from_one_that_is_not_there() {
        let source = fails(usize::MAX, "503 x busy", metadata);
        let found = run(of_metadata(&source.wire(), source.address(), Metadata::MaybeAbsent));
        let error = found.expect_err("it is there").to_string();
        assert_eq!(error, "cannot get AWS credentials from the instance's role: 503: busy");
        let source = fails(1, "403 x off", metadata);
        let found = run(of_metadata(&source.wire(), source.address(), Metadata::MaybeAbsent));
        assert!(found.expect("it is switched off").is_none());
        let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let at = format!("http://{}", closed.local_addr().expect("it has an address"));
        drop(closed);
        let found = run(of_metadata(&source.wire(), &at, Metadata::MaybeAbsent));
        assert!(found.expect("most machines have none").is_none());
        run(of_metadata(&source.wire(), &at, Metadata::Expected)).expect_err("a profile names it");
    }

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
