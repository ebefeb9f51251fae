//! Where the binaries of the control plane come from.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The programs that make a control plane, in one folder.
const PROGRAMS: [&str; 5] =
    ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];

/// Where those are that were built here, in the cache.
pub const BUILT: &str = "built";

/// A folder that holds all of them.
#[derive(Clone, Debug)]
pub struct Assets(PathBuf);

impl Assets {
    /// The path of one program.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Where they are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.0
    }

    fn in_folder(folder: &Path) -> Option<Self> {
        PROGRAMS.iter().all(|name| folder.join(name).is_file()).then(|| Self(folder.to_owned()))
    }
}

/// Finds them: in `KUBEBUILDER_ASSETS`, a folder; else in `REPLANK_CONTROL_PLANE`, a folder or a `.tar.xz` of one; else in an archive
/// `shared/control-plane/control-plane-*.tar.xz` beside the checkout, unpacked once, into `cache`;
/// else those that were built there before.
///
/// # Errors
/// None of them is there, or one that was named is not what it should be.
pub fn find(checkout: &Path, cache: &Path) -> Result<Assets> {
    if let Some(folder) = env::var_os("KUBEBUILDER_ASSETS") {
        let folder = PathBuf::from(folder);
        return Assets::in_folder(&folder).with_context(|| {
            format!("KUBEBUILDER_ASSETS={} lacks one of {}", folder.display(), PROGRAMS.join(", "))
        });
    }
    if let Some(named) = env::var_os("REPLANK_CONTROL_PLANE") {
        let named = PathBuf::from(named);
        return if named.is_dir() {
            Assets::in_folder(&named)
                .or_else(|| archive_in(&named).and_then(|archive| unpack(&archive, cache).ok()))
                .with_context(|| format!("REPLANK_CONTROL_PLANE={} holds no control plane", named.display()))
        } else {
            unpack(&named, cache)
        };
    }
    let beside = checkout.parent().map(|parent| parent.join("shared/control-plane"));
    match beside.as_deref().and_then(archive_in) {
        Some(archive) => unpack(&archive, cache),
        None => Assets::in_folder(&cache.join(BUILT)).with_context(|| {
            format!(
                "there is no control plane: set KUBEBUILDER_ASSETS to a folder with {}, or REPLANK_CONTROL_PLANE to a .tar.xz of one, or \
                 build it: cargo xtask control-plane build",
                PROGRAMS.join(", ")
            )
        }),
    }
}

fn archive_in(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    entries.filter_map(Result::ok).map(|entry| entry.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("control-plane-") && name.ends_with(".tar.xz")
    })
}

fn unpack(archive: &Path, cache: &Path) -> Result<Assets> {
    let name = archive.file_name().context("an archive has a name")?.to_string_lossy().replace(".tar.xz", "");
    let folder = cache.join(name);
    if let Some(assets) = Assets::in_folder(&folder) {
        return Ok(assets);
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let done = Command::new("tar")
        .arg("xJf")
        .arg(archive)
        .arg("-C")
        .arg(&folder)
        .status()
        .context("cannot run tar")?;
    ensure!(done.success(), "tar could not unpack {}", archive.display());
    Assets::in_folder(&folder)
        .with_context(|| format!("{} lacks one of {}", archive.display(), PROGRAMS.join(", ")))
}
