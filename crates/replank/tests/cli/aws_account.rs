//! A cluster that is served with its AWS account, and a client of the account that shares no code with ours.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use replank_judge::{Endpoint, Sent};
use ring::{digest, hmac};
use serde_json::Value;

use crate::common::{Ran, command, root};

/// It ends when this is dropped.
pub(crate) struct Account {
    served: Child,
    kubeconfig: PathBuf,
    pub(crate) variables: Vec<(String, String)>,
    endpoint: Endpoint,
}

impl Drop for Account {
    fn drop(&mut self) {
        drop(self.served.kill());
        drop(self.served.wait());
    }
}

impl Account {
    /// One that begins as a snapshot whose nodes are in groups by a label.
    pub(crate) fn served(name: &str, snapshot: &Value, label: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        let (file, kubeconfig) = (folder.join("snapshot.json"), folder.join("kubeconfig.json"));
        std::fs::write(&file, snapshot.to_string()).expect("it can be written");
        let log = std::fs::File::create(folder.join("served.log")).expect("it can be written");
        let mut served = Command::new(env!("CARGO_BIN_EXE_replank"))
            .args(["cluster", "up", "--aws", "--port", "0", "--speed", "20", "--group-label", label])
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .arg(&file)
            .current_dir(root())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("it starts");
        let output = served.stdout.take().expect("it has an output");
        let mut variables = Vec::new();
        for line in BufReader::new(output).lines() {
            let line = line.expect("it is text");
            let said = line.strip_prefix("export ").and_then(|pair| pair.split_once('='));
            variables.extend(said.map(|(name, value)| (name.to_owned(), value.to_owned())));
            if line.contains("AWS_DEFAULT_REGION") {
                break;
            }
        }
        let endpoint = Endpoint::of_kubeconfig(&kubeconfig).expect("it names a server");
        Self { served, kubeconfig, variables, endpoint }
    }

    fn variable(&self, name: &str) -> &str {
        let found = self.variables.iter().find(|(own, _)| own == name);
        &found.unwrap_or_else(|| panic!("{name} is not told: {:?}", self.variables)).1
    }

    /// A call of the binary with the account's variables, not yet run.
    pub(crate) fn call(&self, arguments: &[&str]) -> Command {
        let file = self.kubeconfig.to_str().expect("it is text");
        let mut command = command(&[arguments, &["--kubeconfig", file]].concat());
        command.env("AWS_EC2_METADATA_DISABLED", "true");
        command.envs(self.variables.iter().filter(|(name, _)| name.starts_with("AWS_")).cloned());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.call(arguments).output().expect("it can be run").into()
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.endpoint.exchange(&Sent::new("GET", path)).expect("it answers").json()
    }

    /// A call of Auto Scaling, as `Name=value&…`; the answer's text.
    pub(crate) fn auto_scaling(&self, action: &str, parameters: &str) -> String {
        let body = format!("Action={action}&Version=2011-01-01{parameters}");
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        self.signed("autoscaling", "POST", "/", &headers, &body)
    }

    /// "Create a signed AWS API request" in the IAM user guide, for paths without anything to escape.
    fn signed(
        &self,
        service: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> String {
        let host = self.variable("AWS_ENDPOINT_URL").trim_start_matches("http://").to_owned();
        let time = jiff_now();
        let (day, region) = (&time[..8], self.variable("AWS_REGION"));
        let mut headers: Vec<(&str, &str)> = headers.to_vec();
        headers.extend([("host", &*host), ("x-amz-date", &*time)]);
        let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
        let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let request = format!("{method}\n{path}\n\n{lines}\n{names}\n{}", sha256(body));
        let scope = format!("{day}/{region}/{service}/aws4_request");
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", sha256(&request));
        let mut key = format!("AWS4{}", self.variable("AWS_SECRET_ACCESS_KEY")).into_bytes();
        for part in [day, region, service, "aws4_request", &text] {
            key = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), part.as_bytes()).as_ref().to_vec();
        }
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={}",
            self.variable("AWS_ACCESS_KEY_ID"),
            hex(&key)
        );
        let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{lines}authorization: {authorization}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(&host).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 200"), "{service} {path} {body}: {answer}");
        answer.split_once("\r\n\r\n").expect("there is a body").1.to_owned()
    }
}

/// The present time, as `20261127T063000Z`.
fn jiff_now() -> String {
    let said = Command::new("date").args(["-u", "+%Y%m%dT%H%M%SZ"]).output().expect("there is a clock");
    String::from_utf8(said.stdout).expect("it is text").trim().to_owned()
}

fn sha256(text: &str) -> String {
    hex(digest::digest(&digest::SHA256, text.as_bytes()).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
