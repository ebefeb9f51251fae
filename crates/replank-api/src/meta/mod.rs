//! Paths that are no resources: version, health, discovery.

mod ask;
mod discovery;
mod health;
mod index;
mod metrics;
mod openapi;
mod status;
mod usage;
mod version;
mod written;

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use replank_apiserver::ApiError;

pub(crate) use ask::Ask;
use discovery::{Aggregated, Catalog};
pub(crate) use metrics::Labels;
use metrics::{Counter, Metrics};
use openapi::Documents;
pub(crate) use written::not_found;

use crate::answer::{self, Answer};
use crate::mirror::Snapshot;
use crate::pace::Pace;
use crate::served::Versions;

/// Answers paths that are no resources.
#[derive(Debug)]
pub(crate) struct Meta {
    address: SocketAddr,
    versions: Arc<dyn Versions>,
    metrics: Metrics,
    known: RwLock<Option<Arc<Known>>>,
}

/// What is worked out once for all requests, until a definition changes.
#[derive(Debug)]
struct Known {
    catalog: Catalog,
    core: OnceLock<Aggregated>,
    groups: OnceLock<Aggregated>,
    documents: Documents,
}

impl Meta {
    /// Of a server at an address.
    pub(crate) fn new(address: SocketAddr, versions: Arc<dyn Versions>) -> Self {
        Self { address, versions, metrics: Metrics::new(), known: RwLock::default() }
    }

    /// Counts requests.
    pub(crate) fn counter(&self) -> &Counter {
        &self.metrics.counter
    }

    /// Answers a path that is no resource; `None` for one that leads nowhere.
    pub(crate) fn answer(&self, ask: &Ask<'_>, snapshot: &Snapshot) -> Option<Answer> {
        if let Some(answer) = health::health(ask) {
            return Some(answer);
        }
        let path = ask.path.strip_prefix('/')?;
        match path {
            "metrics" => return Some(self.metrics.all(snapshot, self.versions.told())),
            "statusz" => {
                let text = status::statusz(self.versions.told(), self.metrics.since);
                return Some(answer::whole(200, answer::TEXT, text));
            }
            "flagz" => return Some(answer::whole(200, answer::TEXT, status::flagz(self.address))),
            "metrics/slis" => return Some(self.metrics.slis()),
            _ => {}
        }
        match path.strip_prefix("openapi/") {
            Some("v2") => return Some(self.known(snapshot).documents.all(ask)),
            Some("v3") => return Some(self.known(snapshot).documents.index()),
            Some(rest) => return Some(self.known(snapshot).documents.one(ask, rest.strip_prefix("v3/")?)),
            None => {}
        }
        let parts: Vec<&str> = path.strip_suffix('/').unwrap_or(path).split('/').collect();
        match parts.as_slice() {
            [""] => Some(written::laid_out(&index::index(&self.known(snapshot).catalog))),
            ["version"] => Some(only_read(ask, || match ask.takes_json() {
                true => written::laid_out(&version::info(self.versions.told())),
                false => {
                    let why = "406: Not Acceptable\n\nAvailable representations: application/json";
                    answer::refusal(&ApiError::unrouted(406, "NotAcceptable", why))
                }
            })),
            ["api"] => Some(only_read(ask, || {
                let plain = discovery::api_versions(&self.address.to_string());
                self.discovery(ask, snapshot, |known| &known.core, || written::json(ask, &plain))
            })),
            ["apis"] => {
                let plain = || written::json(ask, &discovery::group_list(&self.known(snapshot).catalog));
                Some(self.discovery(ask, snapshot, |known| &known.groups, plain))
            }
            ["api", version] => {
                let known = self.known(snapshot);
                let list = discovery::resource_list(&known.catalog, &known.catalog.core, version);
                Some(group_version(ask, list.as_ref()))
            }
            ["apis", usage::GROUP, "v1beta1", rest @ ..] if !rest.is_empty() => {
                let now = Pace::outside().floor_seconds().to_string();
                Some(match usage::usage(rest, ask.query, snapshot, &now)? {
                    Ok(value) => only_read(ask, || written::json(ask, &value)),
                    Err(error) => answer::refusal(&error),
                })
            }
            ["apis", name] => {
                Some(written::json(ask, &discovery::one_group(self.known(snapshot).catalog.group(name)?)))
            }
            ["apis", name, version] => {
                let known = self.known(snapshot);
                let group = known.catalog.group(name)?;
                let list = discovery::resource_list(&known.catalog, group, version);
                // What a definition declares is served by a handler that knows its own versions only.
                if list.is_none() && known.catalog.stored_group(name) {
                    return None;
                }
                Some(group_version(ask, list.as_ref()))
            }
            // A group that is built in answers for all that is below it, even what is not there.
            ["api", ..] => Some(written::refusal(ask, &ApiError::no_resource())),
            ["apis", name, ..] if self.is_built_in(snapshot, name) => {
                Some(written::refusal(ask, &ApiError::no_resource()))
            }
            _ => None,
        }
    }

