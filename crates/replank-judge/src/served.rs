//! A cluster that `replank cluster up` serves, as a process of its own: what is judged is what a user starts.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::wire::Endpoint;

/// A served cluster; it ends when this is dropped.
#[derive(Debug)]
pub struct Served {
    process: Child,
    kubeconfig: PathBuf,
    program: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
}

impl Served {
    /// Starts `replank cluster up` with these arguments on a free port, with the kubeconfig and the log in `folder`, and returns once it serves.
    ///
    /// # Errors
    /// It cannot be started, or ends before it serves; its last words.
    pub fn up(replank: &Path, arguments: &[&str], folder: &Path) -> Result<Self> {
        let arguments = arguments.iter().map(|text| (*text).to_owned()).collect();
        Self::on_port("0", replank, arguments, folder)
    }

    fn on_port(port: &str, replank: &Path, arguments: Vec<String>, folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let (kubeconfig, log) = (folder.join("kubeconfig.json"), folder.join("replank.log"));
        let mut process = Command::new(replank)
            .args(["cluster", "up", "--port", port, "--kubeconfig"])
            .arg(&kubeconfig)
            .args(&arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log)?)
            .spawn()
            .with_context(|| format!("cannot start {}", replank.display()))?;
        let output = process.stdout.take().context("it has an output")?;
        // The line with the kubeconfig is printed once it listens.
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let (program, folder) = (replank.to_owned(), folder.to_owned());
        let served = Self { process, kubeconfig, program, arguments, folder };
        if line.is_empty() {
            bail!("replank cluster up ended: {}", std::fs::read_to_string(&log).unwrap_or_default().trim());
        }
        Ok(served)
    }

    /// Kills it, and after a while begins it anew on the same port. What it goes on with is what it has kept: it needs `--data-dir`.
    ///
    /// # Errors
    /// It cannot be ended or started.
    pub fn restart(&mut self, away: std::time::Duration) -> Result<()> {
        let server = self.endpoint()?.server().to_owned();
        let port = server.rsplit(':').next().context("its address has a port")?.trim_end_matches('/');
        self.process.kill()?;
        self.process.wait()?;
        std::thread::sleep(away);
        *self = Self::on_port(port, &self.program, self.arguments.clone(), &self.folder)?;
        Ok(())
    }

    /// Where its kubeconfig is.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Speaks to it as its administrator.
    ///
    /// # Errors
    /// Its kubeconfig names no server.
    pub fn endpoint(&self) -> Result<Endpoint> {
        Endpoint::of_kubeconfig(&self.kubeconfig)
    }

    /// Whether it still runs.
    pub fn is_up(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Err(error) = self.process.kill().and_then(|()| self.process.wait()) {
            eprintln!("replank cluster up (process {}) was not ended: {error}", self.process.id());
        }
    }
}
