//! How URLs and rules name a kind.

/// The resource of a kind: `Ingress` is `ingresses`. Regular English plurals, as Kubernetes names all that it serves;
/// `Endpoints` is the one that has its plural already (apimachinery, meta/restmapper.go).
pub fn plural(kind: &str) -> String {
    let mut resource = kind.to_ascii_lowercase();
    let vowel_before_y = ["ay", "ey", "oy", "uy"].iter().any(|end| resource.ends_with(end));
    if resource == "endpoints" {
    } else if resource.ends_with('y') && !vowel_before_y {
        resource.pop();
        resource.push_str("ies");
    } else if ["s", "x", "ch", "sh"].iter().any(|end| resource.ends_with(end)) {
        resource.push_str("es");
    } else {
        resource.push('s');
    }
    resource
}
