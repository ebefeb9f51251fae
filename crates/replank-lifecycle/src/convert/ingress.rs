//! Ingresses (`pkg/apis/networking/v1beta1/{defaults,conversion}.go`; `extensions/v1beta1` is the same).

use super::{Hold, default};
use crate::table::Gvk;
use crate::tree::{Tree, What};

pub(super) fn up(object: &mut Tree, from: &Gvk) -> Result<(), Hold> {
    if from.version == "v1" {
        return Ok(());
    }
    let Some(spec) = object.get_mut("spec") else { return Ok(()) };
    spec.rename("backend", "defaultBackend");
    if let Some(backend) = spec.get_mut("defaultBackend") {
        backend_up(backend, "spec.backend")?;
    }
    each_path(spec, &mut |path, place| {
        default(path, "pathType", Tree::text("ImplementationSpecific"), &["path"]);
        match path.get_mut("backend") {
            Some(backend) => backend_up(backend, &format!("{place}.backend")),
            None => Ok(()),
        }
    })
}

pub(super) fn down(object: &mut Tree, to: &Gvk) -> Result<(), Hold> {
    if to.version == "v1" {
        return Ok(());
    }
    let Some(spec) = object.get_mut("spec") else { return Ok(()) };
    spec.rename("defaultBackend", "backend");
    if let Some(backend) = spec.get_mut("backend") {
        backend_down(backend, "spec.defaultBackend")?;
    }
    each_path(spec, &mut |path, place| match path.get_mut("backend") {
        Some(backend) => backend_down(backend, &format!("{place}.backend")),
        None => Ok(()),
    })
}

/// Goes over the paths of all rules.
fn each_path(spec: &mut Tree, each: &mut dyn FnMut(&mut Tree, &str) -> Result<(), Hold>) -> Result<(), Hold> {
    let Some(rules) = spec.get_mut("rules") else { return Ok(()) };
    for (at, rule) in rules.items_mut().iter_mut().enumerate() {
        let Some(paths) = rule.path_mut(&["http", "paths"]) else { continue };
        for (of, path) in paths.items_mut().iter_mut().enumerate() {
            each(path, &format!("spec.rules[{at}].http.paths[{of}]"))?;
        }
    }
    Ok(())
}

/// `serviceName` and `servicePort` become `service`; `resource` stays.
fn backend_up(backend: &mut Tree, place: &str) -> Result<(), Hold> {
    let name = backend.take_at("serviceName");
    let port = backend.take_at("servicePort");
    let at = match (&name, &port) {
        (None, None) => return Ok(()),
        (Some((at, _)), _) | (None, Some((at, _))) => *at,
    };
    let (Some((_, name)), Some((_, port))) = (name, port) else {
        let why = "a backend needs both the service's name and its port";
        return Err(Hold::Absent { path: format!("{place}.serviceName and .servicePort"), why });
    };
    let key = port_key(&port.value, place)?;
    let mut service = Tree::map([]);
    service.insert_behind(name.under("name"), &[]);
    let mut of_port = Tree::map([]);
    let mut port = port.under(key);
    if key == "number"
        && let Some(number) = digits(&port.value)
    {
        port.value.what = What::Number(number.into());
    }
    of_port.insert_behind(port, &[]);
    service.set("port", of_port);
    backend.insert_at(at, crate::tree::Entry::new("service", service));
    Ok(())
}

/// A quoted number that a name could not be: a name has a letter.
fn digits(port: &Tree) -> Option<i64> {
    port.as_text().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

fn port_key(port: &Tree, place: &str) -> Result<&'static str, Hold> {
    let number = port.as_integer().or(digits(port));
    let wrong = |says: String| Hold::NoCounterpart {
        path: format!("{place}.servicePort"),
        says,
        needed: "a port is a number from 1 to 65535, or a name",
    };
    match (number, &port.what) {
        (Some(1..=65535), _) => Ok("number"),
        (None, What::Text(text)) if text.bytes().any(|byte| byte.is_ascii_alphabetic()) => Ok("name"),
        (_, _) => Err(wrong(port.value().to_string())),
    }
}

fn backend_down(backend: &mut Tree, place: &str) -> Result<(), Hold> {
    let Some((at, service)) = backend.take_at("service") else { return Ok(()) };
    let mut service = service.value;
    let port = service.get_mut("port").and_then(|port| port.take("number").or_else(|| port.take("name")));
    match (service.take("name"), port) {
        (Some(name), Some(port)) => {
            backend.insert_at(at, name.under("serviceName"));
            backend.insert_at(at + 1, port.under("servicePort"));
            Ok(())
        }
        (_, _) => Err(Hold::Absent {
            path: format!("{place}.service"),
            why: "a backend needs both the service's name and its port",
        }),
    }
}
