//! Kubernetes' own conformance tests, one process each, against a cluster that something plays the kubelets of.

use std::fmt::{self, Display};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::assets::BUILT;
use crate::building::SUITE;

/// The groups whose tests need no containers, networks or disks of nodes.
pub const GROUPS: [&str; 7] = [
    "sig-api-machinery",
    "sig-apps",
    "sig-architecture",
    "sig-auth",
    "sig-cli",
    "sig-instrumentation",
    "sig-scheduling",
];

/// The program with the tests, `e2e.test`.
#[derive(Clone, Debug)]
pub struct Suite(PathBuf);

/// How one test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its name, as the suite prints it.
    pub name: String,
    /// Why it failed; nothing if it passed.
    pub failure: Option<String>,
    /// How long it took.
    pub took: Duration,
}

impl Display for Ended {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.took.as_secs();
        match &self.failure {
            None => write!(out, "pass {seconds:>4} s  {}", self.name),
            Some(reason) => write!(out, "FAIL {seconds:>4} s  {}\n             {reason}", self.name),
        }
    }
}

impl Suite {
    /// Finds it: what `KUBE_E2E_TEST` names, else `e2e.test` in `KUBEBUILDER_ASSETS`, else `shared/control-plane/e2e.test-*.xz` beside the checkout,
    /// unpacked once into `cache`; else the one that was built there before.
    ///
    /// # Errors
    /// There is none.
    pub fn find(checkout: &Path, cache: &Path) -> Result<Self> {
        if let Some(named) = std::env::var_os("KUBE_E2E_TEST") {
            let named = PathBuf::from(named);
            ensure!(named.is_file(), "KUBE_E2E_TEST={} is no file", named.display());
            return Ok(Self(named));
        }
        let among =
            std::env::var_os("KUBEBUILDER_ASSETS").map(|folder| PathBuf::from(folder).join("e2e.test"));
        if let Some(program) = among.filter(|program| program.is_file()) {
            return Ok(Self(program));
        }
        let beside = checkout.parent().map(|parent| parent.join("shared/control-plane"));
        let entries = beside.and_then(|folder| std::fs::read_dir(folder).ok());
        let archive =
            entries.into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path()).find(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                name.starts_with("e2e.test-") && name.ends_with(".xz")
            });
        if let Some(archive) = archive {
            return unpack(&archive, cache).map(Self);
        }
        let built = cache.join(BUILT).join(SUITE);
        ensure!(
            built.is_file(),
            "there is no e2e.test: set KUBE_E2E_TEST to one, or build it: cargo xtask control-plane build"
        );
        Ok(Self(built))
    }

    /// Where the program is.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.0
    }

    /// The names of all conformance tests of some groups, sorted.
    ///
    /// # Errors
    /// The suite cannot be run.
    pub fn tests(&self, groups: &[String]) -> Result<Vec<String>> {
        let output = Command::new(&self.0)
            .args(["--ginkgo.dry-run", "--ginkgo.v", "--ginkgo.no-color", "--provider=skeleton"])
            .arg(r"--ginkgo.focus=\[Conformance\]")
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run {}", self.0.display()))?;
        let mut names: Vec<String> = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter(|line| groups.iter().any(|group| line.starts_with(&format!("[{group}] "))))
            .map(plain)
            .collect();
        names.sort();
        names.dedup();
        ensure!(!names.is_empty(), "e2e.test lists no test of {}", groups.join(", "));
        Ok(names)
    }

    /// Runs tests against the cluster of a kubeconfig, with the log of each in `folder`: those that must be alone after the others. `each` is told
    /// as they end.
    #[must_use]
    pub fn run(&self, tests: &[String], wanted: &Wanted<'_>, each: &(dyn Fn(&Ended) + Sync)) -> Vec<Ended> {
        let (alone, together): (Vec<&String>, Vec<&String>) =
            tests.iter().partition(|name| name.contains("[Serial]"));
        let mut ended = self.several(&together, wanted, wanted.jobs.max(1), each);
        ended.extend(self.several(&alone, wanted, 1, each));
        ended.sort_by(|one, other| one.name.cmp(&other.name));
        ended
    }

    fn several(
        &self,
        tests: &[&String],
        wanted: &Wanted<'_>,
        jobs: usize,
        each: &(dyn Fn(&Ended) + Sync),
    ) -> Vec<Ended> {
        let next = AtomicUsize::new(0);
        let ended = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..jobs.min(tests.len()) {
                scope.spawn(|| {
                    while let Some(name) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let one = self.one(name, wanted);
                        each(&one);
                        ended.lock().expect("no test panicked").push(one);
                    }
                });
            }
        });
        ended.into_inner().expect("no test panicked")
    }

    fn one(&self, name: &str, wanted: &Wanted<'_>) -> Ended {
        let begun = Instant::now();
        let failure = match self.log_of(name, wanted) {
            Ok(log) => failure(&log),
            Err(error) => Some(format!("{error:#}")),
        };
        Ended { name: name.to_owned(), failure, took: begun.elapsed() }
    }

    fn log_of(&self, name: &str, wanted: &Wanted<'_>) -> Result<String> {
        let output = Command::new(&self.0)
            .arg(format!("--kubeconfig={}", wanted.kubeconfig.display()))
            .args(["--provider=skeleton", "--ginkgo.no-color", "--allowed-not-ready-nodes=0"])
            .arg(format!("--kubectl-path={}", wanted.kubectl.display()))
            .arg(format!("--ginkgo.timeout={}s", wanted.timeout.as_secs()))
            .arg(format!("--ginkgo.focus={}$", escaped(name)))
            .current_dir(wanted.folder)
            .stdin(Stdio::null())
            .output()?;
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let file: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(150).collect();
        std::fs::File::create(wanted.folder.join(format!("{file}.log")))?.write_all(text.as_bytes())?;
        Ok(text)
    }
}

