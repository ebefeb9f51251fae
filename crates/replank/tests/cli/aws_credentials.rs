//! Credentials that are not in the environment: a pod's (IRSA, EKS Pod Identity) and an instance's (IMDSv2), from a stand-in that asks what AWS asks, and a role's from a served
//! account itself. What they sign, the account accepts.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::aws_account::{Account, list, nodes_of};
use super::common::Ran;

/// The token that a cluster has signed, and the one that an instance gives.
const TOKEN: &str = "token-of-the-pod";
const SESSION: &str = "session-of-the-instance";
/// A role of the account.
const ROLE: &str = "arn:aws:iam::111122223333:role/shop";

/// A role's key, as STS hands it out.
#[derive(Clone, Debug)]
struct Key {
    access: String,
    secret: String,
    session: String,
}

impl Key {
    /// A session of a role of the account.
    fn assumed(account: &Account) -> Self {
        let body = format!("Action=AssumeRole&Version=2011-06-15&RoleArn={ROLE}&RoleSessionName=test");
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let answer = account.signed("sts", "POST", "/", &headers, &body);
        let text = |name: &str| {
            let (_, rest) =
                answer.split_once(&format!("<{name}>")).unwrap_or_else(|| panic!("{name}: {answer}"));
            rest.split('<').next().unwrap_or_default().to_owned()
        };
        Self { access: text("AccessKeyId"), secret: text("SecretAccessKey"), session: text("SessionToken") }
    }
}

/// A request, as far as it matters.
#[derive(Clone, Debug)]
struct Heard {
    line: String,
    headers: String,
    body: String,
}

impl Heard {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let (mut line, mut headers, mut length) = (String::new(), String::new(), 0);
        reader.read_line(&mut line).ok()?;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            let lower = header.trim().to_ascii_lowercase();
            if lower.is_empty() {
                break;
            }
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            headers.push_str(header.trim());
            headers.push('\n');
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Self { line: line.trim().to_owned(), headers, body: String::from_utf8(body).ok()? })
    }

    fn action(&self) -> &str {
        self.body.split('&').find_map(|pair| pair.strip_prefix("Action=")).unwrap_or_default()
    }

    fn has(&self, header: &str) -> bool {
        self.headers.lines().any(|line| line.eq_ignore_ascii_case(header))
    }
}

/// STS, the Pod Identity agent and the instance metadata service on one port. It answers whoever asks as AWS wants to be asked, and nobody else; what it is asked first it is too busy
/// for.
fn stand_in(key: Key) -> (String, Arc<Mutex<Vec<Heard>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let at = format!("http://{}", listener.local_addr().expect("it has one"));
    let heard: Arc<Mutex<Vec<Heard>>> = Arc::default();
    let kept = heard.clone();
    thread::spawn(move || {
        let mut failed = BTreeSet::new();
        for mut stream in listener.incoming().flatten() {
            let Some(request) = Heard::read(&stream) else { continue };
            // Each source fails once.
            let is_first = failed.insert((request.line.clone(), request.action().to_owned()));
            let (status, body) = if is_first { (503, "busy".to_owned()) } else { answer(&request, &key) };
            kept.lock().expect("nobody has panicked").push(request);
            let length = body.len();
            let text =
                format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
            drop(stream.write_all(text.as_bytes()));
        }
    });
    (at, heard)
}

