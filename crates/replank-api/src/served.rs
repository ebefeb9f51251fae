//! Which versions of the API are served: those of the newest release, or those of an older one, whose objects are converted on their way.

use std::fmt;
use std::sync::Arc;

use replank_apiserver::json::OtherVersion;
use serde_json::Value;

use crate::release::Release;

/// What a release of Kubernetes serves. Handed in: the wire knows no history.
pub trait Versions: fmt::Debug + Send + Sync {
    /// The release.
    fn release(&self) -> Release;

    /// The release that it says it is (`/version`): another one than it serves the paths of, once a cluster was upgraded while it is served.
    fn told(&self) -> Release {
        self.release()
    }

    /// Whether it serves a version that the newest one serves.
    fn serves(&self, group: &str, version: &str, kind: &str) -> bool;

    /// What is said to whoever uses a version that is to go, and counted.
    fn deprecation(&self, group: &str, version: &str, kind: &str) -> Option<Deprecation>;

    /// What it serves besides.
    fn older(&self) -> &[OlderVersion];

    /// An object in another version of its kind.
    ///
    /// # Errors
    /// Why there is no way.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String>;
}

/// That a version is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deprecation {
    /// The warning.
    pub words: String,
    /// The release without it, such as `1.25`; empty where none is set.
    pub removed: String,
}

/// A version that the newest release does not serve any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OlderVersion {
    /// Its group.
    pub group: String,
    /// Its version.
    pub version: String,
    /// Its kind.
    pub kind: String,
    /// Group of what has taken its place, under the same plural name.
    pub newer_group: String,
    /// Version of what has taken its place.
    pub newer_version: String,
}

impl OlderVersion {
    /// `apiVersion` of its objects.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// The newest release, all of it, with nothing said of what is to go.
#[derive(Clone, Copy, Debug)]
pub struct Newest;

impl Versions for Newest {
    fn release(&self) -> Release {
        Release::LATEST
    }

    fn serves(&self, _: &str, _: &str, _: &str) -> bool {
        true
    }

    fn deprecation(&self, _: &str, _: &str, _: &str) -> Option<Deprecation> {
        None
    }

    fn older(&self) -> &[OlderVersion] {
        &[]
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        Err(format!("no way from {} to {api_version}", object["apiVersion"]))
    }
}

/// The older version that a resource is asked for in.
#[derive(Clone)]
pub struct Older {
    /// Which one.
    pub version: OlderVersion,
    versions: Arc<dyn Versions>,
}

impl Older {
    /// A version, and who can convert it.
    pub fn new(version: OlderVersion, versions: Arc<dyn Versions>) -> Self {
        Self { version, versions }
    }

    /// An object as it is shown in this version. What the version cannot say is shown as it is.
    #[must_use]
    pub fn shown(&self, object: Value) -> Value {
        let api_version = self.version.api_version();
        match self.versions.convert(&object, &api_version) {
            Ok(converted) => converted,
            Err(_) => {
                let mut object = object;
                object["apiVersion"] = api_version.into();
                object
            }
        }
    }

    /// An object of this version in the version that is kept.
    ///
    /// # Errors
    /// Why there is no way.
    pub fn kept(&self, object: &Value) -> Result<Value, String> {
        let OlderVersion { newer_group, newer_version, .. } = &self.version;
        let api_version = if newer_group.is_empty() {
            newer_version.clone()
        } else {
            format!("{newer_group}/{newer_version}")
        };
        self.versions.convert(object, &api_version)
    }
}

impl OtherVersion for Older {
    fn version(&self) -> &str {
        &self.version.version
    }

    fn group(&self) -> Option<&str> {
        Some(&self.version.group)
    }

    fn shown(&self, object: Value) -> Value {
        Older::shown(self, object)
    }

    fn kept(&self, object: &Value) -> Result<Value, String> {
        Older::kept(self, object)
    }
}

impl fmt::Debug for Older {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.version.fmt(f)
    }
}

impl PartialEq for Older {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version
    }
}
