//! A snapshot of a live cluster: what a rehearsal needs, and no more.

mod redact;
pub(crate) mod reduce;
mod requested;
mod wanted;

pub use wanted::{Purpose, snapshot_rules};

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde_json::Value;

use crate::connect::{Connection, JSON};
use crate::error::{LiveError, Missing};
use crate::list;
use crate::resource::{Resource, served};

/// Leaves out of an object what a snapshot leaves out: values of environment variables, and what was applied last; of a ConfigMap what it holds, unless that is kept.
pub fn reduced(object: &mut Value, keeps_contents: bool) {
    reduce::reduce(object);
    if object["kind"] == "ConfigMap" && !keeps_contents {
        reduce::empty(object);
    }
}

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Only objects of this namespace, besides those that are in none.
    pub namespace: Option<String>,
    /// ConfigMaps that are wanted with their contents: namespace and name.
    pub config_maps: Vec<(String, String)>,
    /// What it is for.
    pub purpose: Purpose,
    /// Whether names are replaced by others, the same ones everywhere. The snapshot is held in memory then.
    pub is_redacted: bool,
}

/// Takes a snapshot.
#[derive(Debug)]
pub struct Capture<'c> {
    connection: &'c Connection,
    asked: &'c Asked,
}

/// What was taken, and what was not.
#[derive(Debug, Default)]
pub struct Taken {
    /// Objects, by resource: `pods`, `workflows.argoproj.io`.
    pub objects: Vec<(String, usize)>,
    /// Resources that may not be listed, with the server's words and the missing rule.
    pub forbidden: Vec<(String, LiveError)>,
}

impl<'c> Capture<'c> {
    /// A snapshot of what a connection leads to.
    #[must_use]
    pub fn new(connection: &'c Connection, asked: &'c Asked) -> Self {
        Self { connection, asked }
    }

    /// Writes it: one List of lists, a resource each, so that an empty one is told from one that nobody asked for. `each` hears of every
    /// resource as it is begun. The same objects give the same bytes.
    ///
    /// # Errors
    /// Where the server cannot be asked, nodes or pods may not be listed, or nothing can be written.
    pub async fn write(
        &self,
        out: &mut dyn Write,
        each: &mut dyn FnMut(&str),
        wrong: &dyn Fn(io::Error) -> LiveError,
    ) -> Result<Taken, LiveError> {
        if !self.asked.is_redacted {
            return self.write_named(out, each, wrong).await;
        }
        // All names are to be known before the first is replaced.
        let mut named = Vec::new();
        let taken = self.write_named(&mut named, each, wrong).await?;
        redact::rewrite(&named, out).map_err(wrong)?;
        Ok(taken)
    }

    async fn write_named(
        &self,
        out: &mut dyn Write,
        each: &mut dyn FnMut(&str),
        wrong: &dyn Fn(io::Error) -> LiveError,
    ) -> Result<Taken, LiveError> {
        let served = served(self.connection).await?;
        let mut taken = Taken::default();
        let mut owners = BTreeSet::new();
        out.write_all(b"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[").map_err(wrong)?;
        let mut done = Vec::new();
        for resource in served.iter().filter(|resource| wanted::is_wanted(resource, self.asked.purpose)) {
            self.resource(resource, (out, wrong), &mut taken, &mut owners, each).await?;
            done.push(resource.clone());
        }
        // Whatever else owns pods: their objects say how many there should be.
        for resource in &served {
            let is_owner = owners.contains(&(resource.group.clone(), resource.kind.clone()));
            if is_owner && !done.contains(resource) {
                self.resource(resource, (out, wrong), &mut taken, &mut BTreeSet::new(), each).await?;
            }
        }
        self.config_maps((out, wrong), &mut taken).await?;
        out.write_all(b"\n]}\n").map_err(wrong)?;
        Ok(taken)
    }

    /// One resource; one that may not be listed is left out, and noted.
    async fn resource(
        &self,
        resource: &Resource,
        (out, wrong): (&mut dyn Write, &dyn Fn(io::Error) -> LiveError),
        taken: &mut Taken,
        owners: &mut BTreeSet<(String, String)>,
        each: &mut dyn FnMut(&str),
    ) -> Result<(), LiveError> {
        let name = match &*resource.group {
            "" => resource.plural.clone(),
            group => format!("{}.{group}", resource.plural),
        };
        each(&name);
        let (api_version, kind) = (resource.api_version(), resource.kind.clone());
        let mut count = 0;
        let head = format!(
            "{}\n{{\"apiVersion\":{},\"kind\":{},\"items\":[",
            if taken.objects.is_empty() { "" } else { "," },
            Value::from(&*api_version),
            Value::from(format!("{kind}List"))
        );
        let mut head = Some(head);
        let namespace = self.asked.namespace.as_deref().filter(|_| resource.is_namespaced);
        let query = wanted::query(resource);
        let listed = list::each(self.connection, resource, namespace, query, &mut |items| {
            out.write_all(head.take().unwrap_or_default().as_bytes()).map_err(wrong)?;
            for mut item in items {
                // Items of a typed list do not say what they are.
                item["apiVersion"] = api_version.as_str().into();
                item["kind"] = kind.as_str().into();
                if resource.plural == "pods" {
                    owners.extend(owner(&item));
                }
                reduce::reduce(&mut item);
                if resource.group.is_empty() && resource.plural == "configmaps" {
                    reduce::empty(&mut item);
                }
                let comma = if count == 0 { "\n" } else { ",\n" };
                out.write_all(comma.as_bytes()).map_err(wrong)?;
                serde_json::to_writer(&mut *out, &item).map_err(|error| wrong(error.into()))?;
                count += 1;
            }
            Ok(())
        })
        .await;
        match listed {
            Ok(()) => {
                out.write_all(b"]}").map_err(wrong)?;
                taken.objects.push((name, count));
                Ok(())
            }
            Err(error @ LiveError::Forbidden { .. })
                if head.is_some() && !wanted::is_needed(resource, self.asked.purpose) =>
            {
                taken.forbidden.push((name, error));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// ConfigMaps that are asked for by name.
    async fn config_maps(
        &self,
        (out, wrong): (&mut dyn Write, &dyn Fn(io::Error) -> LiveError),
        taken: &mut Taken,
    ) -> Result<(), LiveError> {
        for (namespace, name) in &self.asked.config_maps {
            let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
            let missing =
                Missing { group: String::new(), resource: "configmaps".to_owned(), verbs: &["get"] };
            let mut map = self.connection.json(&path, JSON, missing).await?;
            reduce::reduce(&mut map);
            out.write_all(if taken.objects.is_empty() { b"\n" } else { b",\n" }).map_err(wrong)?;
            serde_json::to_writer(&mut *out, &map).map_err(|error| wrong(error.into()))?;
            taken.objects.push((format!("configmap {namespace}/{name}"), 1));
        }
        Ok(())
    }
}

/// Group and kind of what controls an object.
fn owner(object: &Value) -> Option<(String, String)> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let controller = owners.iter().find(|owner| owner["controller"] == true)?;
    let group = controller["apiVersion"].as_str()?.split_once('/').map_or("", |(group, _)| group);
    Some((group.to_owned(), controller["kind"].as_str()?.to_owned()))
}