/// How tests are to be run.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Of the administrator.
    pub kubeconfig: &'a Path,
    /// Which tests of sig-cli run.
    pub kubectl: &'a Path,
    /// Where logs go.
    pub folder: &'a Path,
    /// What one test may take.
    pub timeout: Duration,
    /// How many at a time, of those that need not be alone.
    pub jobs: usize,
}

/// Names in a file of ours, one a line; behind ` # ` stands why one does not pass. Lines that begin with `#` say something else.
#[must_use]
pub fn listed(text: &str) -> Vec<(String, Option<String>)> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| match line.split_once(" # ") {
            Some((name, why)) => (name.trim().to_owned(), Some(why.trim().to_owned())),
            None => (line.to_owned(), None),
        })
        .collect()
}

/// A name without the labels that the suite lists behind it.
fn plain(line: &str) -> String {
    match line.rsplit_once(" [") {
        Some((name, labels)) if labels.contains(", ") => name.trim_end().to_owned(),
        Some(_) | None => line.trim_end().to_owned(),
    }
}

/// A name as a regular expression for it alone.
fn escaped(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if "\\.[](){}*+?|^$".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Why the one test of a log failed; nothing if it passed.
fn failure(log: &str) -> Option<String> {
    let ran = log.lines().any(|line| line.starts_with("Ran 1 of "));
    if ran && log.lines().any(|line| line.starts_with("SUCCESS!")) {
        return None;
    }
    let words = log.lines().map(str::trim).filter_map(|line| line.strip_prefix("[FAILED] "));
    let words = words.map(str::trim).find(|line| !line.starts_with('[') && !line.starts_with("in ["));
    let why = words.unwrap_or(if ran { "it did not say why" } else { "it was not run" });
    Some(why.chars().take(300).collect())
}

fn unpack(archive: &Path, cache: &Path) -> Result<PathBuf> {
    let name = archive.file_stem().context("an archive has a name")?;
    let program = cache.join(name);
    if program.is_file() {
        return Ok(program);
    }
    std::fs::create_dir_all(cache).with_context(|| format!("cannot make {}", cache.display()))?;
    let half = cache.join("e2e.test.part");
    let done = Command::new("xz")
        .args(["-dc"])
        .arg(archive)
        .stdout(std::fs::File::create(&half)?)
        .status()
        .context("cannot run xz")?;
    ensure!(done.success(), "xz could not unpack {}", archive.display());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&half, std::fs::Permissions::from_mode(0o755))?;
    }
    std::fs::rename(&half, &program)?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_taken_from_names() {
        let line = "[sig-apps] CronJob should not schedule jobs when suspended [Slow] [Conformance] [sig-apps, Slow, Conformance]";
        assert_eq!(
            plain(line),
            "[sig-apps] CronJob should not schedule jobs when suspended [Slow] [Conformance]"
        );
        assert_eq!(escaped("[a] b (c)"), "\\[a\\] b \\(c\\)");
    }

    #[test]
    fn a_log_tells_how_its_test_ended() {
        assert_eq!(failure("Ran 1 of 7579 Specs in 6.380 seconds\nSUCCESS! -- 1 Passed\n"), None);
        let failed = "• [FAILED] [8.6 seconds]\n  [FAILED] in [It] - x.go:1\n  [FAILED] no job\nRan 1 of 7579 Specs\nFAIL!";
        assert_eq!(failure(failed).as_deref(), Some("no job"));
        assert_eq!(
            failure("Ran 0 of 7579 Specs in 0 seconds\nSUCCESS! -- 0 Passed").as_deref(),
            Some("it was not run")
        );
    }

    #[test]
    fn a_list_has_names_and_reasons() {
        assert_eq!(
            listed("# head\n[a] x\n\n[a] y # no kubelet\n"),
            [("[a] x".to_owned(), None), ("[a] y".to_owned(), Some("no kubelet".to_owned()))]
        );
    }
}
