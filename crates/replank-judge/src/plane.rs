//! The processes of one control plane.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::assets::Assets;
use crate::client::{Client, Method};

/// How long the API server may take to be ready.
const PATIENCE: Duration = Duration::from_secs(150);

/// How long one answer may take of what may not have begun yet, or is somebody else's.
const AN_ANSWER: Duration = Duration::from_secs(5);

/// Users whose requests an audited control plane writes down.
pub const AUDITED: [&str; 2] = ["replank", "kubectl"];

const API_SERVER: &str = "kube-apiserver";

const ETCD: &str = "etcd";

/// Where etcd keeps what it has: of this process alone, as the shell of one that has just ended may still be about to remove its own.
fn data_in(folder: &Path) -> PathBuf {
    folder.join(format!("etcd-data-{}", std::process::id()))
}

/// A control plane that runs; it ends when this is dropped.
#[derive(Debug)]
pub struct ControlPlane {
    /// Part of the name of its etcd and of its users' tokens: whoever answers on one of its ports is itself.
    name: String,
    folder: PathBuf,
    assets: Assets,
    /// The last one started is ended first.
    processes: Vec<(&'static str, Child)>,
    /// What the API server was started with.
    api_server: Vec<String>,
    client: Client,
    etcd: Client,
}

impl ControlPlane {
    /// Starts one that lives in `folder`, which must be empty or absent, on free ports of the loopback interface.
    ///
    /// # Errors
    /// A process cannot be started, or the API server does not become ready.
    pub fn up(assets: &Assets, folder: &Path) -> Result<Self> {
        Self::begin(assets, folder, false)
    }

    /// The same, with a log of all requests of [`AUDITED`] users, with their bodies.
    ///
    /// # Errors
    /// As [`ControlPlane::up`].
    pub fn up_audited(assets: &Assets, folder: &Path) -> Result<Self> {
        Self::begin(assets, folder, true)
    }

    fn begin(assets: &Assets, folder: &Path, audited: bool) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let folder = folder.canonicalize()?;
        // Another process may have taken one of the ports before it was bound.
        Self::try_begin(assets, &folder, audited).or_else(|error| {
            eprintln!("{error:#}; once more, on other ports");
            Self::try_begin(assets, &folder, audited)
        })
    }

    fn try_begin(assets: &Assets, folder: &Path, audited: bool) -> Result<Self> {
        let (client, etcd) = (Client::new("http://127.0.0.1:1"), Client::new("http://127.0.0.1:1"));
        let (name, folder, assets) = (new_name(), folder.to_owned(), assets.clone());
        let mut plane =
            Self { name, folder, assets, processes: Vec::new(), api_server: Vec::new(), client, etcd };
        plane.start_all(audited)?;
        Ok(plane)
    }

    /// The log of the API server, of one that is audited.
    #[must_use]
    pub fn audit_log(&self) -> PathBuf {
        self.folder.join("audit.log")
    }