fn answer(request: &Heard, Key { access, secret, session }: &Key) -> (u16, String) {
    let until = "2099-01-01T00:00:00Z";
    let plain = json!({"Code": "Success", "AccessKeyId": access, "SecretAccessKey": secret, "Token": session, "Expiration": until});
    let path = request.line.split(' ').nth(1).unwrap_or_default();
    let method = request.line.split(' ').next().unwrap_or_default();
    match (method, path) {
        ("POST", _) if request.body.contains("Action=AssumeRoleWithWebIdentity") => {
            let is_right = request.body.contains(&format!("WebIdentityToken={TOKEN}"))
                && request.body.contains("RoleArn=arn%3Aaws%3Aiam%3A%3A111122223333%3Arole%2Fshop")
                && !request.headers.to_lowercase().contains("authorization:");
            if !is_right {
                return (400, "<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>not this</Message></Error></ErrorResponse>".to_owned());
            }
            (200, format!(
                "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>{access}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey>\
                 <SessionToken>{session}</SessionToken><Expiration>{until}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
            ))
        }
        ("POST", _) if request.body.contains("Action=GetCallerIdentity") && request.has(&format!("x-amz-security-token: {session}")) => (
            200,
            "<GetCallerIdentityResponse><GetCallerIdentityResult><Account>111122223333</Account></GetCallerIdentityResult></GetCallerIdentityResponse>".to_owned(),
        ),
        ("GET", "/v1/credentials") if request.has(&format!("authorization: {TOKEN}")) => (200, plain.to_string()),
        ("PUT", "/latest/api/token") if request.has("x-aws-ec2-metadata-token-ttl-seconds: 21600") => (200, SESSION.to_owned()),
        ("GET", "/latest/meta-data/iam/security-credentials/") if request.has(&format!("x-aws-ec2-metadata-token: {SESSION}")) => {
            (200, "shop".to_owned())
        }
        ("GET", "/latest/meta-data/iam/security-credentials/shop") if request.has(&format!("x-aws-ec2-metadata-token: {SESSION}")) => {
            (200, plain.to_string())
        }
        _ => (401, "not like this".to_owned()),
    }
}

fn token_file(name: &str, text: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, format!("{text}\n")).expect("it can be written");
    file
}

#[test]
fn pods_and_instances_get_their_credentials_as_aws_hands_them_out() {
    let snapshot: Value = list(nodes_of("eks.amazonaws.com/nodegroup"));
    let account = Account::served_with(
        "aws-credentials",
        &snapshot,
        ("eks.amazonaws.com/nodegroup", 60),
        &["--kubernetes-version", "1.35"],
    );
    let key = Key::assumed(&account);
    let (at, heard) = stand_in(key);
    let (token, wrong) = (token_file("credentials-token", TOKEN), token_file("credentials-wrong", "another"));
    let run = |variables: &[(&str, &str)]| {
        let arguments =
            ["upgrade", "run", "--to", "1.36", "--cluster", "rehearsal", "--dry-run", "--no-rehearsal"];
        let mut call = account.call(&arguments);
        call.env_remove("AWS_ACCESS_KEY_ID")
            .env_remove("AWS_SECRET_ACCESS_KEY")
            .env_remove("AWS_EC2_METADATA_DISABLED");
        call.env("HOME", "/nonexistent").env("AWS_ENDPOINT_URL_STS", &at);
        call.envs(variables.iter().copied());
        heard.lock().expect("nobody has panicked").clear();
        Ran::from(call.output().expect("it can be run"))
    };
    let off = ("AWS_EC2_METADATA_DISABLED", "true");
    let text = |path: &PathBuf| path.to_str().expect("it is text").to_owned();
    let agent = format!("{at}/v1/credentials");
    let (right_file, wrong_file) = (text(&token), text(&wrong));
    let irsa = |file| vec![off, ("AWS_WEB_IDENTITY_TOKEN_FILE", file), ("AWS_ROLE_ARN", ROLE)];
    let pod = |file| {
        vec![
            off,
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &*agent),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file),
        ]
    };
    let right = [
        ("IRSA", irsa(&right_file)),
        ("Pod Identity", pod(&right_file)),
        ("IMDSv2", vec![("AWS_EC2_METADATA_SERVICE_ENDPOINT", at.as_str())]),
    ];
    for (what, variables) in &right {
        let ran = run(variables);
        assert_eq!(ran.code, Some(0), "{what}: {ran:?} {:?}", heard.lock());
        assert!(ran.stderr.contains("AWS account 111122223333 in eu-west-1"), "{what}: {ran:?}");
    }
    let refused = run(&irsa(&wrong_file));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("InvalidIdentityToken"), "{refused:?}");
    let refused = run(&pod(&wrong_file));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("cannot get AWS credentials from the container's"), "{refused:?}");
}