    /// Whether a group is built in, at least in part.
    pub(crate) fn is_built_in(&self, snapshot: &Snapshot, group: &str) -> bool {
        let known = self.known(snapshot);
        group.is_empty() || (known.catalog.group(group).is_some() && !known.catalog.stored_group(group))
    }

    /// What is worked out of the definitions in a picture.
    fn known(&self, snapshot: &Snapshot) -> Arc<Known> {
        let state = discovery::state(snapshot);
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known.filter(|known| known.catalog.state == state) {
            return known;
        }
        let made = Arc::new(Known {
            catalog: Catalog::of(snapshot, &*self.versions),
            core: OnceLock::new(),
            groups: OnceLock::new(),
            documents: Documents::new(discovery::definitions(snapshot), self.versions.release().minor),
        });
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(made.clone());
        made
    }

    /// Aggregated discovery for who takes it first, plain discovery for others.
    fn discovery(
        &self,
        ask: &Ask<'_>,
        snapshot: &Snapshot,
        which: impl Fn(&Known) -> &OnceLock<Aggregated>,
        plain: impl FnOnce() -> Answer,
    ) -> Answer {
        for media in ask.accepts() {
            let is_json = matches!(media.name.as_str(), "*/*" | "application/*" | "application/json");
            let is_yaml = media.name == "application/yaml";
            match (media.parameter("as"), media.parameter("v"), media.parameter("g")) {
                (None, _, _) if is_json || is_yaml => return plain(),
                (Some("APIGroupDiscoveryList"), Some("v2"), Some("apidiscovery.k8s.io")) if is_json => {
                    let known = self.known(snapshot);
                    let groups = || match ask.path.trim_end_matches('/') {
                        "/api" => std::slice::from_ref(&known.catalog.core),
                        _ => &known.catalog.groups,
                    };
                    let made = which(&known).get_or_init(|| discovery::aggregated(groups()));
                    return written::tagged(ask, discovery::MEDIA, &made.tag, "public", made.body.clone());
                }
                _ => {}
            }
        }
        not_acceptable()
    }
}

fn group_version(ask: &Ask<'_>, list: Option<&discovery::ApiResourceList>) -> Answer {
    match list {
        Some(list) => only_read(ask, || written::json(ask, list)),
        None => written::refusal(ask, &ApiError::no_resource()),
    }
}

/// What go-restful serves takes GET alone.
fn only_read(ask: &Ask<'_>, make: impl FnOnce() -> Answer) -> Answer {
    if *ask.method == Method::GET { make() } else { answer::refusal(&ApiError::method_not_allowed()) }
}

/// 406: no form that is wanted is there.
fn not_acceptable() -> Answer {
    let body = serde_json::json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        "reason": "NotAcceptable", "code": 406});
    let mut answer = answer::json(406, &body);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(answer::JSON));
    answer
}