    /// Writes the kubeconfig of one of the [`AUDITED`] users: administrators by another name.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn kubeconfig_of(&self, user: &str) -> Result<PathBuf> {
        let path = self.folder.join(format!("kubeconfig-{user}"));
        let text = fs::read_to_string(self.kubeconfig())?;
        fs::write(&path, text.replace(&self.token("admin"), &self.token(user)))?;
        Ok(path)
    }

    fn token(&self, user: &str) -> String {
        format!("{user}-{}", self.name)
    }

    /// Speaks to its API server as an administrator.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Speaks to its etcd.
    pub(crate) fn etcd(&self) -> &Client {
        &self.etcd
    }

    /// Its processes: the name and the id of each, of the program itself and not of the shell that ends it.
    pub fn processes(&self) -> impl Iterator<Item = (&'static str, u32)> + '_ {
        self.processes
            .iter()
            .filter(|(name, _)| *name != "kubectl proxy")
            .map(|(name, child)| (*name, first_child(child.id()).unwrap_or(child.id())))
    }

    /// The kubeconfig of its administrator.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// One of the programs that it came with.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.assets.program(name)
    }

    /// Ends the API server, and after a while begins it anew on the same port, with everything that etcd has.
    ///
    /// # Errors
    /// It cannot be started, or does not become ready.
    pub fn restart_api_server(&mut self, away: Duration) -> Result<()> {
        let place = self.processes.iter().position(|(name, _)| *name == API_SERVER);
        let (_, mut child) = self.processes.remove(place.context("it runs")?);
        drop(child.stdin.take());
        child.wait()?;
        std::thread::sleep(away);
        self.start(API_SERVER, &self.api_server.clone())?;
        self.wait_for("/readyz")
    }

    /// What `kubectl` prints on its standard output.
    ///
    /// # Errors
    /// It fails; its words.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let output = Command::new(self.assets.program("kubectl"))
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .args(arguments)
            .output()?;
        ensure!(output.status.success(), "kubectl: {}", String::from_utf8_lossy(&output.stderr));
        Ok(output.stdout)
    }

    fn start_all(&mut self, audited: bool) -> Result<()> {
        let [api, etcd, peer] = free_ports()?;
        let folder = self.folder.clone();
        let path = |name: &str| folder.join(name).display().to_string();
        let key = Command::new("openssl").args(["genrsa", "-out", &path("sa.key"), "2048"]).output();
        ensure!(
            key.context("openssl is needed to make a key")?.status.success(),
            "openssl cannot make a key"
        );
        let users = ["admin"].iter().chain(&AUDITED);
        let tokens = users.map(|user| format!("{},{user},{user},\"system:masters\"\n", self.token(user)));
        fs::write(path("tokens.csv"), tokens.collect::<String>())?;
        fs::write(path("audit.yaml"), audit_policy())?;
        fs::write(self.kubeconfig(), kubeconfig(api, &self.token("admin")))?;
        fs::write(path("scheduler.yaml"), scheduler(&path("kubeconfig")))?;

        let url = |port| format!("http://127.0.0.1:{port}");
        self.start(
            ETCD,
            &[
                format!("--name={}", self.name),
                format!("--data-dir={}", data_in(&folder).display()),
                format!("--listen-client-urls={}", url(etcd)),
                format!("--advertise-client-urls={}", url(etcd)),
                format!("--listen-peer-urls={}", url(peer)),
                format!("--initial-advertise-peer-urls={}", url(peer)),
                format!("--initial-cluster={}={}", self.name, url(peer)),
                "--unsafe-no-fsync".to_owned(),
            ],
        )?;
        self.etcd = Client::new(url(etcd));
        self.wait_for_etcd()?;
        self.api_server = [
            format!("--etcd-servers={}", url(etcd)),
            format!("--secure-port={api}"),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            format!("--cert-dir={}", path("certs")),
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local".to_owned(),
            format!("--service-account-key-file={}", path("sa.key")),
            format!("--service-account-signing-key-file={}", path("sa.key")),
            format!("--token-auth-file={}", path("tokens.csv")),
            "--authorization-mode=RBAC".to_owned(),
            "--service-cluster-ip-range=10.0.0.0/16".to_owned(),
            // No pod here uses its token, and none should wait for its account.
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            "--enable-aggregator-routing=false".to_owned(),
        ]
        .into();
        if audited {
            let log = self.audit_log().display().to_string();
            self.api_server.push(format!("--audit-policy-file={}", path("audit.yaml")));
            self.api_server.push(format!("--audit-log-path={log}"));
        }
        self.start(API_SERVER, &self.api_server.clone())?;
        self.client = Client::new(self.start_proxy()?);
        self.wait_for("/readyz")?;
        // Clients that are not throttled: what is measured is the control plane's logic, not its manners.
        self.start(
            "kube-controller-manager",
            &[
                format!("--kubeconfig={}", path("kubeconfig")),
                format!("--service-account-private-key-file={}", path("sa.key")),
                format!("--root-ca-file={}", path("certs/apiserver.crt")),
                "--leader-elect=false".to_owned(),
                "--use-service-account-credentials=false".to_owned(),
                "--secure-port=0".to_owned(),
                "--kube-api-qps=3000".to_owned(),
                "--kube-api-burst=6000".to_owned(),
            ],
        )?;
        self.start(
            "kube-scheduler",
            &[format!("--config={}", path("scheduler.yaml")), "--secure-port=0".to_owned()],
        )?;
        self.wait_for("/api/v1/namespaces/default/configmaps/kube-root-ca.crt")
    }

    fn start(&mut self, name: &'static str, arguments: &[String]) -> Result<()> {
        let log = File::create(self.folder.join(format!("{name}.log")))?;
        let data = (name == ETCD).then(|| data_in(&self.folder));
        let child = bound_to_us(&self.assets.program(name), data.as_deref())
            .args(arguments)
            .current_dir(&self.folder)
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        self.processes.push((name, child));
        Ok(())
    }

    /// Starts `kubectl proxy` on a port of its choice, and returns its address.
    fn start_proxy(&mut self) -> Result<String> {
        let mut child = bound_to_us(&self.assets.program("kubectl"), None)
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .args(["proxy", "--port=0", "--disable-filter=true"])
            .stdout(Stdio::piped())
            .stderr(File::create(self.folder.join("proxy.log"))?)
            .process_group(0)
            .spawn()
            .context("cannot start kubectl proxy")?;
        let mut line = String::new();
        let output = child.stdout.take().context("the proxy has an output")?;
        BufReader::new(output).read_line(&mut line)?;
        self.processes.push(("kubectl proxy", child));
        let address = line.trim().rsplit(' ').next().filter(|address| address.contains(':'));
        Ok(format!("http://{}", address.with_context(|| format!("kubectl proxy says {line:?}"))?))
    }

    /// An etcd that cannot have its port ends, and another plane's may answer there: two API servers on it would see each other's objects.
    fn wait_for_etcd(&self) -> Result<()> {
        let (begun, etcd) = (Instant::now(), self.etcd.within(AN_ANSWER));
        loop {
            if let Ok(answer) = etcd.send(Method::Post, "/v3/cluster/member/list", Some(&json!({})))
                && answer.status == 200
            {
                let name = &answer.body["members"][0]["name"];
                ensure!(*name == self.name, "the etcd that answers is {name}, and not {}", self.name);
                return Ok(());
            }
            self.still_waits(begun, ETCD)?;
        }
    }

    fn wait_for(&self, path: &str) -> Result<()> {
        let (begun, client) = (Instant::now(), self.client.within(AN_ANSWER));
        loop {
            if let Ok(answer) = client.send(Method::Get, path, None) {
                ensure!(answer.status != 401, "the API server that answers is another plane's");
                if answer.status == 200 {
                    return Ok(());
                }
            }
            self.still_waits(begun, path)?;
        }
    }

    /// A pause before it is asked again.
    fn still_waits(&self, begun: Instant, asked: &str) -> Result<()> {
        ensure!(
            begun.elapsed() < PATIENCE,
            "{asked} does not answer after {} s: see the logs in {}",
            PATIENCE.as_secs(),
            self.folder.display()
        );
        std::thread::sleep(Duration::from_millis(100));
        Ok(())
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        for (name, child) in self.processes.iter_mut().rev() {
            drop(child.stdin.take());
            if let Err(error) = child.wait() {
                eprintln!("{name} (process {}) was not ended: {error}", child.id());
            }
        }
    }
}

