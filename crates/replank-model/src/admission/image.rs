//! The part of an image's name that decides when it is pulled.

/// Whether an image is pulled at every start unless the pod says otherwise: its tag is `latest`, or it has neither tag
/// nor digest (`SetDefaults_Container`, `pkg/util/parsers`). Text that is not an image name is left alone.
pub(super) fn is_latest(image: &str) -> bool {
    let (name, digest) = match image.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (image, None),
    };
    let after_slash = name.rfind('/').map_or(0, |slash| slash + 1);
    let (repository, tag) = match name[after_slash..].rfind(':') {
        Some(colon) => (&name[..after_slash + colon], Some(&name[after_slash + colon + 1..])),
        None => (name, None),
    };
    if !is_repository(repository) || tag.is_some_and(str::is_empty) {
        return false;
    }
    match tag {
        Some(tag) => tag == "latest",
        None => digest.is_none(),
    }
}

/// Path components in lower case, behind a registry's host if the first component looks like one.
fn is_repository(repository: &str) -> bool {
    let path = match repository.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" || is_mixed_case(host) => path,
        Some(_) | None => repository,
    };
    !path.is_empty() && path.split('/').all(is_component)
}

fn is_mixed_case(text: &str) -> bool {
    text.chars().any(|character| character.is_ascii_uppercase())
}

fn is_component(text: &str) -> bool {
    let within = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = |byte: Option<&u8>| byte.is_some_and(|byte| within(*byte));
    let bytes = text.as_bytes();
    ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|byte| within(*byte) || matches!(byte, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_without_version_are_pulled_always() {
        for latest in
            ["nginx", "nginx:latest", "registry:5000/nginx", "example.com/a/b:latest", "library/redis"]
        {
            assert!(is_latest(latest), "{latest}");
        }
        for fixed in ["nginx:1", "registry:5000/nginx:1.2", "nginx@sha256:ab", "", "UPPER", "a:", "a//b"] {
            assert!(!is_latest(fixed), "{fixed}");
        }
    }
}
