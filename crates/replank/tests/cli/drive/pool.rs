//! Real control planes, each used by one test after the other: a start takes five seconds of a processor, and cleaning less than half of one.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use replank_judge::{Assets, Beginning, ControlPlane};

/// How long one may take to be as it was at its beginning.
const CLEAN_WITHIN: Duration = Duration::from_secs(20);

/// Those that are clean and used by nobody. Nobody ends them: they end with this process, and what etcd has with them.
static FREE: Mutex<Vec<Pooled>> = Mutex::new(Vec::new());

struct Pooled {
    plane: ControlPlane,
    beginning: Beginning,
}

/// One that a test uses. It is cleaned and goes back when this is dropped, or ends where it can serve nobody else. The kubelets played for it must have ended before.
pub(crate) struct Lent {
    pooled: Option<Pooled>,
    is_restarted: bool,
    clean_within: Duration,
}

/// One that is free, or else a new one.
pub(crate) fn lend(assets: &Assets) -> Lent {
    // Taken in a statement of its own: nobody waits while another one is started.
    let free = free().pop();
    let pooled = free.unwrap_or_else(|| {
        let plane = ControlPlane::up(assets, &new_folder()).expect("it starts");
        let beginning = Beginning::of(&plane).expect("it settles");
        Pooled { plane, beginning }
    });
    Lent { pooled: Some(pooled), is_restarted: false, clean_within: CLEAN_WITHIN }
}

impl Lent {
    pub(crate) fn plane(&self) -> &ControlPlane {
        &self.pooled.as_ref().expect("it is there until this is dropped").plane
    }

    /// Its API server ends and begins anew. What it has in memory is that of no other: it is not used again.
    pub(crate) fn restart(&mut self, away: Duration) -> anyhow::Result<()> {
        self.is_restarted = true;
        self.pooled.as_mut().expect("it is there until this is dropped").plane.restart_api_server(away)
    }

    /// Makes it as it was when it began.
    pub(crate) fn clean(&self) -> anyhow::Result<()> {
        let pooled = self.pooled.as_ref().expect("it is there until this is dropped");
        pooled.beginning.restore(self.clean_within)
    }

    /// It is given up sooner if it is not clean.
    pub(crate) fn clean_within(&mut self, span: Duration) {
        self.clean_within = span;
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let why_not = if std::thread::panicking() {
            Some("its test has failed".to_owned())
        } else if self.is_restarted {
            Some("its API server was restarted".to_owned())
        } else {
            self.clean().err().map(|error| format!("{error:#}"))
        };
        let Some(pooled) = self.pooled.take() else { return };
        match why_not {
            None => free().push(pooled),
            Some(why) => {
                // Also where the output of tests is kept back: it is about all of them.
                let folder = pooled.plane.kubeconfig().parent().map(Path::to_owned).unwrap_or_default();
                drop(writeln!(std::io::stderr(), "{} is not used again: {why}", folder.display()));
            }
        }
    }
}

/// Whether one is free: by its kubeconfig.
pub(crate) fn is_free(kubeconfig: &Path) -> bool {
    free().iter().any(|pooled| pooled.plane.kubeconfig() == kubeconfig)
}

fn free() -> MutexGuard<'static, Vec<Pooled>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder of this process alone. Those of processes that have ended hold their logs, until one begins here.
fn new_folder() -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("planes");
    for entry in std::fs::read_dir(&all).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.split('-').next().unwrap_or_default();
        if !Path::new("/proc").join(process).exists() {
            drop(std::fs::remove_dir_all(entry.path()));
        }
    }
    all.join(format!("{}-{number}", std::process::id()))
}