/// Runs a program until the standard input ends; then ends it, by force where it does not go: an API server whose etcd has gone before it waits for it. What the program
/// kept in the folder that is named first, if one is, goes with it: nobody goes on with what etcd has, and it reserves 64 MB each time.
const BOUND: &str = r#"
data="$1"; shift
"$@" & child=$!
cat
kill $child
(sleep 5; kill -9 $child) 2>/dev/null & force=$!
wait $child
kill $force 2>/dev/null
[ -z "$data" ] || rm -rf "$data"
"#;

/// A program that ends when our end of its standard input is closed: when it is dropped, or when this process ends, in whatever way.
fn bound_to_us(program: &Path, data: Option<&Path>) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", BOUND, "sh"]).arg(data.unwrap_or(Path::new(""))).arg(program).stdin(Stdio::piped());
    command
}

/// The first child of a process, where the system tells it.
fn first_child(id: u32) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

/// No other plane that runs on this machine has it.
fn new_name() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Three ports that nobody listens on: yet, as another plane may be given the same ones before ours are bound.
fn free_ports() -> Result<[u16; 3]> {
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0"));
    let mut ports = [0; 3];
    for (port, listener) in ports.iter_mut().zip(listeners) {
        *port = listener?.local_addr()?.port();
    }
    Ok(ports)
}

fn kubeconfig(port: u16, token: &str) -> String {
    format!(
        "apiVersion: v1
kind: Config
clusters: [{{name: real, cluster: {{server: \"https://127.0.0.1:{port}\", insecure-skip-tls-verify: true}}}}]
users: [{{name: admin, user: {{token: {token}}}}}]
contexts: [{{name: real, context: {{cluster: real, user: admin}}}}]
current-context: real
"
    )
}

/// Level Request: the body of what was asked, and not of the answer.
fn audit_policy() -> String {
    format!(
        "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{{level: Request, users: [{}]}}, {{level: None}}]
",
        AUDITED.join(", ")
    )
}

fn scheduler(kubeconfig: &str) -> String {
    format!(
        "apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {{leaderElect: false}}
clientConnection: {{kubeconfig: {kubeconfig}, qps: 3000, burst: 6000}}
"
    )
}