#[test]
fn a_served_account_hands_out_roles_by_profile_to_service_accounts_and_to_pods() {
    let snapshot: Value = list(nodes_of("eks.amazonaws.com/nodegroup"));
    let account = Account::served_with(
        "aws-roles",
        &snapshot,
        ("eks.amazonaws.com/nodegroup", 60),
        &["--kubernetes-version", "1.35", "--aws-deny", "eks:DescribeCluster"],
    );
    let variable = |name: &str| account.variable(name).to_owned();
    let (access, secret) = (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"));
    let config = token_file(
        "roles-config",
        &format!(
            "[default]\n[profile ops]\nrole_arn = {ROLE}\nsource_profile = default\nrole_session_name = ops\n\
             [profile other]\nrole_arn = arn:aws:iam::444455556666:role/shop\nsource_profile = default"
        ),
    );
    let keys = token_file(
        "roles-credentials",
        &format!("[default]\naws_access_key_id = {access}\naws_secret_access_key = {secret}"),
    );
    // The account refuses one of the calls, and names who it was that made it.
    let run = |variables: &[(&str, &str)]| {
        let arguments =
            ["upgrade", "run", "--to", "1.36", "--cluster", "rehearsal", "--dry-run", "--no-rehearsal"];
        let mut call = account.call(&arguments);
        call.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
        call.env("HOME", "/nonexistent").envs(variables.iter().copied());
        Ran::from(call.output().expect("it can be run"))
    };
    let text = |path: &PathBuf| path.to_str().expect("it is text").to_owned();
    let (config, keys) = (text(&config), text(&keys));
    let by_profile = |name| {
        run(&[("AWS_CONFIG_FILE", &*config), ("AWS_SHARED_CREDENTIALS_FILE", &*keys), ("AWS_PROFILE", name)])
    };
    let token = |audience: &str| {
        let spec = json!({"audiences": [audience], "expirationSeconds": 3600});
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
        let made = account.posted("/api/v1/namespaces/default/serviceaccounts/default/token", &request);
        made["status"]["token"].as_str().expect("it is made").to_owned()
    };
    let (right, wrong) = (token("sts.amazonaws.com"), token("vault"));
    let (right, wrong) = (text(&token_file("roles-right", &right)), text(&token_file("roles-wrong", &wrong)));
    let by_token = |file: &str| run(&[("AWS_WEB_IDENTITY_TOKEN_FILE", file), ("AWS_ROLE_ARN", ROLE)]);
    let of_pod = json!({"namespace": "default", "serviceAccount": "default", "roleArn": ROLE});
    account.eks("POST", "/clusters/rehearsal/pod-identity-associations", &of_pod);
    let pod = text(&token_file("roles-pod", &token("pods.eks.amazonaws.com")));
    let agent = format!("{}/v1/credentials", account.variable("AWS_ENDPOINT_URL"));
    let by_agent = || {
        run(&[
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &*agent),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", &*pod),
        ])
    };
    for (what, ran, session) in [
        ("a profile", by_profile("ops"), "assumed-role/shop/ops"),
        ("IRSA", by_token(&right), "assumed-role/shop/replank"),
        ("Pod Identity", by_agent(), "assumed-role/shop/eks-rehearsal-"),
    ] {
        assert!(ran.stderr.contains(session), "{what}: {ran:?}");
    }
    let refused = by_profile("other");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("AccessDenied"), "{refused:?}");
    let refused = by_token(&wrong);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("Incorrect token audience"), "{refused:?}");
}
